package explore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/signals"
)

// serverTheatre is a workflow on a Temporal server.
type serverTheatre struct {
	agents.Backend
	*house
	*tally
	*yard
	t      testing.TB
	id     string
	run    string // the last one seen
	nth    int    // its number
	length int64  // of its history, when the agent was at rest last
	known  signals.State
	upTo   int64 // the length of the run's history that is known
}

func (h *house) theatre(t testing.TB, id string) *serverTheatre {
	th := &serverTheatre{Backend: h.backend, house: h, tally: &tally{}, yard: newYard(), t: t, id: id}
	h.tallies.Store(id, th.tally)
	yards.Store(id, th.yard)
	return th
}

// patience is for what must come; only a schedule that fails uses it up.
const patience = 2 * time.Minute

// until looks again and again: whenever an activity comes or goes, and now and then.
func (th *serverTheatre) until(cond func() bool) {
	ctx, cancel := context.WithTimeout(th.t.Context(), patience)
	defer cancel()
	busy := "nobody has looked"
	for pause := 4 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if !th.await(ctx, pause) {
			require.Empty(th.t, busy, "the agent does not come to rest")
			return // cond cannot come to hold
		}
		if busy = th.busy(); busy == "" && cond() {
			return
		}
	}
}

// await returns at the next change, or after a pause; false if the patience is at an end.
func (th *serverTheatre) await(ctx context.Context, pause time.Duration) bool {
	again := time.NewTimer(pause)
	defer again.Stop()
	select {
	case <-th.change():
	case <-again.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// busy says what can happen without another act: a workflow task is to be done, an activity neither stands nor sleeps, or
// has not been told of its cancel. A timer that is about to fire does not show.
func (th *serverTheatre) busy() string {
	described, err := th.client.DescribeWorkflow(th.t.Context(), th.id, "")
	require.NoError(th.t, err)
	d := described.RawResponse
	th.count(d)
	if d.GetPendingWorkflowTask() != nil {
		return "a workflow task is pending"
	}
	for _, a := range d.GetPendingActivities() {
		g := th.of(a.GetActivityId())
		if g == nil {
			return fmt.Sprintf("%s runs", a.GetActivityType().GetName())
		}
		if a.GetState() == enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED && g.ctx.Err() == nil {
			return fmt.Sprintf("%s is about to be cancelled", g)
		}
	}
	return ""
}

// count notices another run.
func (th *serverTheatre) count(d *workflowservice.DescribeWorkflowExecutionResponse) {
	info := d.GetWorkflowExecutionInfo()
	if run := info.GetExecution().GetRunId(); run != th.run {
		th.run, th.upTo = run, 0
		th.nth++
	}
	th.length = info.GetHistoryLength()
}

// now asks only if the history has grown: without an event nothing can have changed.
func (th *serverTheatre) now() signals.State {
	if th.upTo != th.length {
		th.known = signals.State{}
		require.NoError(th.t, th.Query(th.t.Context(), th.id, signals.QueryState, nil, &th.known))
		th.upTo = th.length
	}
	return th.known
}

func (th *serverTheatre) held() (out []place) {
	for _, g := range th.standing() {
		out = append(out, g.place)
	}
	return out
}

func (th *serverTheatre) release(n int) { th.let(th.standing()[n]) }
func (th *serverTheatre) pass()         { th.wake() }
func (th *serverTheatre) runs() int     { return th.nth }

func (th *serverTheatre) cancelNatively() {
	require.NoError(th.t, th.client.CancelWorkflow(th.t.Context(), th.id, ""))
}

// roll makes the history about so long, with acts that change nothing, that the server suggests a new run: an act and its
// workflow task are up to four events.
func (th *serverTheatre) roll() {
	for n := th.length; n < renewAt; n += 3 {
		require.NoError(th.t, th.Signal(th.t.Context(), th.id, signals.InboxRemove, signals.Remove{ID: "nobody"}))
	}
}

func (th *serverTheatre) log() *store.Store { return th.store }

// leave gives everything back; what failed is terminated.
func (th *serverTheatre) leave() {
	th.yard.close()
	if th.t.Failed() {
		_ = th.client.TerminateWorkflow(context.WithoutCancel(th.t.Context()), th.id, "", "the schedule failed")
	}
	yards.Delete(th.id)
	th.tallies.Delete(th.id)
}

// probe is where the worker's steps stand.
func probe(ctx context.Context, point, _ string, _, _, _ int) error {
	if y := yardOf(ctx); y != nil && slices.Contains(points, point) {
		y.stand(ctx, point)
	}
	return nil
}
