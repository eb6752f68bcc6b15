package local

import (
	"errors"
	"slices"
	"time"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// A notice waits to be told to the tap.
type notice struct {
	name string
	data any
}

// commit takes over state and effects together, unless the worker died or was cut off.
func (k *task) commit() {
	e, a := k.engine, k.agent
	e.mu.Lock()
	defer e.mu.Unlock()
	if !k.current() {
		return
	}
	a.Queue = slices.Clone(a.Queue[k.items:])
	if k.driver != nil {
		a.State, a.view, a.glance = k.state(), nil, glanceAt(k.driver.State())
		a.driver = k.driver
	}
	var notices []notice
	for _, d := range k.decisions {
		notices = append(notices, e.perform(a, d)...)
	}
	for _, fx := range slices.Clone(a.Effects) {
		e.dispatch(a, fx)
	}
	e.tell(a, notices)
}

// perform carries out one decision. The caller holds the lock.
func (e *Engine) perform(a *agent, d decision) (notices []notice) {
	for _, fx := range d.effects {
		notices = append(notices, e.effect(a, fx)...)
	}
	switch {
	case d.refused != nil && d.Ref != "":
		e.reply(d.Ref, answer{receipt: workflows.Receipt(*d.refused)})
	case d.refused != nil:
		notices = append(notices, notice{"agent/refused", *d.refused})
	case d.Name == work.Setup && d.Lost != "":
		e.stillborn(a, d.item)
		if a.End.Code == work.ErrCreatedHook { // its announcement had begun, see spec §6.1.5
			notices = append(notices, notice{stream.NoticeDisposed, map[string]string{"session": a.ID}})
		}
	}
	e.askForRollover(a, d.item)
	return notices
}

// refuse answers a malformed act. It never fails the task.
func (k *task) refuse(err error) *driver.Receipt {
	k.restore()
	var known *workflows.Refusal
	code := signals.ErrInvalid
	if errors.As(err, &known) {
		code = known.Code
	}
	return &driver.Receipt{Disposition: driver.Refused, Code: code, Message: err.Error(), Revision: k.driver.State().Revision}
}

// stillborn ends the run of an agent that could not be born. Nothing was published and its id is free. See spec §6.1.
func (e *Engine) stillborn(a *agent, i item) {
	a.End = &ending{Status: statusFailed, Code: i.Code, Reason: i.Text}
	if slices.ContainsFunc(a.Queue, func(i item) bool { return i.Name == signals.DisposeAgent }) {
		a.End.Code, a.End.Reason = signals.ErrAborted, "the creation was called off"
	}
	e.ended(a)
	for _, waiting := range a.Queue {
		switch {
		case waiting.query != nil:
			waiting.query(a.state(), nil)
		case waiting.Ref != "":
			e.reply(waiting.Ref, answer{err: a.closedError()})
		}
	}
	a.forget()
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
