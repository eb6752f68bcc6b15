package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/worker"
)

// deploy runs a worker of this process with a definition, on a task queue; its models say "ok".
func (p *place) deploy(queue string, d *plugin.Definition) *worker.Worker {
	p.t.Helper()
	return p.deployScript(queue, strings.Repeat("text \"ok\"\n", 9), d)
}

// deployScript is deploy with models that play a script.
func (p *place) deployScript(queue, script string, d *plugin.Definition) *worker.Worker {
	p.t.Helper()
	model := scripted.Model{Script: scripted.MustParse(script), Position: scripted.ByHistory}
	d.Provider, d.Model = scripted.Name, "first"
	w, err := worker.New(p.t.Context(), worker.Config{
		Client: p.sdk, TaskQueue: queue, Store: p.store(), Profile: worker.Embedded, Drain: 5 * time.Second, Definitions: []*plugin.Definition{d},
		Providers: []llm.Provider{scripted.New(scripted.Config{Models: map[string]scripted.Model{"first": model, "second": model}})},
	})
	require.NoError(p.t, err)
	require.NoError(p.t, w.Start())
	p.t.Cleanup(w.Stop)
	return w
}

// kind is a definition whose prompt says what the agent was created with.
func kind() *plugin.Definition {
	return &plugin.Definition{Name: "kind",
		Sections: []plugin.Section{{Name: "params", Render: func(_ context.Context, v plugin.View) (string, error) { return string(v.Params), nil }}},
		Tools: []*tools.Tool{
			tools.Must(tools.New("read", "Reads.", func(context.Context, struct{}) (string, error) { return "", nil })),
			tools.Must(tools.New("write", "Writes.", func(context.Context, struct{}) (string, error) { return "", nil })),
		}}
}

func TestADeployAndAChangeReachAnAgent(t *testing.T) { // A3.12
	p := here(t)
	first := p.deploy(p.queue, kind())
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: "kind", Params: json.RawMessage(`{"repo":"x"}`),
		Tools: &signals.ToolFilter{Deny: []string{"write"}}, Metadata: map[string]string{"team": "blue"}})
	require.NoError(t, err)
	require.Equal(t, "ok", said(t, a, send(t, a, "one")).Text)
	idle(t, a)
	first.Stop()

	var stops atomic.Int64
	later := kind()
	later.TurnStopping = []plugin.Hook{func(context.Context, plugin.Moment) error { stops.Add(1); return nil }}
	later.Maintenance = map[string]plugin.MaintenanceTask{"tidy": func(context.Context, plugin.Maintenance) (any, error) { return 7, nil }}
	p.deploy(p.queue, later)
	result, err := a.Maintain(t.Context(), "tidy", nil)
	require.NoError(t, err, "a task that the deploy added")
	require.JSONEq(t, "7", string(result))
	p.ok("configure", a.ID(), "--model", "second", "--param", "repo=y", "--meta", "team=red", "--unset", "tools")
	require.Equal(t, "ok", said(t, a, send(t, a, "two")).Text)
	idle(t, a)
	require.EqualValues(t, 1, stops.Load(), "a hook that the deploy added")

	headers := all[session.RequestHeader](p.records(a.ID()))
	require.Len(t, headers, 2)
	require.Equal(t, `{"repo":"x"}`, headers[0].Header.System)
	require.Len(t, headers[0].Header.Tools, 1)
	require.Equal(t, session.HeaderChange, headers[1].Reason)
	require.Equal(t, "second", headers[1].Header.Config.Model)
	require.Equal(t, `{"repo":"y"}`, headers[1].Header.System)
	require.Len(t, headers[1].Header.Tools, 2)

	require.Contains(t, p.ok("show", a.ID()), "metadata: team=red")
	until(t, "the listing shows the metadata", func() bool { return p.listed(a.ID()).Metadata["team"] == "red" })
	run, _ := p.runOf(a.ID())
	require.NoError(t, p.sdk.CancelWorkflow(t.Context(), a.ID(), "")) // idle: the run is renewed
	p.renewed(a.ID(), run)
	until(t, "the listing shows the metadata of the new run", func() bool { return p.listed(a.ID()).Metadata["team"] == "red" })
	require.Equal(t, "ok", said(t, a, send(t, a, "three")).Text)
	require.Len(t, all[session.RequestHeader](p.records(a.ID())), 2)
}

func TestTheActivitiesOfAnAgentRunOnItsOwnQueue(t *testing.T) { // A3.15
	p := here(t)
	p.deploy(p.queue, &plugin.Definition{Name: "another"}) // runs the workflow, and does not know the definition
	own := p.queue + "-own"
	p.deploy(own, kind())
	_, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("b"), Definition: "kind"})
	var refused *agents.CreateError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, signals.ErrUnknownDefinition, refused.Code)

	_, err = p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("c"), Definition: "kind", Queue: own, Tools: &signals.ToolFilter{Deny: []string{"wrote"}}})
	require.ErrorAs(t, err, &refused)
	require.Equal(t, signals.ErrInvalidSpec, refused.Code)
	require.Contains(t, refused.Message, `no tool "wrote"`)

	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("c"), Definition: "kind", Queue: own})
	require.NoError(t, err, "the id is free again")
	require.Equal(t, "ok", said(t, a, send(t, a, "one")).Text)
	require.NoError(t, a.Configure(t.Context(), signals.Configure{Params: signals.To(map[string]json.RawMessage{"n": json.RawMessage("1")})}))
	require.Equal(t, "ok", said(t, a, send(t, a, "two")).Text)
	idle(t, a)
	headers := all[session.RequestHeader](p.records(a.ID()))
	require.Equal(t, `{"n":1}`, headers[1].Header.System)
}
