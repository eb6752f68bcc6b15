package local

import (
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/workflows"
)

// effect carries out one effect of a task that is being committed. The caller holds the lock, and dispatches what was
// opened when all effects have been carried out: what the same task cancels is never started.
func (e *Engine) effect(a *agent, fx driver.Effect) []notice {
	switch fx := fx.(type) {
	case driver.StartSetup:
		e.open(a, &effect{ID: "setup", Activity: work.Setup, In: raw(fx.In)})
	case driver.StartStep:
		in := fx.In
		e.open(a, &effect{ID: in.ID, Activity: work.Step, Mode: in.Mode, Turn: in.Turn, Step: in.Step, Attempt: in.Attempt, In: raw(in)})
	case driver.StartTool:
		in := fx.In
		e.open(a, &effect{ID: in.ID, Activity: work.Tool, Mode: in.Mode, Turn: in.Turn, Step: in.Step, Tool: in.Call.Name, In: raw(in)})
	case driver.StartHook:
		e.open(a, &effect{ID: fx.In.ID, Activity: work.Hook, Mode: fx.In.Point, Turn: fx.In.Turn, In: raw(fx.In)})
	case driver.StartMaintain:
		e.open(a, &effect{ID: fx.In.ID, Activity: work.Maintain, Mode: fx.In.Task, Turn: fx.In.Turn, In: raw(fx.In)})
	case driver.StartConfigure:
		e.open(a, &effect{ID: fx.In.ID, Activity: work.Configure, In: raw(fx.In)})
	case driver.Tell:
		e.startTell(fx.In)
	case driver.StartTimer:
		a.Timers = append(a.Timers, timer{ID: fx.ID, Due: e.now.Add(time.Duration(fx.DelayMS) * time.Millisecond).UnixMilli()})
	case driver.CancelEffect:
		e.cancelEffect(a, fx.ID)
		return []notice{{"effect/cancel", map[string]string{"id": fx.ID}}}
	case driver.Reply:
		e.reply(fx.Ref, answer{receipt: workflows.Receipt(fx.Receipt)})
	case driver.Notify:
		return []notice{{fx.Name, fx.Data}}
	case driver.Close:
		summary := fx.Summary
		a.End, a.Timers = &ending{Status: statusCompleted, Summary: &summary}, nil
		if fx.Canceled {
			a.End.Status = statusCanceled
		}
		e.ended(a)
	case driver.Transition, driver.Recorded, driver.Rollover: // the committed state says it
	default:
		if !e.family(a, fx) {
			e.blame(a, "unknown effect %T", fx)
		}
	}
	return nil
}

// open takes up an effect. The caller holds the lock.
func (e *Engine) open(a *agent, fx *effect) {
	fx.Since = millis(e.now)
	e.fits(a, fx, "input", fx.In)
	a.Effects = append(a.Effects, fx)
}

// close ends an effect with what it comes to. The caller holds the lock.
func (e *Engine) close(a *agent, fx *effect, i item) {
	for n, other := range a.Effects {
		if other == fx {
			a.Effects = append(a.Effects[:n:n], a.Effects[n+1:]...)
			fx.thread = nil
			i.Name, i.ID = fx.Activity, fx.ID
			if a.Tells != nil {
				e.informed(a, i)
				return
			}
			e.push(a, i)
			return
		}
	}
	panic(fmt.Sprintf("local: effect %s of %s is closed twice", fx.ID, a.ID))
}

// lose ends an effect from which no answer will come. The caller holds the lock.
func (e *Engine) lose(a *agent, fx *effect, why driver.Lost, code, text string) {
	e.close(a, fx, item{Lost: why, Code: code, Text: text})
}

// cancelEffect cancels a timer, an effect nobody works on, or a running one, whose answer still comes. The caller holds
// the lock.
func (e *Engine) cancelEffect(a *agent, id string) {
	for n, t := range a.Timers {
		if t.ID == id {
			a.Timers = append(a.Timers[:n:n], a.Timers[n+1:]...)
			return
		}
	}
	fx := a.effect(id)
	switch {
	case fx == nil: // it is answered already
	case fx.thread == nil:
		e.lose(a, fx, driver.LostCancelled, "", "cancelled before a worker took it")
	default:
		fx.Cancelled = true
		fx.thread.cancel(errCancelled)
		e.free(fx.thread, false)
	}
}
