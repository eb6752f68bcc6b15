package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// blocked is a step that lasts until it is cancelled; what settles it finds nothing.
func (p *play) blocked(meanwhile func()) {
	p.step = func(_ context.Context, in work.StepIn) (work.StepOut, error) {
		if in.Mode == work.StepSettle {
			return settled(in, work.StepCancelled), nil
		}
		meanwhile()
		<-p.gone
		return work.StepOut{}, context.Canceled
	}
}

// The reason of a native cancel is in the history only: the adapter asks, and does as it says. A run can be cancelled once,
// so it is renewed. See architecture A3.9, A3.11.
func TestANativeCancelDoesWhatItsReasonSays(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.blocked(func() {
		p.signal("followup", `{"id":"later","text":"b"}`)
		p.env.CancelWorkflow()
	})
	p.reason = func(work.CancelReasonIn) (work.CancelReasonOut, error) {
		return work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseHook, Reason: "budget"}, KeepInbox: true, By: "tctl"}, nil
	}
	p.after(time.Second, func() { p.signal("followup", `{"id":"first","text":"a"}`) })
	p.run()
	s := p.renewed()
	require.Equal(t, "IS+(next-turn:first) TS1 IS-(next-turn:1) IS+(next-turn:later) CR(hook budget) TE(aborted hook budget)", p.log())
	require.Equal(t, []driver.Pending{{ID: "later", Bytes: 1}}, s.NextTurn)
	require.Equal(t, string(driver.LostCancelled), p.steps[1].Lost, "a step that nobody worked on was cancelled, not lost")
	require.Equal(t, session.CancelRequested{Cause: session.Cause{Kind: session.CauseHook, Reason: "budget"}, KeepInbox: true, Via: driver.ViaNative, By: "tctl"},
		p.events[4].Event)
}

func TestANativeCancelWhoseReasonCannotBeReadIsTheUsers(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.blocked(p.env.CancelWorkflow)
	p.reason = func(work.CancelReasonIn) (work.CancelReasonOut, error) {
		return work.CancelReasonOut{}, temporal.NewNonRetryableApplicationError("no history", "GONE", nil)
	}
	p.after(time.Second, func() { p.signal("followup", `{"id":"first","text":"a"}`) })
	p.run()
	p.renewed()
	require.Contains(t, p.log(), "TE(aborted user)")
}

// Whoever asked the server to cancel must see a cancelled run. See architecture A3.9.
func TestANativeDisposalEndsAsCancelled(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.reason = func(work.CancelReasonIn) (work.CancelReasonOut, error) {
		return work.CancelReasonOut{Dispose: true}, nil
	}
	p.after(time.Second, p.env.CancelWorkflow)
	p.run()
	require.True(t, temporal.IsCanceledError(p.env.GetWorkflowError()), "%v", p.env.GetWorkflowError())
	require.Contains(t, p.notices, "agent/disposed")
}

func TestADisposalEndsAsCompleted(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.after(time.Second, func() { p.signal("inject", `{"id":"x","text":"a"}`) })
	p.after(2*time.Second, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	var sum driver.Summary
	require.NoError(t, p.env.GetWorkflowResult(&sum))
	require.Equal(t, driver.Summary{Session: "default-test-workflow-id", Events: 1, Pending: 1, Cause: session.Cause{Kind: session.CauseDisposed}}, sum)
}

// The end of a parent is the end of the agents that it started. See architecture A3.9.
func TestACancelOfAChildWorkflowDisposesIt(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	parent := func(ctx workflow.Context) error {
		child := workflow.ExecuteChildWorkflow(ctx, workflows.WorkflowType, p.start())
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return child.Get(ctx, nil)
		}
		return nil
	}
	p.env.RegisterWorkflow(parent)
	p.after(time.Second, p.env.CancelWorkflow)
	p.env.ExecuteWorkflow(parent)
	require.Error(t, p.env.GetWorkflowError())
	require.Contains(t, p.notices, "agent/disposed")
}

// Signals of different names keep their order. See architecture A3.1.
func TestSignalsAreAppliedInTheOrderInWhichTheyCame(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.after(time.Second, func() {
		p.env.SignalWorkflowSkippingWorkflowTask("inject", signals.Send{ID: "a", Text: "a"})
		p.env.SignalWorkflowSkippingWorkflowTask("inbox.clear", signals.Clear{})
		p.signal("inject", `{"id":"b","text":"b"}`)
	})
	p.after(2*time.Second, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Equal(t, "IS+(next-step:a) ISx(next-step:1) IS+(next-step:b)", p.log())
}

// A signal cannot be answered: what is wrong with it is told, and the agent goes on.
func TestASignalThatIsWrongIsToldOf(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.after(time.Second, func() { p.signal("followup", `{"nothing":true}`) })
	p.after(2*time.Second, func() { p.signal("unheard-of", `{}`) })
	p.after(3*time.Second, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Equal(t, []string{"session/created", "agent/created", "agent/refused", "agent/refused", "agent/disposed", "session/disposed"}, p.notices)
}

// A retry waits for a timer; a cancel ends the wait. See spec §4.7.6.
func TestARetryWaits(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	var began time.Time
	var waited time.Duration
	p.step = func(_ context.Context, in work.StepIn) (work.StepOut, error) {
		out := said(in)
		if in.Attempt == 2 {
			waited = p.env.Now().Sub(began)
		}
		if in.Attempt == 1 || in.Turn == 2 {
			out.Outcome, out.Failure, out.Recovery = work.StepAttempt, &session.Failure{Code: "SERVER"}, &work.Recovery{Mode: "normal", DelayMS: 60_000, Retry: 1}
		}
		return out, nil
	}
	p.after(time.Second, func() {
		began = p.env.Now()
		p.signal("followup", `{"id":"a","text":"a"}`)
	})
	p.after(10*time.Minute, func() { p.signal("followup", `{"id":"b","text":"b"}`) })
	p.after(10*time.Minute+time.Second, func() { p.signal("cancel", `{}`) })
	p.after(20*time.Minute, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.GreaterOrEqual(t, waited, time.Minute)
	require.Contains(t, p.log(), "LR(1) LRS(1)")
	require.Contains(t, p.log(), "LR(1) CR(user) SE TE(aborted user)")
	require.Len(t, p.steps, 3, "a cancelled wait starts nothing")
}

// What a store refuses is written later. See spec §4.11.
func TestAStoreThatRefusesIsTriedAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	tries := 0
	p.persist = func(work.PersistIn) error {
		if tries++; tries == 1 {
			return temporal.NewNonRetryableApplicationError("disk full", "STORE", nil)
		}
		return nil
	}
	p.after(time.Second, func() { p.signal("inject", `{"id":"x","text":"a"}`) })
	p.after(time.Hour, func() {
		var s signals.State
		answer, err := p.env.QueryWorkflow(signals.QueryState)
		require.NoError(t, err)
		require.NoError(t, answer.Get(&s))
		require.Contains(t, s.LastError.Message, "disk full")
		require.Equal(t, 2, tries)
		require.Zero(t, s.Log.Tail)
		p.signal("dispose", `{}`)
	})
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
}

// An answer that belongs to another history stops the task there and then: whatever came after it would corrupt the log.
// See architecture A3.2.
func TestADefectFailsTheTaskAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.step = func(_ context.Context, in work.StepIn) (work.StepOut, error) {
		out := said(in)
		out.Echo.Hash = "another"
		return out, nil
	}
	p.after(time.Second, func() { p.signal("followup", `{"id":"a","text":"a"}`) })
	later := false
	p.after(time.Minute, func() {
		later = true
		p.signal("dispose", `{}`)
	})
	p.run()
	require.ErrorContains(t, p.env.GetWorkflowError(), "refusing to go on")
	require.False(t, later)
}
