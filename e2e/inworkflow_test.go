package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/agents/inworkflow"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// starts lets an errand start an agent.
func (p *place) starts(id, definition string, when inworkflow.Act) *agents.Agent {
	p.t.Helper()
	t := p.tells(id, doing{Act: "start", Options: inworkflow.Options{WhenCancelled: when, Create: signals.Create{Definition: definition}}})
	require.Empty(p.t, t.Failure)
	return p.agent(t.ID)
}

// waits lets an errand send a message and wait for the answer, which is what it tells as the n-th thing.
func (p *place) waits(id, text string) (message string, n int) {
	p.t.Helper()
	t := p.tells(id, doing{Act: "followup", Text: text})
	require.Empty(p.t, t.Failure)
	n = len(p.told(id))
	p.does(id, doing{Act: "await", Text: t.ID})
	return t.ID, n
}

func TestAWorkflowAndItsAgentOverRestartsAndRollovers(t *testing.T) {
	t.Parallel()
	p := restless(t, suggestsAt40)
	const script = "tool c1 keyed {}\ntool c2 keyed {}\ntext \"acted\"\ntext \"second\""
	worker := p.helperWorker(script)
	order := p.errand("order")
	a := p.starts(order, helper, inworkflow.LeaveIt)
	message, n := p.waits(order, "act")
	p.acting(a)
	steered := p.tells(order, doing{Act: "steer", Text: "hurry"})
	require.Empty(t, steered.Failure)
	for range 2 { // runs
		from, _ := p.runOf(order)
		p.does(order, doing{Act: "roll"})
		p.renewed(order, from)
	}
	from, _ := p.runOf(a.ID())
	require.NoError(t, a.Roll(t.Context()))
	worker.kill()
	worker = p.helperWorker(script)
	p.write("go", "")
	require.Equal(t, told{Text: "acted", ID: message}, p.hearsOf(order, n+1))
	run, _ := p.runOf(a.ID())
	require.NotEqual(t, from, run, "the agent moved to a new run between its calls")

	worker.kill()
	p.helperWorker(script)
	_, n = p.waits(order, "again")
	require.Equal(t, "second", p.hearsOf(order, n).Text)
	idle(t, a)
	until(t, "the agent says that it is idle", func() bool { return p.hears(order) > 0 })
	records := p.records(a.ID())
	require.Contains(t, trace(records), "hurry")
	require.Len(t, all[session.TurnStart](records), 2, "the steer joined the turn")
	require.Equal(t, 3, p.replayErrand(order))
}

func TestAWorkflowThatWaitsForAPersonGathersNoHistory(t *testing.T) {
	p := here(t)
	worker := p.helperWorker("tool c1 once {}\ntext \"acted\"")
	order := p.errand("order")
	a := p.starts(order, asker, inworkflow.LeaveIt)
	_, n := p.waits(order, "act")
	var approval string
	until(t, "a person is asked", func() bool {
		s, err := a.State(t.Context())
		if err != nil || len(s.Deferred) == 0 {
			return false
		}
		approval = s.Deferred[0].ID
		return true
	})
	looks := func() int32 {
		d, err := p.sdk.DescribeWorkflow(t.Context(), order, "")
		require.NoError(t, err)
		if pending := d.RawResponse.GetPendingActivities(); len(pending) > 0 {
			return pending[0].GetAttempt()
		}
		return 0
	}
	until(t, "it looks", func() bool { return looks() > 1 })
	begun, length := looks(), len(p.history(order).GetEvents())
	until(t, "it looks again and again", func() bool { return looks() > begun+3 })
	require.Len(t, p.history(order).GetEvents(), length)
	worker.kill()
	p.helperWorker("tool c1 once {}\ntext \"acted\"")

	p.write("go", "")
	require.NoError(t, a.Approve(t.Context(), approval, agents.DecisionOptions{By: "ann"}))
	require.Equal(t, "acted", p.hearsOf(order, n).Text)
	idle(t, a)
	require.Contains(t, trace(p.records(a.ID())), "TR(c1)")
	p.replayErrand(order)
}

func TestAWorkflowThatIsCancelled(t *testing.T) {
	p := here(t)
	p.helperWorker("tool c1 keyed {}\ntext \"acted\"")
	for _, when := range []inworkflow.Act{inworkflow.LeaveIt, inworkflow.StopIt, inworkflow.EndIt} {
		t.Run("it says "+string(when), func(t *testing.T) {
			p := p.in(t)
			order := p.errand("order-" + string(when))
			a := p.starts(order, helper, when)
			message, _ := p.waits(order, "act")
			p.acting(a)
			from, _ := p.runOf(order)
			p.does(order, doing{Act: "roll"}) // what to do is handed over
			p.renewed(order, from)
			require.NoError(t, p.sdk.CancelWorkflow(t.Context(), order, ""))
			require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, p.ended(order))
			switch when {
			case inworkflow.LeaveIt:
				p.acting(a)
				require.NoError(t, a.Dispose(t.Context()))
			case inworkflow.StopIt:
				require.Equal(t, session.CauseParent, said(t, a, message).Outcome.Aborted.Kind)
				require.NoError(t, a.WhenIdle(t.Context()))
			case inworkflow.EndIt:
				require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, p.ended(a.ID()))
				require.True(t, strings.HasSuffix(trace(p.records(a.ID())), "TE(aborted disposed)"))
			}
			p.replayErrand(order)
		})
	}
}

func TestAWorkflowWhoseAgentIsGone(t *testing.T) {
	p := here(t)
	p.helperWorker("tool c1 keyed {}\ntext \"acted\"")
	order := p.errand("order")
	a := p.starts(order, helper, inworkflow.LeaveIt)
	_, n := p.waits(order, "act")
	p.acting(a)
	from, _ := p.runOf(order)
	p.does(order, doing{Act: "roll"}) // the run that started it would be told by the server
	p.renewed(order, from)
	require.NoError(t, p.sdk.TerminateWorkflow(t.Context(), a.ID(), "", "by hand"))
	require.Equal(t, signals.ErrGone, p.hearsOf(order, n).Code)
	require.Equal(t, signals.ErrGone, p.tells(order, doing{Act: "followup", Text: "hello"}).Code)
	require.Equal(t, signals.ErrGone, p.tells(order, doing{Act: "get", Options: inworkflow.Options{ID: a.ID()}}).Code)
	p.replayErrand(order)
}

func TestAWorkflowThatTakesAnAgentOfSomebodyElse(t *testing.T) {
	p := here(t)
	p.helperWorker("text \"first\"\ntext \"second\"")
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper})
	require.NoError(t, err)
	require.Equal(t, "first", ask(t, a, "one").Text)
	order := p.errand("order")
	require.Equal(t, told{ID: a.ID()}, p.tells(order, doing{Act: "get", Options: inworkflow.Options{ID: a.ID()}}))
	_, n := p.waits(order, "two")
	require.Equal(t, "second", p.hearsOf(order, n).Text)
	require.Zero(t, p.hears(order))
	p.replayErrand(order)
}

func TestWhatAWorkflowIsRefused(t *testing.T) {
	p := here(t)
	p.helperWorker("text \"hello\"")
	order, other := p.errand("order"), p.errand("other")
	live, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("live"), Definition: helper})
	require.NoError(t, err)
	dead, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("dead"), Definition: helper})
	require.NoError(t, err)
	require.NoError(t, dead.Dispose(t.Context()))
	before := p.ok("log", live.ID(), "--json")
	for _, tt := range []struct {
		name string
		do   doing
		code string
	}{
		{"a definition that no worker knows", doing{Act: "start", Options: inworkflow.Options{ID: p.id("x"), Create: signals.Create{Definition: "nobody"}}}, signals.ErrUnknownDefinition},
		{"the id of a live agent", doing{Act: "start", Options: inworkflow.Options{ID: live.ID(), Create: signals.Create{Definition: helper}}}, "SESSION_ALREADY_EXISTS"},
		{"the id of another workflow", doing{Act: "start", Options: inworkflow.Options{ID: other, Create: signals.Create{Definition: helper}}}, "SESSION_ALREADY_EXISTS"},
		{"the id of an agent that has ended", doing{Act: "start", Options: inworkflow.Options{ID: dead.ID(), Create: signals.Create{Definition: helper}}}, "SESSION_ALREADY_EXISTS"},
		{"an agent that never was", doing{Act: "get", Options: inworkflow.Options{ID: p.id("nobody")}}, signals.ErrGone},
		{"a workflow that is no agent", doing{Act: "get", Options: inworkflow.Options{ID: other}}, signals.ErrGone},
		{"an agent that has ended", doing{Act: "get", Options: inworkflow.Options{ID: dead.ID()}}, signals.ErrGone},
	} {
		require.Equal(t, tt.code, p.tells(order, tt.do).Code, tt.name)
	}
	require.Equal(t, before, p.ok("log", live.ID(), "--json"))
	require.Empty(t, p.told(other))

	p.starts(order, helper, inworkflow.LeaveIt)
	require.Equal(t, signals.ErrInvalid, p.tells(order, doing{Act: "followup"}).Code, "an empty message")
	_, n := p.waits(order, "hi")
	require.Equal(t, "hello", p.hearsOf(order, n).Text, "the workflow goes on")
	require.Equal(t, signals.ErrUnknownDefinition, p.tells(order, doing{Act: "start", Options: inworkflow.Options{ID: p.id("x"), Create: signals.Create{Definition: "nobody"}}}).Code, "the id was free again")
	p.replayErrand(order)
}

// What was sent before is recognised by its id, and what was answered is the answer.
func TestAWorkflowThatIsReset(t *testing.T) {
	p := here(t)
	p.helperWorker("text \"first\"\ntext \"second\"")
	order := p.errand("order")
	started := p.tells(order, doing{Act: "start", Options: inworkflow.Options{ID: p.id("a"), Create: signals.Create{Definition: helper}}})
	require.Equal(t, told{ID: p.id("a")}, started)
	a := p.agent(started.ID)
	message, n := p.waits(order, "one")
	require.Equal(t, told{Text: "first", ID: message}, p.hearsOf(order, n))
	before := func(kind enumspb.EventType) {
		p.reset(order, p.taskBefore(order, func(e *historypb.HistoryEvent) bool { return e.GetEventType() == kind }))
	}
	before(enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED)
	require.Equal(t, told{Text: "first", ID: message}, p.hearsOf(order, n)) // the server tells it again what it was told
	_, n = p.waits(order, "two")
	require.Equal(t, "second", p.hearsOf(order, n).Text)
	idle(t, a)
	require.Len(t, all[session.TurnStart](p.records(a.ID())), 2)
	p.replayErrand(order)

	before(enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED)
	require.Equal(t, "SESSION_ALREADY_EXISTS", p.hearsOf(order, 0).Code, "the agent lives")
	require.Equal(t, signals.ErrInvalid, p.hearsOf(order, 1).Code, "it has none to send to")
	p.replayErrand(order)
}

func TestAnAnswerThatNoHistoryTakes(t *testing.T) {
	p := here(t)
	p.helperWorker(`text "` + strings.Repeat("x", signals.MaxRaw+1) + `"`)
	order := p.errand("order")
	p.starts(order, helper, inworkflow.LeaveIt)
	_, n := p.waits(order, "write a book")
	require.Equal(t, "TOO_LARGE", p.hearsOf(order, n).Code)
}
