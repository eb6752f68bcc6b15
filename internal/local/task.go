package local

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/signals"
)

// wake starts the task of an agent that has something to do and a worker to do it. The caller holds the lock.
func (e *Engine) wake(a *agent) {
	w := e.pick()
	if a.task != nil || a.wedged || w == nil || !a.busy() {
		return
	}
	a.task = e.spawn(w, a, func(t *thread) {
		for e.work(t) {
		}
	})
}

// push accepts an input. The caller holds the lock.
func (e *Engine) push(a *agent, i item) {
	a.Queue = append(a.Queue, i)
	e.wake(a)
}

// work does the next thing that an agent's task has to do, and reports whether to go on. Answers of local activities
// come after what was in the queue before, as on Temporal.
func (e *Engine) work(t *thread) bool {
	e.mu.Lock()
	a := t.agent
	if !t.current() {
		e.mu.Unlock()
		return false // the worker is gone, or another one has taken over
	}
	fx := a.local()
	switch {
	case a.wedged:
	case len(a.Queue) > 0:
		i := a.Queue[0]
		e.mu.Unlock()
		e.feed(t, i)
		return true
	case fx != nil:
		fx.Executions++
		e.mu.Unlock()
		e.persist(t, fx)
		return true
	case a.mayRoll():
		e.roll(a)
		e.mu.Unlock()
		return true
	}
	a.task = nil
	e.mu.Unlock()
	return false
}

// feed hands one item to the driver and commits what it decides.
func (e *Engine) feed(t *thread, i item) {
	if i.query != nil {
		e.read(t, i)
		return
	}
	now := e.Now().UnixMilli()
	var d decision
	switch i.Name {
	case itemBegin:
		d.driver, d.effects = e.begin(t.agent, i, now)
	default:
		in, err := e.input(t, i)
		if err != nil {
			e.refuse(t, i, err)
			return
		}
		if in != nil {
			d.driver = e.driverOf(t)
			d.records, d.effects = d.driver.Handle(now, in)
		}
	}
	e.decided(t, i, d)
}

// begin makes the driver of a new agent, as workflows.Agent does.
func (e *Engine) begin(a *agent, i item, now int64) (*driver.Driver, []driver.Effect) {
	var c signals.Create
	if err := json.Unmarshal(i.Raw, &c); err != nil {
		panic(fmt.Sprintf("local: create of %s: %v", a.ID, err)) // it was written by this package
	}
	state := driver.State{Session: a.ID, Definition: c.Definition, Title: c.Title, Parent: c.Parent, Epoch: 1}
	return driver.New(state, specOf(c), now)
}

// driverOf is the driver of the task's worker; a worker that is new to the agent restores it.
func (e *Engine) driverOf(t *thread) *driver.Driver {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := t.agent; a.driver != nil && a.task == t {
		return a.driver
	}
	var s driver.State
	if err := json.Unmarshal(t.agent.State, &s); err != nil {
		panic(fmt.Sprintf("local: state of %s: %v", t.agent.ID, err))
	}
	return driver.Restore(s)
}

// read answers a query at its place in the queue.
func (e *Engine) read(t *thread, i item) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.current() {
		t.agent.Queue = t.agent.Queue[1:]
		i.query(t.agent.state(), nil)
	}
}
