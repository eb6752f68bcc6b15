package local

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/workflows"
)

// Local activities run on the agent's task. Their policy is the one of package workflows: four tries.
const (
	localTries   = 4
	localBackoff = 50 * time.Millisecond
)

// persist carries out a local activity; it reports false if the task is lost.
func (k *task) persist(in work.PersistIn) (item, bool) {
	e := k.engine
	p := Point{Session: k.agent.ID, Activity: work.Persist, Effect: in.ID, Execution: 1}
	ctx := k.in(p)
	if e.visit(ctx, pointStart) != nil {
		return item{}, false
	}
	out, err := e.inline(ctx, func(ctx context.Context) (json.RawMessage, error) {
		if e.strikes(verbFailPersist, p) {
			return nil, errRefused
		}
		return crossing(ctx, raw(in), k.worker.activities.Persist)
	})
	if e.visit(ctx, pointAnswer) != nil {
		return item{}, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	i := item{Name: work.Persist, ID: in.ID, Raw: out}
	switch {
	case !k.current():
		return i, false
	case e.hit(verbLoseAnswer, p): // the task is lost: it begins anew, later
		e.notices()
		return i, false
	case err != nil:
		i.Lost, i.Text = driver.LostExhausted, err.Error()
	}
	return i, true
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

// spillInTheEnd is spill for a signal: it waits for the store, and what came after it waits behind it.
func (k *task) spillInTheEnd(in work.SpillIn) (out work.SpillOut, err error) {
	for n := 1; ; n++ {
		pause, again := workflows.SpillPause(n)
		if out, err = k.spill(in); err == nil || !again {
			return out, err
		}
		if Sleep(k.in(Point{Session: k.agent.ID, Activity: work.Spill}), pause) != nil {
			return out, err
		}
	}
}

// spill stores a body that is too large for the log's tail, or looks at a stored one.
func (k *task) spill(in work.SpillIn) (out work.SpillOut, err error) {
	ctx := k.in(Point{Session: k.agent.ID, Activity: work.Spill})
	data, err := k.engine.inline(ctx, func(ctx context.Context) (json.RawMessage, error) {
		return crossing(ctx, raw(in), k.worker.activities.Spill)
	})
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(data, &out)
}
