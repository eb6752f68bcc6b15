package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/work"
)

// Activities is what a worker runs; *activities.Activities is one.
type Activities interface {
	Setup(ctx context.Context, in work.SetupIn) (work.SetupOut, error)
	Step(ctx context.Context, in work.StepIn) (work.StepOut, error)
	Tool(ctx context.Context, in work.ToolIn) (work.ToolOut, error)
	Persist(ctx context.Context, in work.PersistIn) (work.PersistOut, error)
	Spill(ctx context.Context, in work.SpillIn) (work.SpillOut, error)
	Hook(ctx context.Context, in work.HookIn) (work.HookOut, error)
	Maintain(ctx context.Context, in work.MaintainIn) (work.MaintainOut, error)
	Configure(ctx context.Context, in work.ConfigureIn) (work.ConfigureOut, error)
	CancelReason(ctx context.Context, in work.CancelReasonIn) (work.CancelReasonOut, error)
	Tell(ctx context.Context, in work.TellIn) (work.TellOut, error)
	Look(ctx context.Context, in work.LookIn) (work.LookOut, error)
}

// A Worker runs tasks and activities until it dies. Its methods are what its activities are made with; see [Work].
type Worker struct {
	engine     *Engine
	n          int
	activities Activities
	threads    map[*thread]bool // guarded by Engine.mu

	fence sync.RWMutex // held for reading by a write that is on its way
	over  bool         // the worker is dead: no write, no frame; guarded by fence
}

// StartWorker starts a worker; it takes over what waits for one.
func (e *Engine) StartWorker() (*Worker, error) {
	e.mu.Lock()
	w := &Worker{engine: e, n: len(e.all) + 1, threads: map[*thread]bool{}}
	e.all = append(e.all, w)
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	acts, err := e.cfg.Activities(w)
	if err != nil {
		return nil, fmt.Errorf("local: start worker %d: %w", w.n, err)
	}
	w.activities = acts
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	e.workers = append(e.workers, w)
	e.jumps = 0
	e.offer()
	e.settle()
	return w, nil
}

// offer hands out everything that waits for a worker. The caller holds the lock.
func (e *Engine) offer() {
	for _, a := range e.runs {
		a.wedged = false
		for _, fx := range slices.Clone(a.Effects) {
			e.dispatch(a, fx)
		}
		e.wake(a)
	}
}

// pick is the worker that the next thing goes to: the youngest. The caller holds the lock.
func (e *Engine) pick() *Worker {
	if n := len(e.workers); n > 0 && !e.closed {
		return e.workers[n-1]
	}
	return nil
}

// Now is the virtual clock, for activities.
func (w *Worker) Now() time.Time { return w.engine.Now() }

// Execution is the number of the execution that ctx belongs to, from 1.
func (w *Worker) Execution(ctx context.Context) int {
	s, _ := spotOf(ctx)
	return max(s.point.Execution, 1)
}

// Stopped says why an ended context is no cancel of the agent's activity.
func (w *Worker) Stopped(ctx context.Context) error {
	s, ok := spotOf(ctx)
	if !ok {
		return nil
	}
	switch cause := context.Cause(s.thread.ctx); {
	case errors.Is(cause, errDied), errors.Is(cause, errDrains), errors.Is(cause, errClosed), errors.Is(cause, errTerminated):
		return cause
	default:
		return nil
	}
}

// CancelRequest implements activities.HistoryReader: it knows of [Engine.NativeCancel].
func (w *Worker) CancelRequest(_ context.Context, workflowID, runID string) (activities.CancelRequest, bool, error) {
	e := w.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.agents[workflowID]
	if a == nil || a.Cancel == nil || a.runID() != runID {
		return activities.CancelRequest{}, false, nil
	}
	return *a.Cancel, true, nil
}
