package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// The budget of architecture A3.4 and of the issue, in events and bytes.
const (
	turnBudget  = 25
	inlineLimit = 4 << 10
)

func TestATurnCostsFewEvents(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	for _, word := range []string{"one", "two"} {
		before := len(p.history(a.ID()).GetEvents())
		require.Equal(t, "The echo tool says: "+word, ask(t, a, "please echo "+word).Text)
		idle(t, a)
		events := p.history(a.ID()).GetEvents()[before:]
		t.Logf("a turn of two steps and a tool call: %d events", len(events))
		if word == "two" {
			require.LessOrEqual(t, len(events)-late(events), turnBudget, "%s", kinds(events))
		}
	}
}

// late counts the events of workflow tasks that a busy machine did not start in time: they were scheduled once more.
func late(events []*historypb.HistoryEvent) int {
	n := 0
	for _, e := range events {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT {
			n += 2
		}
	}
	return n
}

func kinds(events []*historypb.HistoryEvent) string {
	var out []string
	for _, e := range events {
		out = append(out, e.GetEventType().String())
	}
	return strings.Join(out, " ")
}

func TestLargeBodiesStayOutOfTheHistory(t *testing.T) { // A3.4
	p := here(t)
	body := func(marker string) string { return marker + strings.Repeat(" "+marker, 20<<10/(len(marker)+1)) }
	p.write("workspace/big.txt", body("RESULT"))
	arguments, err := json.Marshal(map[string]string{"path": "out.txt", "content": body("ARGUMENT")})
	require.NoError(t, err)
	p.scripted(fmt.Sprintf("tool c1 read_file {\"path\":\"big.txt\"}\ntext \"ANSWER1\"\ntool c2 write_file %s\ntext \"ANSWER2\"\ntext %q\ntext \"ANSWER4\"\n", arguments, body("REPLY")))
	a := p.ofScript("a")
	require.Equal(t, "ANSWER1", ask(t, a, body("MESSAGE")).Text)
	require.Equal(t, "ANSWER2", ask(t, a, "SMALL").Text)
	require.Equal(t, body("REPLY"), ask(t, a, "LAST").Text)
	require.NoError(t, p.sdk.SignalWorkflow(t.Context(), a.ID(), "", signals.Followup, signals.Send{ID: "raw", Text: body("RAW")})) // as somebody's script might
	require.Equal(t, "ANSWER4", said(t, a, "raw").Text)
	idle(t, a)

	records := p.records(a.ID())
	users := all[session.UserMessage](records)
	require.Equal(t, body("MESSAGE"), users[0].Message.Text(), "the log has the whole body")
	require.Equal(t, body("RAW"), users[3].Message.Text())
	require.Equal(t, body("RESULT"), resultText(all[session.ToolResult](records)[0]))
	require.Equal(t, string(arguments), all[session.ToolCall](records)[1].Arguments)
	require.FileExists(t, p.path("workspace/out.txt"))

	activities := payloadsOf(p.history(a.ID()))
	for _, payload := range activities {
		require.LessOrEqual(t, longest(t, payload.data), inlineLimit, payload.what)
		for _, marker := range []string{"MESSAGE", "RESULT", "ARGUMENT", "REPLY", "RAW"} {
			require.NotContains(t, payload.data, body(marker)[:1<<10], payload.what)
		}
	}
	requireInOneStepOnly(t, activities, "SMALL")
	requireInOneStepOnly(t, activities, "LAST")
}

// longest is the length of the longest string in a JSON document.
func longest(t *testing.T, document string) int {
	t.Helper()
	n := 0
	for d := json.NewDecoder(strings.NewReader(document)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err, document)
		if s, ok := token.(string); ok {
			n = max(n, len(s))
		}
	}
}

func TestSmallBodiesTravelOnce(t *testing.T) { // A1: O(N) history
	p := here(t)
	const turns = 4
	var script strings.Builder
	for i := range turns {
		p.write(fmt.Sprintf("workspace/%d.txt", i), fmt.Sprintf("RESULT-%d.", i))
		fmt.Fprintf(&script, "tool c%d-1 read_file {\"path\":\"%d.txt\"} tool c%d-2 write_file {\"path\":\"out.txt\",\"content\":\"ARGUMENT-%d.\"}\n", i, i, i, i)
		fmt.Fprintf(&script, "text \"ANSWER-%d.\"\n", i)
	}
	p.scripted(script.String())
	a := p.ofScript("a")
	for i := range turns {
		_, err := a.Inject(t.Context(), agents.Text(fmt.Sprintf("CONTEXT-%d.", i)))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("ANSWER-%d.", i), ask(t, a, fmt.Sprintf("MESSAGE-%d.", i)).Text)
	}
	idle(t, a)
	activities := payloadsOf(p.history(a.ID()))
	for i := range turns {
		for _, body := range []string{"CONTEXT", "MESSAGE", "RESULT", "ARGUMENT", "ANSWER"} {
			requireInOneStepOnly(t, activities, fmt.Sprintf("%s-%d.", body, i))
		}
	}
}

// A payload is an input or result of an activity.
type payload struct {
	what, activity string
	input          bool
	data           string
}

// payloadsOf returns the inputs and results of all activities of a history, local ones included.
func payloadsOf(h *historypb.History) []payload {
	var out []payload
	names := map[int64]string{}
	add := func(e *historypb.HistoryEvent, activity string, input bool, p *commonpb.Payloads) {
		for _, one := range p.GetPayloads() {
			out = append(out, payload{fmt.Sprintf("event %d (%s %s)", e.GetEventId(), activity, e.GetEventType()), activity, input, string(one.GetData())})
		}
	}
	for _, e := range h.GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			attrs := e.GetActivityTaskScheduledEventAttributes()
			names[e.GetEventId()] = attrs.GetActivityType().GetName()
			add(e, names[e.GetEventId()], true, attrs.GetInput())
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			attrs := e.GetActivityTaskCompletedEventAttributes()
			add(e, names[attrs.GetScheduledEventId()], false, attrs.GetResult())
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			for _, details := range e.GetMarkerRecordedEventAttributes().GetDetails() {
				add(e, e.GetMarkerRecordedEventAttributes().GetMarkerName(), false, details)
			}
		}
	}
	return out
}

func requireInOneStepOnly(t *testing.T, payloads []payload, marker string) {
	t.Helper()
	var steps []string
	for _, p := range payloads {
		if p.input && p.activity == "Step" && strings.Contains(p.data, marker) {
			steps = append(steps, p.what)
		}
	}
	require.LessOrEqual(t, len(steps), 1, "%s is in the inputs of several steps: %s", marker, steps)
}
