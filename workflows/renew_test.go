package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// handed is the state that a run handed over.
func (p *play) handed(next *workflow.ContinueAsNewError) *driver.State {
	p.t.Helper()
	var start workflows.Start
	require.NoError(p.t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
	require.NotNil(p.t, start.State, "a new run without a state is another agent")
	require.Equal(p.t, "tester", start.Definition)
	return start.State
}

// A run that has grown is renewed at a safe point, and the new one goes on where it was. See architecture A3.11.
func TestALongRunIsRenewedWhenItIsIdle(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.env.SetCurrentHistoryLength(1001)
	p.after(time.Second, func() { p.signal("followup", `{"id":"a","text":"a"}`) })
	p.run()
	s := p.renewed()
	require.Empty(t, p.log(), "an idle agent need not wait for work")

	next := newPlay(t)
	next.after(time.Second, func() { next.signal("followup", `{"id":"a","text":"a"}`) })
	next.after(2*time.Second, func() { next.signal("dispose", `{}`) })
	next.env.ExecuteWorkflow(workflows.WorkflowType, workflows.Start{Create: signals.Create{Definition: "tester"}, State: s})
	require.NoError(t, next.env.GetWorkflowError())
	require.NotContains(t, next.notices, "agent/created", "it was born once")
	require.Equal(t, "IS+(next-turn:a) TS1 IS-(next-turn:1) SE TE(completed)", next.log())
}

func TestARunOfOrdinaryLengthIsNotRenewed(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.env.SetCurrentHistoryLength(1000)
	p.after(time.Second, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
}

// What the server suggests is done between steps too, but not while something runs whose answer would be lost.
func TestARunIsRenewedInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	var writes []int
	p.persist = func(in work.PersistIn) error {
		writes = append(writes, len(in.Tail))
		return nil
	}
	p.after(time.Second, func() {
		p.env.SetContinueAsNewSuggested(true)
		p.signal("followup", `{"id":"a","text":"a"}`)
	})
	p.run()
	s := p.renewed()
	require.Equal(t, driver.Idle, s.Phase)
	require.Empty(t, s.Log.Tail)
	require.NotEmpty(t, writes)
}

// A run is not left while something runs whose answer would be lost, such as the reason of a native cancel.
func TestARunIsNotRenewedBeforeAllHaveAnswered(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	var waiter *update
	p.reason = func(work.CancelReasonIn) (work.CancelReasonOut, error) {
		p.env.SetCurrentHistoryLength(1001)
		p.signal("inbox.clear", `{}`)
		waiter = p.update(signals.QueryWhenIdle, signals.WhenIdle{})
		return work.CancelReasonOut{Dispose: true}, nil
	}
	p.after(time.Second, p.env.CancelWorkflow)
	p.run()
	require.True(t, temporal.IsCanceledError(p.env.GetWorkflowError()), "%v", p.env.GetWorkflowError())
	require.Contains(t, p.notices, "agent/disposed")
	var app *temporal.ApplicationError
	require.ErrorAs(t, waiter.rejected, &app, "a run that is to be left takes no more waiters")
	require.Equal(t, signals.ErrTooMany, app.Type())
}
