package local

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

func plansFirst(_ *Config, c *activities.Config, _ *scripted.Model) {
	c.Definitions[0].PlanFirst()
}

// features are the log's events of a kind.
func (w *world) features(kind string) (all []string) {
	w.t.Helper()
	for _, r := range w.log() {
		if f, ok := r.Event.(session.Feature); ok && f.Kind == kind {
			all = append(all, string(f.Data))
		}
	}
	return all
}

// told is the text of a request's messages, and the names of its tools.
func (w *world) told(request int) (text string, tools []string) {
	w.t.Helper()
	r := w.sent.Requests()[request]
	for _, m := range r.Messages {
		text += m.Text() + "\n"
	}
	for _, t := range r.Tools {
		tools = append(tools, t.Name)
	}
	return text, tools
}

const presents = `
	tool c1 exit_plan_mode {"plan":"1. look 2. mend"}
	tool c2 exit_plan_mode {"plan":"1. look 2. ask 3. mend"}
	text "Done."
	text "More."
`

// A plan is presented, sent back, presented again and approved; the tools are the same all along.
func TestAPlanIsApproved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, presents, plansFirst, withRollover(1))
	w.start()
	w.signal(signals.PlanMode, signals.Plan{On: true, By: "ops"})
	w.signal(signals.PlanMode, signals.Plan{On: true, By: "ops"})
	w.followup("m1")
	w.settled()
	require.Contains(t, string(w.asked().Questions), "1. look 2. mend")
	w.signal(signals.AnswerAsked, signals.Answers{ID: w.asked().ID, Answers: []signals.AnswerTo{{Selected: []string{"Change it"}, Text: "ask first"}}})
	w.settled()
	require.Contains(t, string(w.asked().Questions), "2. ask")
	w.signal(signals.AnswerAsked, signals.Answers{ID: w.asked().ID, Answers: []signals.AnswerTo{{Selected: []string{"Approve"}}}})
	w.idle()

	require.Equal(t, []string{`{"active":true,"by":"ops"}`, `{"active":false,"by":"plugin"}`}, w.features("plan/mode"))
	planning, first := w.told(0)
	doing, last := w.told(2)
	require.Contains(t, planning, "Plan mode is on.")
	require.NotContains(t, planning, "no runtime context")
	require.Contains(t, results(t, w.log()), "They say: ask first")
	require.Contains(t, results(t, w.log()), "The plan is approved")
	require.True(t, strings.HasSuffix(strings.TrimSpace(doing), "Every earlier snapshot is void."), doing)
	require.Equal(t, first, last)
	require.Contains(t, first, "exit_plan_mode")
	require.False(t, w.state().Plan)
}

// asked is the one thing that the agent waits for.
func (w *world) asked() signals.Deferred {
	w.t.Helper()
	waiting := w.state().Deferred
	require.Len(w.t, waiting, 1)
	return waiting[0]
}

func (w *world) state() (s signals.State) {
	w.t.Helper()
	require.NoError(w.t, w.Query(w.t.Context(), "a", signals.QueryState, nil, &s))
	return s
}

// Outside of plan mode there is nothing to present, and who skips the review ends the turn.
func TestAPlanThatNobodyWants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, presents, plansFirst)
	w.start()
	w.followup("m1")
	w.idle()
	text, _ := w.told(1)
	require.Contains(t, results(t, w.log()), "plan mode is off")
	require.NotContains(t, text, "Plan mode is on")

	v := newWorld(t, presents, plansFirst)
	v.start()
	v.signal(signals.PlanMode, json.RawMessage(`"on"`))
	v.followup("m1")
	v.settled()
	v.signal(signals.AnswerAsked, signals.Answers{ID: v.asked().ID, Answers: []signals.AnswerTo{{Skip: true}}})
	v.idle()
	require.Len(t, v.sent.Requests(), 1)
	require.True(t, v.state().Plan)
}

func results(t *testing.T, log []session.Record) (text string) {
	t.Helper()
	for _, r := range log {
		if e, ok := r.Event.(session.ToolResult); ok {
			text += e.Message.Content[0].(session.ToolResultBlock).Content.Text() + "\n"
		}
	}
	return text
}
