package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Local activities run on the agent's task. Their policy is the one of package workflows: four tries.
const (
	localTries   = 4
	localBackoff = 50 * time.Millisecond
)

// persist carries out a local activity of the driver; a worker that dies meanwhile leaves it to the next one.
func (e *Engine) persist(t *thread, fx *effect) {
	e.mu.Lock()
	p := fx.point(t.agent)
	e.mu.Unlock()
	ctx := t.in(p)
	err := e.visit(ctx, pointStart)
	var out json.RawMessage
	if err == nil {
		out, err = e.inline(ctx, func(ctx context.Context) (json.RawMessage, error) {
			if e.struck(verbFailPersist, p) {
				return nil, errRefused
			}
			return call(ctx, t.worker.activities, fx)
		})
	}
	if gone := e.visit(ctx, pointAnswer); gone != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !t.current(): // the answer is lost with the task
	case e.hit(verbLoseAnswer, p): // the task is lost: it begins anew
		t.agent.driver = nil
	case err != nil:
		e.lose(t.agent, fx, driver.LostExhausted, "", err.Error())
	default:
		e.close(t.agent, fx, item{Raw: out})
	}
}

var errRefused = errors.New("the store refuses, as the test asked")

// inline tries a local activity until it succeeds, cannot, or has been tried often enough.
func (e *Engine) inline(ctx context.Context, run func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	var refused *activities.Refusal
	pause := localBackoff
	for n := 1; ; n++ {
		out, err := run(ctx)
		if err == nil || n == localTries || errors.As(err, &refused) || Sleep(ctx, pause) != nil {
			return out, err
		}
		pause *= 2
	}
}

// spill stores a body that is too large for the log's tail.
func (e *Engine) spill(t *thread, in work.SpillIn) (session.Artifact, error) {
	ctx := t.in(Point{Session: t.agent.ID, Activity: work.Spill})
	data, err := e.inline(ctx, func(ctx context.Context) (json.RawMessage, error) {
		return crossing(ctx, raw(in), t.worker.activities.Spill)
	})
	if err != nil {
		return session.Artifact{}, &refusal{driver.RefusedStore, fmt.Errorf("the message's body cannot be stored or found: %w", err)}
	}
	var out work.SpillOut
	err = json.Unmarshal(data, &out)
	return out.Blob, err
}
