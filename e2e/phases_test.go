package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

func TestTwoNativeCancelsOfOneTurn(t *testing.T) { // A3.9
	p := here(t)
	p.worker()
	a := p.create("a")
	id := send(t, a, "count to 500")
	streams(t, a, 2)
	first, _ := p.runOf(a.ID())
	p.cancelNatively(a.ID(), "first")
	p.cancelNatively(a.ID(), "second")
	require.Equal(t, session.TurnAborted, said(t, a, id).Outcome.Kind)
	idle(t, a)
	p.renewed(a.ID(), first)
	goesOn(t, p, a)
	asked := all[session.CancelRequested](p.records(a.ID()))
	require.Len(t, asked, 1)
	require.Equal(t, "first", asked[0].Text)
}

func TestANativeCancelWhileCallsRunOrWait(t *testing.T) { // A3.9, §5
	for name, c := range map[string]struct{ script, definition, phase, waits, trace string }{
		"a tool runs":      {`tool c1 once {} tool c2 once {}`, helper, "tools", "tools: once", "TC(c1) CR(user) TR!(c1,ABORTED) TC(c2) TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)"},
		"a person decides": {`tool c1 once {}`, asker, "tools", "approval of once", "CR(user) TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)"},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			p.helperWorker(c.script + "\ntext \"On.\"\n")
			a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: c.definition})
			require.NoError(t, err)
			id := send(t, a, "act")
			until(t, name, func() bool {
				s, err := a.State(t.Context())
				return err == nil && s.Phase == c.phase && strings.HasPrefix(s.WaitingFor, c.waits)
			})
			p.cancelNatively(a.ID(), "enough")
			require.Equal(t, session.TurnAborted, said(t, a, id).Outcome.Kind)
			idle(t, a)
			text := strings.ReplaceAll(trace(p.records(a.ID())), "approval/decided ", "")
			require.True(t, strings.HasSuffix(text, c.trace), text)
		})
	}
}

func TestANativeCancelWhileNoWorkerRuns(t *testing.T) { // A3.6, A3.9
	p := here(t)
	first := p.worker()
	a := p.create("a")
	id := send(t, a, "count to 500")
	streams(t, a, 2)
	first.kill()
	p.cancelNatively(a.ID(), "while nobody works")
	p.worker()
	require.Equal(t, session.TurnAborted, said(t, a, id).Outcome.Kind)
	idle(t, a)
	records := p.records(a.ID())
	require.Equal(t, "while nobody works", all[session.CancelRequested](records)[0].Text)
	require.LessOrEqual(t, len(all[session.AssistantMessage](records)), 1)
	goesOn(t, p, a)
}
