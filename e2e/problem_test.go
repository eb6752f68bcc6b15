package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// shows waits until `starter show` says what is wrong.
func (p *place) shows(id, problem string) {
	p.t.Helper()
	until(p.t, "show says: "+problem, func() bool { return strings.Contains(p.run("show", id).out, problem) })
}

func TestAnAgentWhoseDefinitionNoWorkerKnowsWaits(t *testing.T) { // A3.15
	p := here(t)
	first := p.deploy(p.queue, kind())
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: "kind"})
	require.NoError(t, err)
	require.Equal(t, "ok", said(t, a, send(t, a, "one")).Text)
	idle(t, a)
	first.Stop()

	other := p.deploy(p.queue, &plugin.Definition{Name: "another"})
	id := send(t, a, "two")
	p.shows(a.ID(), `problem:  Step: attempt`)
	p.shows(a.ID(), `UNKNOWN_DEFINITION: definition "kind" is not registered with this worker, which knows another`)
	other.Stop()
	p.deploy(p.queue, kind())
	require.Equal(t, "ok", said(t, a, id).Text)
	idle(t, a)
	p.records(a.ID())
}

func TestAQueueThatNobodyPolls(t *testing.T) { // A3.15
	p := here(t)
	d := kind()
	d.Tools = append(d.Tools, tools.Must(tools.New("far", "Is far away.", func(context.Context, struct{}) (string, error) { return "", nil },
		tools.WithQueue(p.queue+"-far"))))
	p.deployScript(p.queue, "tool c1 far {}\ntext \"It is away.\"\n", d)
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: "kind"})
	require.NoError(t, err)

	id := send(t, a, "act")
	p.shows(a.ID(), "problem:  Tool: no worker polls task queue "+p.queue+"-far")
	require.Equal(t, "It is away.", said(t, a, id).Text, "the model is told, and goes on")
	idle(t, a)
	result := all[session.ToolResult](p.records(a.ID()))[0]
	require.Equal(t, work.CodeToolUnavailable, result.Error.Code)
}

func TestAnAgentWhoseWorkersAreGone(t *testing.T) { // A3.6
	p := here(t)
	first := p.worker()
	a := p.create("a")
	first.kill()
	require.NoError(t, p.sdk.SignalWorkflow(t.Context(), a.ID(), "", signals.Followup, signals.Send{ID: "m", Text: "please echo on"}))
	p.shows(a.ID(), "problem:  workflow task: no worker polls task queue "+p.queue)
	p.worker()
	require.Equal(t, "The echo tool says: on", said(t, a, "m").Text)
	idle(t, a)
}
