package workflows

import (
	"cmp"
	"reflect"
	"time"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"go.temporal.io/sdk/workflow"
)

// setBack reports whether an operator set the run back to the point that is reached now. What a reset run inherits is
// replayed as the history of the run it was taken from; the run changes where the reset happened.
func (a *agent) setBack() bool { return !a.unborn() && !a.ended() && currentRun(a.ctx) != a.seat }

// currentRun is the run to which the event belongs that is being worked on. The SDK makes child ids and random streams of
// it, which is why it is deterministic; it does not export it. See [workflow.GetRandomStream].
func currentRun(ctx workflow.Context) string {
	info := workflow.GetInfo(ctx)
	if run := reflect.ValueOf(info).Elem().FieldByName("currentRunID"); run.Kind() == reflect.String && run.String() != "" {
		return run.String()
	}
	return info.OriginalRunID
}

// firstRun is the run that a history begins with: of one that was reset, also to its beginning, the run it was taken from.
// The SDK's test environment knows only one.
func firstRun(ctx workflow.Context) string {
	return cmp.Or(workflow.GetInfo(ctx).OriginalRunID, currentRun(ctx))
}

// takeOver makes a reset safe before anything else happens: the agent gets an epoch of its own, which fences what the
// abandoned run still does, and what ran at that point is begun anew. See architecture A3.12.
func (a *agent) takeOver() {
	a.seat = currentRun(a.ctx)
	out := a.claimEpoch()
	a.handle(driver.Reset{Out: out, Open: a.running()})
}

// takeOverPause is how long a takeover that failed for good waits before it is tried again: an agent that goes on without
// one could harm its session.
const takeOverPause = time.Minute

func (a *agent) claimEpoch() (out work.ResetOut) {
	s := a.driver.State()
	in := work.ResetIn{Ident: a.ident(), RunID: workflow.GetInfo(a.ctx).WorkflowExecution.RunID, Head: s.Log.Head, Turn: s.Turn, Step: s.KnownStep(!a.isOpen(s.Awaiting))}
	ctx := workflow.WithActivityOptions(a.ctx, resetOptions())
	for {
		err := workflow.ExecuteActivity(ctx, work.Reset, in).Get(ctx, &out)
		if err == nil {
			return out
		}
		workflow.GetLogger(ctx).Error("reset: no epoch of its own for the agent, which waits", "error", err)
		if err := workflow.Sleep(ctx, takeOverPause); err != nil {
			return out
		}
	}
}

func (a *agent) isOpen(id string) bool {
	_, ok := a.cancels[id]
	return ok
}

// running are the driver's effects that nobody answered yet.
func (a *agent) running() (ids []string) {
	s := a.driver.State()
	add := func(id string) {
		if a.isOpen(id) {
			ids = append(ids, id)
		}
	}
	add(s.Awaiting)
	for _, c := range s.Calls {
		add(c.Effect)
	}
	return ids
}
