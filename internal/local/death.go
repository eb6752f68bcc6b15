package local

import (
	"errors"
	"slices"
	"time"
)

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
func (w *Worker) Kill() {
	w.end(errDied)
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	w.engine.struck[verbKill]++
}

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
	e.struck[verbCutOff]++
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
		for _, fx := range slices.Clone(a.Effects) {
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
