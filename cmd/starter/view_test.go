package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

func TestAViewShowsEveryTextOnce(t *testing.T) {
	t.Parallel()
	piece := func(step int, text string) agents.Delta {
		return agents.Delta{Turn: 1, Step: step, Attempt: 1, Execution: 1, Chunk: session.TextDelta{Text: text}}
	}
	says := func(step int, text string) session.Record {
		return session.NewRecord(0, session.AssistantMessage{Turn: 1, Step: step,
			Message: session.Message{Role: session.RoleAssistant, Content: session.Content{session.Text{Text: text}}}})
	}
	for name, show := range map[string]func(*view){
		"that is live before it is in the log": func(v *view) {
			v.delta(piece(1, "one "))
			v.delta(piece(1, "two"))
			v.event(says(1, "one two"))
		},
		"whose end is in the log first": func(v *view) {
			v.delta(piece(1, "one "))
			v.event(says(1, "one two"))
			v.delta(piece(1, "two"))
		},
		"that is in the log first": func(v *view) {
			v.event(says(1, "one two"))
			v.delta(piece(1, "one "))
			v.delta(piece(1, "two"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			v := newView(&out)
			show(v)
			v.event(session.NewRecord(0, session.StepEnd{Turn: 1, Step: 1}))
			v.delta(piece(2, "three"))
			v.event(says(2, "three"))
			require.Equal(t, "one two\nthree\n", out.String())
		})
	}
	var out strings.Builder
	v := newView(&out)
	v.delta(piece(1, "one "))
	v.delta(piece(2, "two "))
	v.event(says(1, "one "))
	v.event(session.NewRecord(0, session.ToolCall{Turn: 1, Step: 1, CallID: "c", Name: "echo", Arguments: "{}"}))
	v.delta(piece(2, "three"))
	v.event(session.NewRecord(0, session.StepEnd{Turn: 1, Step: 1}))
	v.delta(piece(2, " four"))
	v.event(says(2, "two three four"))
	require.Equal(t, "one \n  → echo {}\ntwo three four\n", out.String(), "a log that is a step behind")
}
