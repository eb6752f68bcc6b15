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
)

// An effect is an activity that was asked for and is not answered yet.
type effect struct {
	ID         string          `json:"id"`
	Activity   string          `json:"activity"`
	Mode       string          `json:"mode,omitempty"`
	Turn       int             `json:"turn,omitempty"`
	Step       int             `json:"step,omitempty"`
	Attempt    int             `json:"attempt,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	In         json.RawMessage `json:"in"`
	Executions int             `json:"executions,omitempty"` // begun so far
	Cancelled  bool            `json:"cancelled,omitempty"`
	Since      int64           `json:"since"`         // Unix ms
	Due        int64           `json:"due,omitempty"` // Unix ms of the next execution, after a failed one

	thread  *thread // the execution that is waited for
	starved bool    // no worker takes it
}

func (fx *effect) point(a *agent) Point {
	return Point{Session: a.ID, Activity: fx.Activity, Effect: fx.ID, Mode: fx.Mode, Tool: fx.Tool, Turn: fx.Turn, Step: fx.Step,
		Attempt: fx.Attempt, Execution: fx.Executions}
}

// dispatch hands an effect to a worker if it is due and there is one. The caller holds the lock.
func (e *Engine) dispatch(a *agent, fx *effect) {
	if fx.thread != nil || fx.Due > millis(e.now) || e.starved(a, fx) {
		return
	}
	w := e.pick()
	if w == nil {
		return
	}
	fx.Due = 0
	fx.Executions++
	p := fx.point(a)
	fx.thread = e.spawn(w, a, func(t *thread) { e.execute(t, fx, p) })
}

// execute is one execution of an activity.
func (e *Engine) execute(t *thread, fx *effect, p Point) {
	ctx := t.in(p)
	err := e.visit(ctx, pointStart)
	var out json.RawMessage
	if err == nil {
		out, err = call(ctx, t.worker.activities, fx)
	}
	if gone := e.visit(ctx, pointAnswer); gone != nil {
		err = gone
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case t.dead != nil:
	case fx.thread != t: // the server awaits another execution by now
		e.struck[verbLate]++
	default:
		e.answered(t.agent, fx, p, out, err)
	}
}

// answered takes an execution's answer, or decides what its error means, as Temporal does. The caller holds the lock.
func (e *Engine) answered(a *agent, fx *effect, p Point, out json.RawMessage, err error) {
	var refused *activities.Refusal
	switch {
	case e.hit(verbLoseAnswer, p) || errors.Is(err, errDrains):
		e.again(a, fx)
	case err == nil:
		e.fits(a, fx, "answer", out)
		e.close(a, fx, item{Raw: out})
	case fx.Cancelled && errors.Is(err, context.Canceled):
		e.lose(a, fx, driver.LostCancelled, "", err.Error())
	case errors.As(err, &refused):
		e.lose(a, fx, refusedAs(fx), refused.Kind, refused.Err.Error())
	case fx.Cancelled || fx.Executions >= maxExecutions || fx.expired(e.now):
		e.lose(a, fx, driver.LostExhausted, "", err.Error())
	default:
		e.retry(fx, err)
	}
}

// refusedAs says what a failure comes to that no other try mends: the driver tells one of a tool call from a lost worker.
func refusedAs(fx *effect) driver.Lost {
	if fx.Activity == work.Tool {
		return driver.LostFailed
	}
	return driver.LostExhausted
}

// retry lets a failed effect wait for its next execution. The caller holds the lock.
func (e *Engine) retry(fx *effect, err error) {
	fx.thread = nil
	fx.Due = millis(e.now.Add(fx.pause(err)))
}

// again lets an effect be executed once more because nobody will hear of the last execution. A cancelled one is given
// up: Temporal does not retry it. The caller holds the lock.
func (e *Engine) again(a *agent, fx *effect) {
	fx.thread = nil
	if fx.Cancelled {
		e.lose(a, fx, driver.LostExhausted, "", "the worker was lost after the activity was cancelled")
		return
	}
	e.dispatch(a, fx)
}

// The retry policy of activities; see package workflows, options.go.
const (
	firstBackoff  = 200 * time.Millisecond
	longBackoff   = 30 * time.Second
	maxExecutions = 3000
	setupPatience = 10 * time.Minute
	patience      = 24 * time.Hour
)

func backoff(executions int) time.Duration {
	d := firstBackoff
	for n := 1; n < executions && d < longBackoff; n++ {
		d *= 2
	}
	return min(d, longBackoff)
}

func (fx *effect) expired(now time.Time) bool {
	limit := patience
	switch fx.Activity {
	case work.Setup, work.Configure:
		limit = setupPatience
	case work.CancelReason:
		limit = 2 * time.Second
	}
	return now.Sub(time.UnixMilli(fx.Since)) >= limit
}

// call runs the activity. Input and answer cross as JSON, so that nothing is shared.
func call(ctx context.Context, acts Activities, fx *effect) (json.RawMessage, error) {
	switch fx.Activity {
	case work.Setup:
		return crossing(ctx, fx.In, acts.Setup)
	case work.Step:
		return crossing(ctx, fx.In, acts.Step)
	case work.Tool:
		return crossing(ctx, fx.In, acts.Tool)
	case work.Hook:
		return crossing(ctx, fx.In, acts.Hook)
	case work.Maintain:
		return crossing(ctx, fx.In, acts.Maintain)
	case work.Configure:
		return crossing(ctx, fx.In, acts.Configure)
	case work.CancelReason:
		return crossing(ctx, fx.In, acts.CancelReason)
	case work.Tell:
		return crossing(ctx, fx.In, acts.Tell)
	case work.Look:
		return crossing(ctx, fx.In, acts.Look)
	default:
		return nil, fmt.Errorf("local: no activity is named %q", fx.Activity)
	}
}

func crossing[In, Out any](ctx context.Context, in json.RawMessage, run func(context.Context, In) (Out, error)) (json.RawMessage, error) {
	var v In
	if err := json.Unmarshal(in, &v); err != nil {
		return nil, fmt.Errorf("local: input of %T: %w", v, err)
	}
	out, err := run(ctx, v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
