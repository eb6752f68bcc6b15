package local

import (
	"maps"
	"slices"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
)

// A fault waits for effects that it matches, and strikes a number of times.
type fault struct {
	verb    string
	pattern Point
	times   int
}

const (
	verbLoseAnswer  = "lose answer"
	verbExhaust     = "exhaust"
	verbStarve      = "starve"
	verbFailPersist = "fail persist"
	verbTimeOut     = "time out"
	verbKill        = "kill"
	verbCutOff      = "cut off"
	verbLate        = "answer late" // of an execution that nobody waited for any more
)

// Struck says how often each kind of fault has struck: lose answer, exhaust, starve, fail persist, time out, kill, cut
// off; and how often somebody answered late, to whom nobody listened any more.
func (e *Engine) Struck() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.struck)
}

func (e *Engine) arm(verb string, p Point) {
	e.faults = append(e.faults, &fault{verb, p, 1})
}

// hit reports whether a fault strikes, and uses it up. The caller holds the lock.
func (e *Engine) hit(verb string, p Point) bool {
	for _, f := range e.faults {
		if f.times > 0 && f.verb == verb && f.pattern.matches(p) {
			f.times--
			e.struck[verb]++
			return true
		}
	}
	return false
}

// strikes is hit for a caller that does not hold the lock.
func (e *Engine) strikes(verb string, p Point) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hit(verb, p)
}

// LoseAnswer loses the answer of the next matching execution: the activity ran, nobody hears of it, and it is executed
// again. Lost with the answer of a Persist is the task that ran it.
func (e *Engine) LoseAnswer(p Point) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arm(verbLoseAnswer, p)
}

// ExhaustRetries gives a matching effect up as if its worker had died too often: at once if one is open, whose
// execution goes on unheard, else the next one to be asked for.
func (e *Engine) ExhaustRetries(p Point) {
	e.giveUp(p, driver.LostExhausted, "the worker died too often")
}

// Unavailable gives a matching open effect up as if no worker had taken it in time.
func (e *Engine) Unavailable(p Point) {
	e.giveUp(p, driver.LostUnavailable, "no worker took it in time")
}

func (e *Engine) giveUp(p Point, why driver.Lost, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.runs {
		for _, fx := range a.Effects {
			if p.matches(fx.point(a)) {
				e.lose(a, fx, why, "", text)
				if why == driver.LostExhausted {
					e.struck[verbExhaust]++
				}
				return
			}
		}
	}
	if why == driver.LostExhausted {
		e.arm(verbExhaust, p)
	}
}

// CancelBeforeStart keeps workers from taking the next matching effect; once it is cancelled, it is lost as one that
// never started.
func (e *Engine) CancelBeforeStart(p Point) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arm(verbStarve, p)
}

// starved reports whether a fault keeps the effect from being started. The caller holds the lock.
func (e *Engine) starved(a *agent, fx *effect) bool {
	p := fx.point(a)
	if e.hit(verbExhaust, p) {
		e.lose(a, fx, driver.LostExhausted, "", "the worker died too often")
		return true
	}
	if e.hit(verbStarve, p) {
		fx.starved = true
	}
	return fx.starved
}

// FailPersist makes the next n tries to write a tail fail. Four tries in a row fail one Persist.
func (e *Engine) FailPersist(p Point, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = append(e.faults, &fault{verbFailPersist, p, n})
}

// TimeOut makes the server give up on the matching executions that run, as if they had sent no heartbeat: they are
// executed again, and what still runs answers too late. It returns how many there were.
func (e *Engine) TimeOut(p Point) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, a := range e.runs {
		for _, fx := range slices.Clone(a.Effects) {
			if fx.thread != nil && p.matches(fx.point(a)) {
				e.again(a, fx)
				n++
			}
		}
	}
	e.struck[verbTimeOut] += n
	return n
}

// NativeCancel cancels the agent's run as the Temporal UI, command line and client do. A run can be cancelled only once;
// after it has converged the agent goes on in a new one. See architecture A3.9.
func (e *Engine) NativeCancel(id, reason string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.live(id)
	if err != nil || a.Cancel != nil {
		return err
	}
	a.Cancel = &activities.CancelRequest{Reason: reason, Identity: "local"}
	fx := &effect{ID: "reason-" + a.runID(), Activity: work.CancelReason, In: raw(work.CancelReasonIn{Session: a.ID, RunID: a.runID()})}
	e.open(a, fx)
	e.dispatch(a, fx)
	e.jumps = 0
	e.settle()
	return nil
}
