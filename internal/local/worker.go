package local

import (
	"context"
	"errors"
	"fmt"
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
	CancelReason(ctx context.Context, in work.CancelReasonIn) (work.CancelReasonOut, error)
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
	e.offer()
	e.settle()
	return w, nil
}

// offer hands out everything that waits for a worker. The caller holds the lock.
func (e *Engine) offer() {
	for _, a := range e.runs {
		a.wedged = false
		for _, fx := range append([]*effect(nil), a.Effects...) {
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

// ErrNoneAlive says that there is no worker to do something to.
var ErrNoneAlive = errors.New("local: no worker is alive")

// KillWorker kills the youngest worker: see [Worker.Kill].
func (e *Engine) KillWorker() error {
	return e.youngest(func(w *Worker) { w.Kill() })
}

// Zombie cuts the youngest worker off: see [Worker.CutOff].
func (e *Engine) Zombie() (*Worker, error) {
	var cut *Worker
	err := e.youngest(func(w *Worker) { w.CutOff(); cut = w })
	return cut, err
}

func (e *Engine) youngest(do func(*Worker)) error {
	e.mu.Lock()
	w := e.pick()
	e.mu.Unlock()
	if w == nil {
		return ErrNoneAlive
	}
	do(w)
	return nil
}

// Kill ends the worker at once: what it runs can from now on neither write to the store nor publish nor answer. Its
// effects are executed again by the next worker.
func (w *Worker) Kill() { w.end(errDied) }

// end fences the worker off, waits for writes that are on their way, and gives what it had to others.
func (w *Worker) end(cause error) {
	e := w.engine
	e.mu.Lock()
	for t := range w.threads {
		if t.dead == nil {
			t.dead = cause // its answer does not count any more
		}
	}
	e.retire(w)
	e.mu.Unlock()

	w.fence.Lock()
	w.over = true
	w.fence.Unlock()

	e.mu.Lock()
	defer e.mu.Unlock()
	for t := range w.threads {
		t.cancel(cause)
		e.free(t, true)
	}
	e.takeBack(w)
	e.settle()
}

// CutOff makes the worker a zombie: the server gives up on everything it runs and has it executed again elsewhere, but
// it goes on, may write to the store, and answers too late.
func (w *Worker) CutOff() {
	e := w.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retire(w)
	e.takeBack(w)
	e.settle()
}

// retire lets no new work go to the worker. The caller holds the lock.
func (e *Engine) retire(w *Worker) {
	for n, other := range e.workers {
		if other == w {
			e.workers = append(e.workers[:n:n], e.workers[n+1:]...)
			return
		}
	}
}

// notices lets the time pass in which a server notices that somebody does not answer: what is done again is done later.
// The caller holds the lock.
func (e *Engine) notices() { e.now = e.now.Add(time.Second) }

// takeBack takes the worker's tasks and effects from it. The caller holds the lock.
func (e *Engine) takeBack(w *Worker) {
	e.notices()
	for _, a := range e.runs {
		if a.task != nil && a.task.worker == w {
			a.task, a.driver = nil, nil
		}
		if len(e.workers) == 0 && a.task == nil {
			a.dropQueries()
		}
		for _, fx := range append([]*effect(nil), a.Effects...) {
			if fx.thread != nil && fx.thread.worker == w {
				e.again(a, fx)
			}
		}
		e.wake(a)
	}
}

// Stop lets the worker finish the way SIGTERM does: it takes nothing new, and what it runs is told to stop and answers
// with what it has, or is executed again elsewhere.
func (w *Worker) Stop() {
	e := w.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retire(w)
	for t := range w.threads {
		if t.agent.task != t {
			t.cancel(errDrains)
			e.free(t, false)
		}
	}
	e.settle()
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
	case errors.Is(cause, errDied), errors.Is(cause, errDrains), errors.Is(cause, errClosed):
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
