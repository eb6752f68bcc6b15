package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// delegating is a script whose first answer hands a task to a helper, which the demo model plays.
func delegating(task string) string {
	return `tool c1 delegate {"kind":"helper","prompt":"` + task + `"}` + "\n" + `text "all done"`
}

// delegates lets a new agent hand a task to a child, and waits until that works on it.
func (p *place) delegates(name string) (a, child *agents.Agent, message string) {
	p.t.Helper()
	a = p.ofScript(name)
	message = send(p.t, a, "go")
	child = p.childOf(a)
	streams(p.t, child, 3)
	return a, child, message
}

// childOf is the only child of an agent, when there is one.
func (p *place) childOf(a *agents.Agent) *agents.Agent {
	p.t.Helper()
	var s signals.State
	until(p.t, a.ID()+" has a child", func() bool {
		var err error
		s, err = a.State(p.t.Context())
		if err != nil || len(s.Children) != 1 {
			return false
		}
		_, err = p.agents.Get(p.t.Context(), s.Children[0]) // it may still be starting
		return err == nil
	})
	return p.agent(s.Children[0])
}

// ended waits until an agent's workflow is over, and says how.
func (p *place) ended(id string) (status enumspb.WorkflowExecutionStatus) {
	p.t.Helper()
	until(p.t, id+" ends", func() bool {
		_, status = p.runOf(id)
		return status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	return status
}

// hears counts what the latest run of an agent was told by its children.
func (p *place) hears(id string) (n int) {
	for _, e := range p.history(id).GetEvents() {
		if e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == signals.ChildSays {
			n++
		}
	}
	return n
}

// results are the texts of the results in a log.
func results(records []session.Record) []string {
	var out []string
	for _, r := range all[session.ToolResult](records) {
		out = append(out, r.Message.Content[0].(session.ToolResultBlock).Content.Text())
	}
	return out
}

func TestAWorkerKilledWhileAChildWorks(t *testing.T) { // A3.7, A3.13
	p := here(t)
	first := p.scripted(delegating("count to 10"))
	a, child, id := p.delegates("a")
	first.kill()
	p.scripted(delegating("count to 10"))

	require.Equal(t, "all done", said(t, a, id).Text)
	idle(t, a)
	records := p.records(a.ID())
	require.Equal(t, []string{counted}, results(records))
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, p.ended(child.ID()), "it has done what it was started for")
	requireNothingDoubled(t, p.records(child.ID()), "count to 10")
	s, err := a.State(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Calls)
	until(t, "the child is gone", func() bool { s, err := a.State(t.Context()); return err == nil && len(s.Children) == 0 })
}

func TestAChildThatEndsBeforeItAnswers(t *testing.T) { // A3.9, A3.13
	p := here(t)
	p.scripted(delegating("count to 500"))
	for _, how := range []struct {
		name, want string
		end        func(*place, string)
		status     enumspb.WorkflowExecutionStatus
	}{
		{"terminated", "the child agent ended before it answered", func(p *place, id string) {
			require.NoError(p.t, p.sdk.TerminateWorkflow(p.t.Context(), id, "", "by hand"))
		}, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED},
		{"cancelled natively", "the child agent was disposed of before it answered", func(p *place, id string) {
			p.cancelNatively(id, "enough")
		}, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED},
		{"disposed of", "the child agent was disposed of before it answered", func(p *place, id string) {
			p.ok("dispose", id)
		}, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED},
	} {
		t.Run(how.name, func(t *testing.T) {
			p := p.in(t)
			a, child, id := p.delegates(strings.ReplaceAll(how.name, " ", "-"))
			how.end(p, child.ID())
			require.Equal(t, "all done", said(t, a, id).Text)
			idle(t, a)
			records := p.records(a.ID())
			require.Contains(t, trace(records), "TC(c1) TR!(c1,CHILD_AGENT) SE SS1.2")
			require.Contains(t, results(records)[0], how.want)
			require.Equal(t, how.status, p.ended(child.ID()))
			p.records(child.ID())
		})
	}
}

func TestAParentThatIsTerminated(t *testing.T) { // A3.13
	p := here(t)
	p.scripted(delegating("count to 10"))
	a, child, _ := p.delegates("a")
	require.NoError(t, p.sdk.TerminateWorkflow(t.Context(), a.ID(), "", "by hand"))
	idle(t, child)
	records := p.records(child.ID())
	require.True(t, strings.HasSuffix(trace(records), "SE TE(completed)"), trace(records))

	p.ok("resume", a.ID())
	require.NotContains(t, p.ok("show", a.ID()), "children:")
	require.True(t, strings.HasSuffix(trace(p.records(a.ID())), "TR!(c1,TOOL_OUTCOME_UNKNOWN) SE TE(interrupted) ES"))
	owned, err := p.agents.IsOwnedBy(t.Context(), child.ID(), a.ID())
	require.NoError(t, err)
	require.False(t, owned)
	p.ok("dispose", a.ID())
	_, status := p.runOf(child.ID())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, status, "it is nobody's")
	p.ok("dispose", child.ID())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, p.ended(child.ID()))
}

func TestAParentThatMovesOnWhileItWaits(t *testing.T) { // A3.7, A3.11
	for _, end := range []bool{false, true} {
		t.Run(map[bool]string{false: "the child answers", true: "the child is terminated"}[end], func(t *testing.T) {
			t.Parallel()
			p := restless(t, suggestsAt40)
			p.scripted(delegating("count to 60"))
			a, child, id := p.delegates("a")
			for range 2 { // runs
				from, _ := p.runOf(a.ID())
				until(t, "the agent moves to a new run", func() bool {
					_, err := a.Inject(t.Context(), agents.Text("context"))
					require.NoError(t, err)
					run, _ := p.runOf(a.ID())
					return run != from
				})
			}
			s, err := a.State(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{child.ID()}, s.Children)
			want := "Done."
			if end {
				require.NoError(t, p.sdk.TerminateWorkflow(t.Context(), child.ID(), "", "by hand"))
				want = "the child agent ended before it answered" // a look finds it
			}
			require.Equal(t, "all done", said(t, a, id).Text)
			idle(t, a)
			records := p.records(a.ID())
			require.Contains(t, results(records)[0], want)
			require.Len(t, all[session.StepStart](records), 2)
			p.ended(child.ID())
			p.records(child.ID())
		})
	}
}

func TestChildrenOnTheCommandLine(t *testing.T) { // spec §6.3.2, §6.4
	p := here(t)
	p.worker()
	a := p.create("a")
	k := p.create("k", "--parent", a.ID(), "--cancel-with-parent")
	l := p.create("l", "--parent", a.ID(), "--definition", "helper")
	g := p.create("g", "--parent", k.ID())
	require.Contains(t, p.ok("show", a.ID()), "children: "+k.ID()+", "+l.ID())
	require.Contains(t, p.ok("show", g.ID()), "parent:   "+k.ID())
	until(t, "the listing knows them", func() bool { return strings.Count(p.ok("list"), p.id("")) == 7 }) // four, and three parents
	roots := p.ok("list", "--roots", "--json")
	require.Contains(t, roots, `"id":"`+a.ID()+`"`)
	for _, child := range []*agents.Agent{k, l, g} {
		require.NotContains(t, roots, `"id":"`+child.ID()+`"`)
	}
	require.Contains(t, p.fails(2, "create", p.id("x"), "--cancel-with-parent"), "needs --parent")
	require.Contains(t, p.fails(3, "create", p.id("x"), "--parent", p.id("nobody")), "no such agent")
	require.Contains(t, p.fails(6, "create", k.ID(), "--parent", a.ID()), "is live")

	send(t, a, "count to 500")
	of := send(t, k, "count to 500")
	streams(t, a, 2)
	streams(t, k, 2)
	p.ok("cancel", a.ID())
	require.Equal(t, session.CauseParent, said(t, k, of).Outcome.Aborted.Kind)
	idle(t, a)

	p.ok("dispose", a.ID())
	for _, agent := range []*agents.Agent{g, k, l, a} {
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, p.ended(agent.ID()))
		p.records(agent.ID())
	}
	require.Equal(t, []int{0, 1, 0, 2}, []int{p.hears(g.ID()), p.hears(k.ID()), p.hears(l.ID()), p.hears(a.ID())}, "each waits until its children have said farewell")
}

// A caller who comes while an agent tells its owner of its end is answered.
func TestCallersOfAChildThatCloses(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	k := p.create("k", "--parent", a.ID())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	callers := make(chan error, 8)
	for range cap(callers) {
		go func() { callers <- k.Dispose(ctx) }()
	}
	for range cap(callers) {
		if err := <-callers; err != nil {
			require.ErrorIs(t, err, agents.ErrClosed)
		}
	}
	require.NoError(t, ctx.Err())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, p.ended(k.ID()))
	until(t, "the parent knows", func() bool { s, err := a.State(t.Context()); return err == nil && len(s.Children) == 0 })
}
