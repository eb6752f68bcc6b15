package local

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// wait returns when cond holds; it is asked with the lock held, whenever something has changed.
func (e *Engine) wait(ctx context.Context, cond func() bool) error {
	e.mu.Lock()
	for !cond() {
		changed, closed := e.changed, e.closed
		e.mu.Unlock()
		if closed {
			return errClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		e.mu.Lock()
	}
	e.mu.Unlock()
	return nil
}

// Settled returns when nothing can happen without something from outside: every goroutine has ended or stands at a
// hold, and no timer waits that the clock could jump to.
func (e *Engine) Settled(ctx context.Context) error {
	return e.wait(ctx, func() bool { return e.active == 0 })
}

// Quiesce is [Engine.Settled] for one agent. A timer it waits for may fire later.
func (e *Engine) Quiesce(ctx context.Context, id string) error {
	return e.wait(ctx, func() bool {
		a := e.agents[id]
		return a == nil || a.active == 0
	})
}

// WaitUntil returns when the agent's committed state fulfils a condition.
func (e *Engine) WaitUntil(ctx context.Context, id string, cond func(signals.State) bool) error {
	err := e.wait(ctx, func() bool {
		a := e.agents[id]
		return a != nil && !a.telling && cond(workflows.View(a.state()))
	})
	if err != nil {
		return fmt.Errorf("local: wait for agent %s: %w", id, err)
	}
	return nil
}

// WaitIdle returns when the agent is idle and has handled all its input.
func (e *Engine) WaitIdle(ctx context.Context, id string) error {
	err := e.wait(ctx, func() bool {
		a := e.agents[id]
		return a != nil && !a.telling && (a.End != nil || len(a.Queue) == 0 && a.state().Quiet())
	})
	if err != nil {
		return fmt.Errorf("local: wait for agent %s to be idle: %w", id, err)
	}
	return nil
}
