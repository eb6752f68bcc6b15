package local

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// answers is a model that always has something to say.
const answers = "text \"ok\"\ntext \"ok\"\ntext \"ok\"\ntext \"ok\""

// deploy replaces the worker by one with another definition.
func (w *world) deploy(change func(*plugin.Definition)) {
	w.t.Helper()
	d := w.definition()
	change(d)
	model := scripted.Model{Position: scripted.ByHistory, Script: scripted.MustParse(answers)}
	registry, err := llm.NewRegistry(scripted.New(scripted.Config{
		Models: map[string]scripted.Model{"test": model, "other": model}, Recorder: w.sent, Sleep: Sleep}))
	require.NoError(w.t, err)
	w.cfg.Activities = Work(activities.Config{Definitions: []*plugin.Definition{d}, Registry: registry}, w.objects)
	require.NoError(w.t, w.KillWorker())
	w.worker()
}

func (w *world) configure(c signals.Configure) signals.Receipt {
	w.t.Helper()
	var r signals.Receipt
	require.NoError(w.t, w.Update(w.t.Context(), "a", signals.ConfigureAct, c, &r))
	return r
}

func (w *world) view() (s signals.State) {
	w.t.Helper()
	require.NoError(w.t, w.Query(w.t.Context(), "a", signals.QueryState, nil, &s))
	return s
}

// Architecture A3.12.
func TestADeployReachesOldAgentsBetweenTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers)
	w.start()
	w.followup("m1")
	w.idle()
	before := w.view().Manifest

	var stops counter
	w.deploy(func(d *plugin.Definition) {
		d.TurnStopping = []plugin.Hook{func(context.Context, plugin.Moment) error { stops.add("stop"); return nil }}
	})
	w.followup("m2")
	w.idle()
	require.Zero(t, stops.of("stop"), "the turn began with the manifest of its agent")
	require.NotEqual(t, before, w.view().Manifest, "its step told the new one")
	w.followup("m3")
	w.idle()
	require.Equal(t, 1, stops.of("stop"))

	w.deploy(func(*plugin.Definition) {})
	w.followup("m4")
	w.idle()
	require.Equal(t, before, w.view().Manifest, "and back")
}

// Spec §3.6: who registers a task later need not wait for a turn.
func TestATaskThatADeployAddedRunsWhileTheAgentIsIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers)
	w.start()
	w.idle()
	ask := func() (r signals.Receipt) {
		require.NoError(t, w.Update(t.Context(), "a", signals.MaintainAct, signals.Maintain{Task: "tidy"}, &r))
		return r
	}
	r := ask()
	require.Equal(t, signals.Refused, r.Disposition)
	require.Equal(t, driver.RefusedUnknownTask, r.Code)
	w.deploy(func(d *plugin.Definition) {
		d.Maintenance = map[string]plugin.MaintenanceTask{"tidy": func(context.Context, plugin.Maintenance) (any, error) { return 7, nil }}
	})
	r = ask()
	require.Equal(t, signals.Done, r.Disposition)
	require.JSONEq(t, "7", string(r.Result))
}

func TestWhatWasRecordedIsSeenAndChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers)
	w.deploy(func(d *plugin.Definition) {
		d.Sections = []plugin.Section{{Name: "repo", Render: func(_ context.Context, v plugin.View) (string, error) { return "params " + string(v.Params), nil }}}
	})
	require.NoError(t, w.Start(t.Context(), "a", signals.Create{Definition: "test", Params: json.RawMessage(`{"repo":"x"}`),
		Sections: []signals.Section{{Name: "own", Order: -1, Text: "Mine."}}, Tools: &signals.ToolFilter{Allow: []string{"echo", "once"}},
		Metadata: map[string]string{"team": "blue"}}))
	w.followup("m1")
	w.idle()
	require.Equal(t, map[string]string{"team": "blue"}, w.view().Metadata)
	for l := range w.List(t.Context()) {
		require.Equal(t, map[string]string{"team": "blue"}, l.Metadata)
	}

	r := w.configure(signals.Configure{Model: signals.To("other"), Params: signals.To(map[string]json.RawMessage{"repo": json.RawMessage(`"y"`)}),
		Tools: signals.To(signals.ToolFilter{Deny: []string{"once"}}), Metadata: signals.Back[map[string]*string]()})
	require.Equal(t, signals.Done, r.Disposition, r.Message)
	require.Empty(t, w.view().Metadata)
	require.Equal(t, signals.ErrInvalidSpec, w.configure(signals.Configure{Tools: signals.To(signals.ToolFilter{Deny: []string{"twice"}})}).Code)
	w.followup("m2")
	w.idle()
	w.followup("m3")
	w.idle()

	requests := w.sent.Requests()
	require.Equal(t, "Mine.\n\nparams {\"repo\":\"x\"}", requests[0].System)
	require.Equal(t, []string{"echo", "once"}, toolNames(requests[0].Tools))
	for _, q := range requests[1:] {
		require.Equal(t, "other", q.Config.Model)
		require.Equal(t, "Mine.\n\nparams {\"repo\":\"y\"}", q.System)
		require.Equal(t, []string{"alone", "echo"}, toolNames(q.Tools))
	}
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM SE TE(completed) "+
		"IS+(next-turn:m2) TS2 IS-(next-turn:1) SS2.1 UM(m2) RH(change) RC CH×4 AM SE TE(completed) "+
		"IS+(next-turn:m3) TS3 IS-(next-turn:1) SS3.1 UM(m3) CH×4 AM SE TE(completed)", w.trace())
}

func toolNames(list []session.ToolSchema) (names []string) {
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

func TestAChangeInTheMiddleOfATurnWaitsForTheNext(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"one run": nil, "a run after every input": {withRollover(1)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "tool c1 echo {\"text\":\"x\"}\ntext \"ok\"\ntext \"ok\"", options...)
			hold := w.PinAt(Point{Name: "tool/body"})
			w.start()
			w.followup("m1")
			require.NoError(t, hold.Wait(t.Context(), 1))
			w.signal(signals.ConfigureAct, signals.Configure{Sections: signals.To([]signals.Section{{Name: "own", Text: "Mine."}})})
			w.settled()
			require.True(t, w.view().Changing)
			hold.Release()
			w.idle()
			w.followup("m2")
			w.idle()
			var prompts []string
			for _, q := range w.sent.Requests() {
				prompts = append(prompts, q.System)
			}
			require.Equal(t, []string{"", "", "Mine."}, prompts)
			require.False(t, w.view().Changing)
		})
	}
}

// See spec §7.1: a new incarnation has what the old one had last.
func TestAResumedSessionKeepsItsRecordedData(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*world){
		"a change in force":         func(w *world) { w.idle() },
		"after a rollover":          func(w *world) { w.idle(); require.NoError(w.t, w.AskRollover("a")); w.settled() },
		"a change that was refused": func(w *world) { w.configure(signals.Configure{Provider: signals.To("nobody")}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answers)
			require.NoError(t, w.Start(t.Context(), "a", signals.Create{Definition: "test", Title: "first", Params: json.RawMessage(`{"a":1}`), Metadata: map[string]string{"k": "v"}}))
			w.configure(signals.Configure{RequestID: "r1", Title: signals.To("second"), Params: signals.To(map[string]json.RawMessage{"b": json.RawMessage("2")})})
			before(w)
			was := w.view()
			run, err := w.Describe(t.Context(), "a")
			require.NoError(t, err)
			require.NoError(t, w.Terminate("a"))
			require.NoError(t, w.Start(t.Context(), "a", signals.Create{Definition: "test", Resume: &signals.Resume{RunID: run.ID}}))
			w.idle()
			now := w.view()
			require.Equal(t, "second", now.Title)
			require.Equal(t, was.Spec, now.Spec)
			require.Equal(t, map[string]string{"k": "v"}, now.Metadata)
		})
	}
}

func TestAForkHasTheRecordedDataOfItsParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers)
	st, err := OpenStore(w.objects)
	require.NoError(t, err)
	c, err := agents.New(agents.Config{Backend: w.Engine, Store: st})
	require.NoError(t, err)
	parent, err := c.Create(t.Context(), agents.CreateOptions{ID: "a", Definition: "test", Title: "parent", Tools: &signals.ToolFilter{Deny: []string{"once"}}})
	require.NoError(t, err)
	require.NoError(t, parent.Configure(t.Context(), signals.Configure{Params: signals.To(map[string]json.RawMessage{"n": json.RawMessage("1")})}))
	w.followup("m1")
	w.idle()
	child, err := c.Fork(t.Context(), "a", agents.ForkOptions{ID: "b"})
	require.NoError(t, err)
	have, err := child.Recorded(t.Context())
	require.NoError(t, err)
	require.Equal(t, signals.Create{Definition: "test", Params: json.RawMessage(`{"n":1}`), Tools: &signals.ToolFilter{Deny: []string{"once"}}}, have)

	var refused *agents.RefusedError
	require.ErrorAs(t, child.Configure(t.Context(), signals.Configure{MaxTokens: signals.To(-1)}), &refused)
	require.Equal(t, signals.ErrInvalidSpec, refused.Code)
}
