package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/work"
)

// What is told is a run of its own, as on Temporal: it has no driver and takes no acts, only an effect for the index and
// one for every webhook. It outlives the agent's runs.

// startTell begins to tell one thing. The caller holds the lock.
func (e *Engine) startTell(in work.TellIn) {
	a := &agent{ID: in.ID, Run: 1, Started: millis(e.now), Tells: &in}
	e.runs = append(e.runs, a)
	e.openTell(a, in)
}

func (e *Engine) openTell(a *agent, in work.TellIn) {
	fx := &effect{ID: "tell" + in.Target, Activity: work.Tell, Mode: in.Kind, Turn: in.Turn, In: raw(in)}
	e.open(a, fx)
	e.dispatch(a, fx)
}

// informed takes the answer of an effect of a run that tells. The caller holds the lock.
func (e *Engine) informed(a *agent, i item) {
	if i.Lost != "" {
		a.Untold = append(a.Untold, i.Text)
	} else {
		var out work.TellOut
		if err := json.Unmarshal(i.Raw, &out); err != nil {
			panic(fmt.Sprintf("local: answer of %s: %v", a.ID, err)) // it was written by this package
		}
		for _, t := range out.Targets {
			in := *a.Tells
			in.Target = t.Key
			e.openTell(a, in)
		}
	}
	if len(a.Effects) == 0 {
		a.End = &ending{Status: statusCompleted}
		if len(a.Untold) > 0 {
			a.End = &ending{Status: statusFailed, Reason: a.Untold[0]}
		}
	}
	e.announce()
}

// pause is how long a failed execution waits for the next one.
func (fx *effect) pause(err error) time.Duration {
	var delay *activities.Delay
	if errors.As(err, &delay) && delay.After > 0 {
		return delay.After
	}
	if fx.Activity != work.Tell {
		return backoff(fx.Executions)
	}
	d := time.Second
	for n := 1; n < fx.Executions && d < work.TellPatience; n++ {
		d *= 2
	}
	return min(d, work.TellPatience)
}

// Untold is what became of the things that were told of a session: the reason for each that somebody was not told, and
// how many are still being told.
func (e *Engine) Untold(session string) (failed []string, open int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.runs {
		if a.Tells == nil || a.Tells.Ident.Session != session {
			continue
		}
		failed = append(failed, a.Untold...)
		if a.End == nil {
			open++
		}
	}
	return failed, open
}
