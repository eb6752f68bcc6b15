package local

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
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
	a.enqueue(i)
	e.wake(a)
	e.announce()
}

// submit accepts an input from outside; the clock may go on after it had been given up. The caller holds the lock.
func (e *Engine) submit(a *agent, i item) {
	a.accepted(i)
	e.push(a, i)
	if i.Name == signals.DisposeAgent && a.held(i) { // the birth is called off
		e.cancelEffect(a, "setup")
	}
	e.jumps = 0
	e.settle()
}

// work does the next thing that an agent has to do, and reports whether to go on.
func (e *Engine) work(t *thread) bool {
	e.mu.Lock()
	a := t.agent
	switch {
	case !t.current():
		e.mu.Unlock()
		return false // the worker is gone, or another one has taken over
	case a.wedged:
	case len(a.Queue) > 0 && a.Queue[0].query != nil:
		a.Queue[0].query(a.state(), nil)
		a.Queue = a.Queue[1:]
		e.mu.Unlock()
		return true
	case a.ready():
		items := a.batch(e.cfg.Batch)
		e.mu.Unlock()
		e.run(t, items)
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

// batch is what one task handles: what is there when it begins.
func (a *agent) batch(most int) []item {
	n := 0
	for n < len(a.Queue) && a.Queue[n].query == nil && !a.held(a.Queue[n]) && (most == 0 || n < most) {
		n++
	}
	return a.Queue[:n:n]
}

// A task is a workflow task: some inputs, the local activities that they lead to, and the commit of it all. Until the
// commit nothing of it counts; if its worker dies, another task begins again with the same inputs, and maybe more.
type task struct {
	*thread
	engine    *Engine
	items     int // taken from the queue
	driver    *driver.Driver
	local     []work.PersistIn
	decisions []decision
	written   json.RawMessage // the driver's state, since the last input; nil: not written yet
}

// A decision is what one input came to.
type decision struct {
	item
	effects []driver.Effect
	refused *driver.Receipt // the act is not applied
}

// run handles inputs and commits what they come to.
func (e *Engine) run(t *thread, items []item) {
	k := &task{thread: t, engine: e, items: len(items)}
	for n, i := range items {
		if !k.handle(i) {
			return
		}
		if i.Name == work.Setup && i.Lost != "" { // stillborn: the rest is for nobody
			k.items = n + 1
			break
		}
	}
	for len(k.local) > 0 {
		in := k.local[0]
		k.local = k.local[1:]
		i, ok := k.persist(in)
		if !ok || !k.handle(i) {
			return
		}
	}
	k.commit()
}

// handle hands one item to the driver. It reports false if the task is not to be committed.
func (k *task) handle(i item) bool {
	k.written = nil
	d := decision{item: i}
	if i.Name == itemBegin {
		d.effects = k.begin(i)
	} else {
		in, err := k.input(i)
		switch {
		case err != nil:
			d.refused = k.refuse(err)
		case in != nil:
			d.effects = k.ask(in)
		}
	}
	k.decisions = append(k.decisions, d)
	return k.engine.visit(k.in(taskPoint(k.agent, i)), pointHandled) == nil && k.sound(d)
}

// begin makes the driver of a new agent, as workflows.Agent does.
func (k *task) begin(i item) (effects []driver.Effect) {
	var c signals.Create
	if err := json.Unmarshal(i.Raw, &c); err != nil {
		panic(fmt.Sprintf("local: create of %s: %v", k.agent.ID, err)) // it was written by this package
	}
	k.driver, effects = driver.New(workflows.StateOf(k.agent.ID, c), workflows.BirthOf(c), millis(k.engine.Now()))
	return effects
}

// ask hands an input to the driver, and sets the local activities aside.
func (k *task) ask(in driver.Input) (rest []driver.Effect) {
	k.restore()
	_, effects := k.driver.Handle(millis(k.engine.Now()), in) // what was logged is among the effects
	for _, fx := range effects {
		if p, ok := fx.(driver.StartPersist); ok {
			k.local = append(k.local, p.In)
			continue
		}
		rest = append(rest, fx)
	}
	return rest
}

// restore gets the driver of the task's worker; a worker that is new to the agent restores it from the state.
func (k *task) restore() {
	if k.driver != nil {
		return
	}
	k.engine.mu.Lock()
	defer k.engine.mu.Unlock()
	if a := k.agent; a.driver != nil && k.current() {
		k.driver, a.driver = a.driver, nil // it is given back by the commit
		return
	}
	var s driver.State
	if err := json.Unmarshal(k.agent.State, &s); err != nil {
		panic(fmt.Sprintf("local: state of %s: %v", k.agent.ID, err))
	}
	k.driver = driver.Restore(s)
}
