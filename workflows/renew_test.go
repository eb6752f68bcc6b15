package workflows_test

import (
	"context"
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

// A server delays what follows a young run, so such a run stays unless it comes near a limit. See architecture A3.11.
func TestAYoungRunStays(t *testing.T) {
	t.Parallel()
	later := func(p *play) { p.after(2*time.Second, func() { p.signal("inbox.clear", `{}`) }) }
	tests := []struct {
		name          string
		rules         int
		events, bytes int
		suggested     bool
		then          func(*play)
		age           time.Duration // of the run that was left
	}{
		{"long and idle", 3, idleLength, 0, false, later, 2 * time.Second},
		{"a suggestion as a stock server makes it", 3, 4100, 0, true, later, 2 * time.Second},
		{"an early suggestion: the server's limits are low", 3, 10, 0, true, nil, 0},
		{"many events", 3, 25_600, 0, false, nil, 0},
		{"many bytes", 3, 10, 25 << 20, false, nil, 0},
		{"under the rules before", 2, 4100, 0, true, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t)
			p.setup = func(context.Context, work.SetupIn) (work.SetupOut, error) {
				return work.SetupOut{Store: "store", Manifest: work.Manifest{Rules: tt.rules}}, nil
			}
			p.env.SetCurrentHistorySize(tt.bytes)
			p.env.SetCurrentHistoryLength(tt.events)
			p.env.SetContinueAsNewSuggested(tt.suggested)
			begun := p.env.Now()
			p.after(100*time.Millisecond, func() { p.signal("inbox.clear", `{}`) })
			p.after(10*time.Second, func() { p.signal("dispose", `{}`) })
			if tt.then != nil {
				tt.then(p)
			}
			p.run()
			require.Equal(t, driver.Idle, p.renewed().Phase)
			require.WithinDuration(t, begun.Add(tt.age), p.env.Now(), 200*time.Millisecond, "on the virtual clock")
		})
	}
}

// idleLength is a history past which an idle agent moves on.
const idleLength = 1001

// The server ends a run that is full, and with it the agent: what cannot be left gives way. What is pending stays.
func TestWorkGivesWayToAFullRun(t *testing.T) {
	t.Parallel()
	for name, grow := range map[string]func(*play){
		"events": func(p *play) { p.env.SetCurrentHistoryLength(40_960) },
		"bytes":  func(p *play) { p.env.SetCurrentHistorySize(40 << 20) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t)
			p.setup = func(context.Context, work.SetupIn) (work.SetupOut, error) {
				return work.SetupOut{Store: "store", Manifest: work.Manifest{Rules: 3}}, nil
			}
			p.step = func(_ context.Context, in work.StepIn) (work.StepOut, error) {
				if in.Mode == work.StepSettle {
					return settled(in, work.StepCancelled), nil
				}
				<-p.gone
				return settled(in, work.StepCancelled), nil
			}
			p.after(time.Second, func() { p.signal("followup", `{"id":"a","text":"a"}`) })
			p.after(2*time.Second, func() {
				grow(p)
				p.signal("inject", `{"id":"b","text":"b"}`)
			})
			p.run()
			s := p.renewed()
			require.Len(t, s.NextStep, 1)
			require.Equal(t, "b", s.NextStep[0].ID)
			require.Contains(t, p.log(), "CR(hook the history of the run is nearly full")
			require.Contains(t, p.log(), "TE(aborted hook")
		})
	}
}

// Callers who never pause put a rollover off a few times, each time by a workflow task; of a full run, once.
func TestCallersCannotKeepAFullRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ bytes, lulls int }{"near": {25 << 20, 5}, "full": {40 << 20, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t)
			p.setup = func(context.Context, work.SetupIn) (work.SetupOut, error) {
				return work.SetupOut{Store: "store", Manifest: work.Manifest{Rules: 3}}, nil
			}
			lulls := 0
			p.env.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
				if d == time.Millisecond {
					lulls++
					p.signal("inject", `{"text":"more"}`)
				}
			})
			p.after(2*time.Second, func() {
				p.env.SetCurrentHistorySize(tt.bytes)
				p.signal("inject", `{"id":"first","text":"first"}`)
			})
			p.run()
			require.Equal(t, "first", p.renewed().NextStep[0].ID)
			require.Equal(t, tt.lulls, lulls)
		})
	}
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
