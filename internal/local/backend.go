package local

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

var _ agents.Backend = (*Engine)(nil)

// How a run is or was.
const (
	statusRunning   = "running"
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusCanceled  = "canceled"
)

// Start implements [agents.Backend].
func (e *Engine) Start(_ context.Context, id string, c signals.Create) error {
	if !session.ValidID(id) {
		return invalid(fmt.Errorf("agent id %q must be 1–200 characters without control characters", id))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	if a := e.agents[id]; a != nil && a.End == nil {
		return fmt.Errorf("start agent %s: %w", id, agents.ErrExists)
	}
	a := &agent{ID: id, Run: 1, Started: millis(e.now), Create: c}
	e.agents[id] = a
	e.runs = append(e.runs, a)
	e.push(a, item{Name: itemBegin, Raw: raw(c)})
	return nil
}

// live finds an agent whose run is open. The caller holds the lock.
func (e *Engine) live(id string) (*agent, error) {
	a, err := e.find(id)
	if err == nil && a.End != nil {
		err = fmt.Errorf("agent %s: %w", id, agents.ErrClosed)
	}
	return a, err
}

// find finds an agent. The caller holds the lock.
func (e *Engine) find(id string) (*agent, error) {
	if e.closed {
		return nil, errClosed
	}
	a := e.agents[id]
	if a == nil {
		return nil, fmt.Errorf("agent %s: %w", id, agents.ErrUnknownAgent)
	}
	return a, nil
}

// Signal implements [agents.Backend]. Like Temporal it takes any payload; the agent drops what it cannot read.
func (e *Engine) Signal(_ context.Context, id, act string, payload any) error {
	data, err := json.Marshal(payload)
	if err != nil {
		return invalid(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.live(id)
	if err != nil {
		return err
	}
	e.push(a, item{Name: act, Raw: data})
	return nil
}

// Update implements [agents.Backend].
func (e *Engine) Update(ctx context.Context, id, name string, payload, out any) error {
	data, err := json.Marshal(payload)
	if err != nil {
		return invalid(err)
	}
	if name == signals.QueryWhenIdle {
		return e.whenIdle(ctx, id, data, out)
	}
	if _, err := decode(name, data); err != nil {
		return invalid(err)
	}
	ref, slot, err := e.accept(id, item{Name: name, Raw: data})
	if err != nil {
		return err
	}
	defer e.forget(ref)
	got, err := await(ctx, e, slot)
	if err == nil {
		err = got.err
	}
	if err != nil {
		return err
	}
	return fill(out, got.receipt)
}

// await receives what a worker will send.
func await[T any](ctx context.Context, e *Engine, c <-chan T) (v T, err error) {
	select {
	case v = <-c:
		return v, nil
	case <-ctx.Done():
		return v, ctx.Err()
	case <-e.done:
		return v, errClosed
	}
}

// An answer is what an update comes to.
type answer struct {
	receipt signals.Receipt
	err     error
}

// accept takes an act whose receipt is waited for.
func (e *Engine) accept(id string, i item) (ref string, slot <-chan answer, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.live(id)
	if err == nil && len(e.workers) == 0 {
		err = fmt.Errorf("agent %s: %w", id, agents.ErrNoWorker)
	}
	if err != nil {
		return "", nil, err
	}
	e.refs++
	i.Ref = fmt.Sprintf("update-%d", e.refs)
	c := make(chan answer, 1)
	e.slots[i.Ref] = c
	e.push(a, i)
	return i.Ref, c, nil
}

// forget gives an update's place back.
func (e *Engine) forget(ref string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.slots, ref)
}

// reply answers an update, if its caller is still there. The caller holds the lock.
func (e *Engine) reply(ref string, a answer) {
	if slot := e.slots[ref]; slot != nil {
		slot <- a
		delete(e.slots, ref)
	}
}

// whenIdle waits for an idle agent, across rollovers.
func (e *Engine) whenIdle(ctx context.Context, id string, data []byte, out any) error {
	var in signals.WhenIdle
	if err := json.Unmarshal(data, &in); err != nil {
		return invalid(err)
	}
	var now signals.Idle // also waits for what came before
	if err := e.Query(ctx, id, signals.QueryWhenIdle, in, &now); err != nil {
		return err
	}
	var ended error
	err := e.wait(ctx, func() bool {
		a := e.agents[id]
		now = workflows.IdleView(a.state(), in)
		if a.End != nil && !now.Idle {
			ended = a.closedError()
		}
		return !a.telling && (now.Idle || a.End != nil)
	})
	if err == nil {
		err = ended
	}
	if err != nil {
		return err
	}
	return fill(out, now)
}

// closedError tells a caller whose run has closed.
func (a *agent) closedError() error {
	if a.End.Status == statusFailed {
		return &agents.CreateError{Code: a.End.Code, Message: a.End.Reason}
	}
	return fmt.Errorf("agent %s: %w", a.ID, agents.ErrClosed)
}

// Query implements [agents.Backend]. It sees everything that was accepted before it.
func (e *Engine) Query(ctx context.Context, id, name string, arg, out any) error {
	data, err := json.Marshal(arg)
	if err != nil {
		return invalid(err)
	}
	view, err := reader(name, data)
	if err != nil {
		return invalid(err)
	}
	got := make(chan reading, 1)
	ask := func(s *driver.State, err error) {
		if err != nil {
			got <- reading{err: err}
			return
		}
		got <- reading{view: view(s)}
	}
	if err := e.queue(id, item{Name: itemQuery, query: ask}); err != nil {
		return err
	}
	r, err := await(ctx, e, got)
	if err == nil {
		err = r.err
	}
	if err != nil {
		return err
	}
	return fill(out, r.view)
}

// A reading is what a query comes to.
type reading struct {
	view any
	err  error
}

// dropQueries answers the queries of an agent that no worker is left for.
func (a *agent) dropQueries() {
	a.Queue = slices.DeleteFunc(slices.Clone(a.Queue), func(i item) bool {
		if i.query != nil {
			i.query(nil, fmt.Errorf("agent %s: %w", a.ID, agents.ErrNoWorker))
		}
		return i.query != nil
	})
}

func (e *Engine) queue(id string, i item) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.find(id)
	if err == nil && len(e.workers) == 0 {
		err = fmt.Errorf("agent %s: %w", id, agents.ErrNoWorker)
	}
	if err == nil {
		e.push(a, i)
	}
	return err
}

// reader is the view that a query asks for.
func reader(name string, arg []byte) (func(*driver.State) any, error) {
	switch name {
	case signals.QueryState:
		return func(s *driver.State) any { return workflows.View(s) }, nil
	case signals.QueryLog:
		return func(s *driver.State) any { return workflows.LogView(s) }, nil
	case signals.QueryWhenIdle:
		var in signals.WhenIdle
		err := json.Unmarshal(arg, &in)
		return func(s *driver.State) any { return workflows.IdleView(s, in) }, err
	case signals.QueryMessage:
		var in signals.MessageID
		err := json.Unmarshal(arg, &in)
		return func(s *driver.State) any { return workflows.MessageView(s, in.ID) }, err
	default:
		return nil, fmt.Errorf("unknown query %q", name)
	}
}

// Describe implements [agents.Backend].
func (e *Engine) Describe(_ context.Context, id string) (agents.Run, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.find(id)
	if err != nil {
		return agents.Run{}, err
	}
	run := agents.Run{Open: a.End == nil, Status: statusRunning, Started: time.UnixMilli(a.Started).UTC()}
	if a.End != nil {
		run.Status, run.Code, run.Reason = a.End.Status, a.End.Code, a.End.Reason
	}
	return run, nil
}

// List implements [agents.Backend].
func (e *Engine) List(ctx context.Context) iter.Seq2[agents.Listed, error] {
	e.mu.Lock()
	var all []agents.Listed
	for _, a := range slices.Backward(e.runs) {
		all = append(all, a.listed())
	}
	e.mu.Unlock()
	return func(yield func(agents.Listed, error) bool) {
		for _, l := range all {
			if err := ctx.Err(); err != nil {
				yield(agents.Listed{}, err)
				return
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (a *agent) listed() agents.Listed {
	s := a.state()
	l := agents.Listed{ID: a.ID, Status: s.Status(), Definition: a.Create.Definition, Model: s.Model, Parent: a.Create.Parent,
		Turn: int64(s.Turn), Started: time.UnixMilli(a.Started).UTC()}
	if a.End != nil {
		l.Status = a.End.Status
	}
	return l
}

// Workers implements [agents.Backend].
func (e *Engine) Workers(context.Context) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.workers) > 0, nil
}

func invalid(err error) error {
	return &agents.RefusedError{Code: signals.ErrInvalid, Message: err.Error()}
}

// fill copies an answer to where its caller wants it, as JSON.
func fill(out, v any) error {
	if out == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}
