package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
)

// listed is what the command line lists of an agent; visibility follows a moment later.
func (p *place) listed(id string) (l agents.Listed) {
	p.t.Helper()
	for line := range strings.Lines(p.ok("list", "--json")) {
		var one agents.Listed
		require.NoError(p.t, json.Unmarshal([]byte(line), &one))
		if one.ID == id {
			l = one
		}
	}
	return l
}

func TestAnAgentIsListedBeforeItsFirstTurn(t *testing.T) { // A5
	p := here(t)
	p.worker()
	a := p.create("a")
	var l agents.Listed
	until(t, "it is listed with its definition", func() bool { l = p.listed(a.ID()); return l.Definition != "" })
	require.Equal(t, "assistant", l.Definition)
	require.Equal(t, "scripted/demo", l.Model)
	require.Equal(t, "idle", l.Status)
	require.Zero(t, l.Turn)
}

func TestWhoWaitsForAPersonIsListed(t *testing.T) { // A3.7, A5
	p := here(t)
	p.helperWorker("tool c1 once {} tool c2 once {}\ntext \"I see.\"\n")
	p.write("go", "")
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: asker})
	require.NoError(t, err)
	id := send(t, a, "act")
	until(t, "it waits", func() bool { return p.listed(a.ID()).Waiting == "approval" })
	require.Contains(t, p.ok("list"), "running, approval")
	until(t, "both calls ask", func() bool { s, err := a.State(t.Context()); return err == nil && len(s.Deferred) == 2 })
	p.ok("approve", a.ID(), "1.1.c2")
	p.ok("approve", a.ID(), "1.1.c1")
	require.Equal(t, "I see.", said(t, a, id).Text)
	idle(t, a)
	until(t, "it waits no more", func() bool { l := p.listed(a.ID()); return l.Status == "idle" && l.Waiting == "" })
	upserts := 0
	for _, e := range p.history(a.ID()).GetEvents() {
		if e.GetUpsertWorkflowSearchAttributesEventAttributes() != nil {
			upserts++
		}
	}
	require.Equal(t, 5, upserts, "born, running, the first question, the last decision, idle: one event each")
}
