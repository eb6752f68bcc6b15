package local

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/everturn/everturn/agents"
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
	a, err := e.begin(id, c)
	if err != nil {
		return err
	}
	e.submit(a, item{Name: itemBegin, Raw: raw(c)})
	e.pushFirst(a)
	return nil
}

// begin makes a run of a new agent. The caller holds the lock, and lets the agent's life begin.
func (e *Engine) begin(id string, c signals.Create) (*agent, error) {
	if e.closed {
		return nil, errClosed
	}
	if a := e.agents[id]; a != nil && a.End == nil {
		return nil, fmt.Errorf("start agent %s: %w", id, agents.ErrExists)
	}
	a := &agent{ID: id, Run: 1, Started: millis(e.now), Create: c}
	a.follow(e.agents[id])
	e.agents[id] = a
	e.runs = append(e.runs, a)
	return a, nil
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
	e.submit(a, item{Name: act, Raw: data})
	return nil
}

// Describe implements [agents.Backend].
func (e *Engine) Describe(_ context.Context, id string) (agents.Run, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.find(id)
	if err != nil {
		return agents.Run{}, err
	}
	run := agents.Run{ID: a.runID(), Open: a.End == nil, Status: statusRunning, Started: time.UnixMilli(a.Started).UTC(), Said: a.listed()}
	if a.End != nil {
		run.Status, run.Code, run.Reason = a.End.Status, a.End.Code, a.End.Reason
	}
	return run, nil
}

// Problems implements [agents.Backend]: the engine is this process, and has no queues that nobody polls.
func (e *Engine) Problems(context.Context, string) ([]agents.Problem, error) { return nil, nil }

// List implements [agents.Backend].
func (e *Engine) List(ctx context.Context) iter.Seq2[agents.Listed, error] {
	e.mu.Lock()
	var all []agents.Listed
	for _, a := range slices.Backward(e.runs) {
		if a.Tells == nil {
			all = append(all, a.listed())
		}
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
	l := agents.Listed{ID: a.ID, Status: s.Status(), Waiting: s.Waiting, Definition: a.Create.Definition, Model: s.Model, Parent: a.Create.Parent,
		Metadata: workflows.Metadata(s.Metadata), Turn: int64(s.Turn), Started: time.UnixMilli(a.Started).UTC(), Open: a.End == nil}
	if a.End != nil {
		l.Status, l.Waiting = a.End.Status, ""
	}
	return l
}

// Workers implements [agents.Backend].
func (e *Engine) Workers(context.Context) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.workers) > 0, nil
}

// Untaken implements [agents.Backend].
func (e *Engine) Untaken(_ context.Context, id string) (out []agents.Untaken, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.find(id)
	if err != nil {
		return nil, err
	}
	for _, i := range a.Queue {
		if slices.Contains(signals.Acts, i.Name) {
			out = append(out, agents.Untaken{Act: i.Name, Payload: i.Raw})
		}
	}
	return out, nil
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
