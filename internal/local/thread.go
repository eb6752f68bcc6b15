package local

import (
	"context"
	"errors"
)

// A thread is a goroutine of the engine: an execution of an activity, or the task of an agent.
type thread struct {
	engine   *Engine
	worker   *Worker
	agent    *agent
	ctx      context.Context // carries the spot
	cancel   context.CancelCauseFunc
	standing int   // of its goroutines, how many stand
	dead     error // why nothing it does counts any more
}

// A spot is what a context knows of the activity it belongs to.
type spot struct {
	thread *thread
	point  Point
}

type spotKey struct{}

func spotOf(ctx context.Context) (spot, bool) {
	s, ok := ctx.Value(spotKey{}).(spot)
	return s, ok
}

// in returns a context for one activity that the thread runs.
func (t *thread) in(p Point) context.Context {
	return context.WithValue(t.ctx, spotKey{}, spot{t, p})
}

// The causes with which the contexts of activities end, besides errClosed.
var (
	errCancelled = errors.New("local: the agent cancelled the activity")
	errDied      = errors.New("local: the worker died")
	errDrains    = errors.New("local: the worker stops")
)

// spawn starts a goroutine that works for an agent. The caller holds the lock and has a worker that is alive.
func (e *Engine) spawn(w *Worker, a *agent, run func(*thread)) *thread {
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &thread{engine: e, worker: w, agent: a, ctx: ctx, cancel: cancel}
	w.threads[t] = true
	e.active++
	a.active++
	e.wg.Go(func() {
		run(t)
		e.mu.Lock()
		defer e.mu.Unlock()
		cancel(nil)
		delete(w.threads, t)
		e.active--
		a.active--
		e.settle()
	})
	return t
}

// current reports whether the task may commit: neither is its worker dead nor has another one taken over. The caller
// holds the lock.
func (t *thread) current() bool { return t.agent.task == t && t.dead == nil }

// pause notes that the thread runs no more because all it could do is stand. The caller holds the lock.
func (t *thread) pause() {
	if t.standing++; t.standing == 1 {
		t.engine.active--
		t.agent.active--
		t.engine.settle()
	}
}

// resume is the opposite of pause.
func (t *thread) resume() {
	if t.standing--; t.standing == 0 {
		t.engine.active++
		t.agent.active++
	}
}
