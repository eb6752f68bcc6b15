package activities

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// What a closed run had accepted is followed like its inbox was. A message that came without an id has the id that the
// workflow made up, which counts children without one too. See spec §7.1.
func TestTheInboxOfAClosedRunIsFollowed(t *testing.T) {
	t.Parallel()
	act := func(name, raw string) AcceptedAct { return AcceptedAct{Name: name, Raw: json.RawMessage(raw)} }
	for name, c := range map[string]struct {
		create signals.Create
		acts   []AcceptedAct
		want   []string
	}{
		"made ids": {acts: []AcceptedAct{
			act("followup", `"one"`), act("spawn", `"its first"`), act("inject", `{"text":"two"}`), act("spawn", `{"id":"child"}`), act("steer", `"three"`),
		}, want: []string{"next-turn in-1", "next-step in-3", "next-step in-4"}},
		"the first one": {create: signals.Create{First: &signals.Send{Text: "hello"}}, acts: []AcceptedAct{act("followup", `"next"`)}, want: []string{"next-turn in-1", "next-turn in-2"}},
		"removed, replaced, cleared": {acts: []AcceptedAct{
			act("inject", `{"id":"gone","text":"x"}`), act("inbox.clear", `{}`), act("inject", `{"id":"a","text":"x"}`), act("inject", `{"id":"b","text":"x"}`),
			act("inject", `{"id":"c","text":"x"}`), act("inbox.remove", `{"id":"b"}`), act("inbox.replace", `{"id":"c","with":{"id":"d","text":"y"}}`), act("inbox.remove", `{"id":"never"}`),
		}, want: []string{"next-step a", "next-step d"}},
		"a batch": {acts: []AcceptedAct{
			act("inject", `{"id":"a","text":"x"}`),
			act("batch", `{"acts":[{"act":"inbox.remove","remove":{"id":"a"}},{"act":"followup","send":{"text":"x"}},{"act":"inject","send":{"id":"b","text":"x"}},`+
				`{"act":"inbox.replace","replace":{"id":"b","with":{"text":"y"}}}]}`),
			act("followup", `"after"`),
		}, want: []string{"next-turn in-1", "next-step b", "next-turn in-2"}},
		"what may have been refused": {acts: []AcceptedAct{
			act("followup", `{"id":"a","text":"x","onlyIfIdle":true}`), act("followup", `{"id":"b","text":"x","expectedTurn":1}`),
			act("followup", `{"id":"c","text":"x","overlap":"reject"}`), act("followup", `{"id":"d","text":"x","overlap":"steer"}`),
			act("inbox.remove", `{"id":"d","revision":1}`), act("inbox.clear", `{"revision":1}`), act("inbox.replace", `{"id":"d","with":{"id":"e","text":"y"},"revision":1}`),
			act("followup", `{"onlyIfIdle":true,"text":"x"}`), act("followup", `"x"`),
		}, want: []string{"next-step d", "next-turn in-2"}},
		"a batch that clears": {acts: []AcceptedAct{act("inject", `"x"`), act("batch", `{"acts":[{"act":"inbox.clear","clear":{}}]}`)}},
		"what was refused":    {acts: []AcceptedAct{act("followup", `{}`), act("inbox.remove", `{}`), act("unknown", `{}`), act("followup", `"x"`)}, want: []string{"next-turn in-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range InputsOf(c.create, c.acts, func(n int) string { return fmt.Sprint("in-", n) }).Sent {
				got = append(got, s.Target+" "+s.Message.ID)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// The first event of a history says what the agent was created with, or what an earlier run handed over.
func TestTheFirstEventOfAHistory(t *testing.T) {
	t.Parallel()
	started := func(start any) LastInputs {
		r := inputReader{id: func(n int) string { return fmt.Sprint("in-", n) }}
		args, err := converter.GetDefaultDataConverter().ToPayloads(start)
		require.NoError(t, err)
		r.event(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: args}}})
		return r.out
	}
	create := signals.Create{Definition: "d", Title: "t", First: &signals.Send{Text: "hello"}}
	fresh := started(create)
	require.Equal(t, create, fresh.Create)
	require.Len(t, fresh.Sent, 1)
	require.Equal(t, "in-1", fresh.Sent[0].Message.ID)

	tail := session.NewRecord(7, session.TurnStart{Turn: 1})
	renewed := started(map[string]any{"definition": "d", "first": create.First, "state": map[string]any{"spec": "s", "log": map[string]any{"tail": []session.Record{tail}}}})
	require.Equal(t, "s", renewed.Spec)
	require.Len(t, renewed.Carried, 1)
	require.Empty(t, renewed.Sent, "the first run has it")
}
