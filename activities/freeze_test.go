package activities

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A request that is not what the log says is never sent. See spec §4.6.2.
func TestARequestThatDiffersFromItsLogIsNotSent(t *testing.T) {
	t.Parallel()
	logged := llm.Request{Session: sess, Config: session.CallConfig{Provider: "scripted", Model: "test"}, System: "be brief",
		Tools: []session.ToolSchema{{Name: "echo", Parameters: json.RawMessage(`{}`)}}, Messages: []session.Message{userMessage("a", "hello")}}
	for what, change := range map[string]func(*llm.Request){
		"":                  func(*llm.Request) {},
		"its configuration": func(r *llm.Request) { r.Config.Model = "other" },
		"its system prompt": func(r *llm.Request) { r.System = "be long" },
		"its tools":         func(r *llm.Request) { r.Tools = nil },
		"its messages":      func(r *llm.Request) { r.Messages = append(r.Messages, userMessage("b", "and more")) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := &step{Activities: b.a, kind: b.a.kinds[agent], state: stateOf(t, logged), acts: new(collector), in: work.StepIn{Ident: work.Ident{Session: sess}}}
			s.request = logged
			change(&s.request)
			out, err := s.freeze(t.Context())
			require.NoError(t, err)
			if what == "" {
				require.Nil(t, out)
				return
			}
			require.Equal(t, work.StepFailed, out.Outcome)
			require.Contains(t, out.Failure.Message, "differs from its log in "+what)
			require.Empty(t, b.requests())
		})
	}
}

func userMessage(id, text string) session.Message {
	return session.Message{ID: id, Role: session.RoleUser, Content: session.TextContent(text), Source: session.Source{Kind: session.SourceUser}}
}

// stateOf is the state of a log that asks for this request.
func stateOf(t *testing.T, r llm.Request) *session.State {
	t.Helper()
	st := session.NewState()
	events := []session.Event{session.TurnStart{Turn: 1}, session.StepStart{Turn: 1, Step: 1}}
	for _, m := range r.Messages {
		events = append(events, session.UserMessage{Message: m})
	}
	events = append(events, session.RequestHeader{Reason: session.HeaderInitial, Header: session.HeaderContent{Config: r.Config, System: r.System, Tools: r.Tools}})
	for _, e := range events {
		record := session.NewRecord(1, e)
		record.Seq = st.Count()
		require.NoError(t, st.Apply(record))
	}
	return st
}
