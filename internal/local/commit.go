package local

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A decision is what the driver made of one input; driver is nil if the input says nothing to it.
type decision struct {
	driver  *driver.Driver
	records []session.Record
	effects []driver.Effect
}

// A notice waits to be told to the tap.
type notice struct {
	name string
	data any
}

// decided commits a decision unless its worker died in between; then the next worker decides again.
func (e *Engine) decided(t *thread, i item, d decision) {
	var state json.RawMessage
	if d.driver != nil {
		state = raw(d.driver.State())
	}
	broken := e.broken(d, state)
	if e.visit(t.in(taskPoint(t.agent, i)), pointHandled) != nil {
		return
	}
	e.mu.Lock()
	if !t.current() {
		e.mu.Unlock()
		return
	}
	if defect := defectOf(d.effects); defect != "" {
		e.wedge(t.agent, defect)
		e.mu.Unlock()
		return
	}
	if broken != nil {
		e.blame(t.agent, "after %s %s: %w", i.Name, i.ID, broken)
	}
	notices := e.commit(t.agent, i, d, state)
	e.tell(t.agent, notices)
	e.mu.Unlock()
}

// commit takes over state and effects together. The caller holds the lock.
func (e *Engine) commit(a *agent, i item, d decision, state json.RawMessage) []notice {
	a.Queue = a.Queue[1:]
	if d.driver == nil {
		return e.fruitless(a, i)
	}
	a.State, a.driver, a.view = state, d.driver, nil
	if e.cfg.CheckEveryInput {
		a.driver = nil // every input is handled by a restored driver
	}
	var notices []notice
	for _, r := range d.records {
		notices = append(notices, notice{"session/event", r})
	}
	for _, fx := range d.effects {
		notices = append(notices, e.perform(a, fx)...)
	}
	e.askForRollover(a, i)
	return notices
}

// fruitless ends the run of an agent that could not be born. Nothing was published and its id is free. See spec §6.1.
func (e *Engine) fruitless(a *agent, i item) []notice {
	a.End = &ending{Status: statusFailed, Code: i.Code, Reason: i.Text}
	for _, waiting := range a.Queue {
		switch {
		case waiting.query != nil:
			waiting.query(a.state(), nil)
		case waiting.Ref != "":
			e.reply(waiting.Ref, answer{err: a.closedError()})
		}
	}
	a.Queue, a.Effects, a.Timers = nil, nil, nil
	return nil
}

// refuse drops a malformed act, visibly. It never fails the task.
func (e *Engine) refuse(t *thread, i item, err error) {
	var known *refusal
	code := signals.ErrInvalid
	if errors.As(err, &known) {
		code = known.code
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	a := t.agent
	if !t.current() {
		return
	}
	a.Queue = a.Queue[1:]
	r := driver.Receipt{Disposition: driver.Refused, Code: code, Message: err.Error(), Revision: a.state().Revision}
	if i.Ref != "" {
		e.reply(i.Ref, answer{receipt: receipt(r)})
		return
	}
	e.tell(a, []notice{{"agent/refused", r}})
}

// wedge stops an agent whose driver says that going on would corrupt the log. The caller holds the lock.
func (e *Engine) wedge(a *agent, defect string) {
	a.wedged, a.driver = true, nil
	e.blame(a, "defect: %s", defect)
	e.announce()
}

func defectOf(effects []driver.Effect) string {
	for _, fx := range effects {
		if d, ok := fx.(driver.Defect); ok {
			return d.Message
		}
	}
	return ""
}

// tell calls the tap, then whoever waits for the commit. The caller holds the lock, which the tap does not see.
func (e *Engine) tell(a *agent, notices []notice) {
	if e.cfg.Tap != nil && len(notices) > 0 {
		a.telling = true
		e.mu.Unlock()
		for _, n := range notices {
			e.cfg.Tap(a.ID, n.name, raw(n.data))
		}
		e.mu.Lock()
		a.telling = false
	}
	e.announce()
}

func millis(t time.Time) int64 { return t.UnixMilli() }
