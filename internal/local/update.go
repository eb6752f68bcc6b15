package local

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// Update implements [agents.Backend].
func (e *Engine) Update(ctx context.Context, id, name string, payload, out any) error {
	data, err := json.Marshal(payload)
	if err != nil {
		return invalid(err)
	}
	if name == signals.QueryWhenIdle {
		return e.whenIdle(ctx, id, data, out)
	}
	if _, err := workflows.Decode(name, data); err != nil {
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
	e.submit(a, i)
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
