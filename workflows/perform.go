package workflows

import (
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// perform carries out effects in order.
func (a *agent) perform(effects []driver.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case driver.StartSetup:
			a.setup(e)
		case driver.StartStep:
			a.step(e)
		case driver.StartTool:
			a.tool(e)
		case driver.StartPersist:
			a.persist(e)
		case driver.StartTimer:
			a.timer(e)
		case driver.StartHook:
			a.hook(e)
		case driver.StartMaintain:
			a.maintain(e)
		case driver.StartChild:
			a.startChild(e)
		case driver.TellChild:
			a.tellChild(e)
		case driver.LookAtChild:
			a.lookAtChild(e)
		case driver.TellParent:
			a.tellParent(e)
		case driver.Tell:
			a.tell(e)
		case driver.StartConfigure:
			a.configure(e)
		case driver.Recorded:
			a.memo(e)
		case driver.CancelEffect:
			a.cancelEffect(e.ID)
		case driver.Reply:
			a.answer(e)
		case driver.Notify:
			a.tap(e.Name, e.Data)
		case driver.Transition:
			a.transition(e)
		case driver.Rollover: // mayRenew looks at the state: an input may end the moment before it is used
		case driver.Close:
			a.closed = &e
		case driver.Defect:
			a.defect = e.Message
		}
	}
}

// await runs one coroutine that waits for an effect and feeds its answer back.
func (a *agent) await(name, id string, answer func(workflow.Context) driver.Input) {
	a.open++
	workflow.GoNamed(a.ctx, name+" "+id, func(ctx workflow.Context) {
		in := answer(ctx)
		a.open--
		delete(a.cancels, id)
		if in != nil {
			a.queue.push(item{input: in})
		}
	})
}

// cancellable gives an effect a context of its own.
func (a *agent) cancellable(id string) workflow.Context {
	ctx, cancel := workflow.WithCancel(a.ctx)
	a.cancels[id] = cancel
	return ctx
}

// CancelHint is the name under which a [Tap] learns that an activity was cancelled, as {id}: it may make it heartbeat at
// once. See architecture A3.9.
const CancelHint = "effect/cancel"

func (a *agent) cancelEffect(id string) {
	if cancel, ok := a.cancels[id]; ok {
		cancel()
		a.tap(CancelHint, map[string]string{"id": id})
	}
}

// setupID names the birth among the effects that can be cancelled.
const setupID = "setup"

func (a *agent) setup(e driver.StartSetup) {
	ctx := workflow.WithActivityOptions(a.cancellable(setupID), placed(e.In.Spec.Queue, setupOptions()))
	f := workflow.ExecuteActivity(ctx, work.Setup, e.In)
	a.await("setup", setupID, func(ctx workflow.Context) driver.Input {
		var out work.SetupOut
		if err := f.Get(ctx, &out); err != nil {
			a.stillborn = stillborn(err)
			if a.calledOff {
				a.stillborn = temporal.NewNonRetryableApplicationError("the creation was called off", signals.ErrAborted, nil)
				return nil
			}
			var app *temporal.ApplicationError
			if errors.As(err, &app) && app.Type() == work.ErrCreatedHook { // its announcement had begun, see spec §6.1.5
				a.tap("agent/disposed", map[string]string{"session": e.In.Ident.Session})
			}
			return nil
		}
		return driver.Born{Out: out}
	})
}

// stillborn is the error of a run whose birth failed: nothing was published and the id is free again. See spec §6.1.
func stillborn(err error) error {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return temporal.NewNonRetryableApplicationError(app.Message(), app.Type(), nil)
	}
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf("the agent could not be set up: %v", err), "SETUP", nil)
}

func (a *agent) step(e driver.StartStep) {
	ctx := workflow.WithActivityOptions(a.cancellable(e.In.ID), a.placed(stepOptions(a.profile(), e.In, a.driver.State().Model)))
	f := workflow.ExecuteActivity(ctx, work.Step, e.In)
	a.await("step", e.In.ID, func(ctx workflow.Context) driver.Input {
		var out work.StepOut
		if err := f.Get(ctx, &out); err != nil {
			return driver.StepLost{ID: e.In.ID, Why: why(err), Message: cause(err).Error()}
		}
		return driver.StepDone{ID: e.In.ID, Out: out}
	})
}

func (a *agent) tool(e driver.StartTool) {
	ctx := workflow.WithActivityOptions(a.cancellable(e.In.ID), a.placed(toolOptions(a.profile(), e.In)))
	f := workflow.ExecuteActivity(ctx, work.Tool, e.In)
	a.await("tool", e.In.ID, func(ctx workflow.Context) driver.Input {
		var out work.ToolOut
		if err := f.Get(ctx, &out); err != nil {
			return driver.ToolLost{ID: e.In.ID, Why: whyTool(err), Message: cause(err).Error()}
		}
		return driver.ToolDone{ID: e.In.ID, Out: out}
	})
}

func (a *agent) hook(e driver.StartHook) {
	ctx := workflow.WithActivityOptions(a.cancellable(e.In.ID), a.placed(hookOptions(a.profile(), e.In)))
	f := workflow.ExecuteActivity(ctx, work.Hook, e.In)
	a.await("hook", e.In.ID, func(ctx workflow.Context) driver.Input {
		var out work.HookOut
		if err := f.Get(ctx, &out); err != nil {
			return driver.HookLost{ID: e.In.ID, Message: cause(err).Error()}
		}
		return driver.HookDone{ID: e.In.ID, Out: out}
	})
}

func (a *agent) maintain(e driver.StartMaintain) {
	ctx := workflow.WithActivityOptions(a.cancellable(e.In.ID), a.placed(maintainOptions(a.profile(), e.In)))
	f := workflow.ExecuteActivity(ctx, work.Maintain, e.In)
	a.await("maintain", e.In.ID, func(ctx workflow.Context) driver.Input {
		var out work.MaintainOut
		if err := f.Get(ctx, &out); err != nil {
			return driver.MaintainLost{ID: e.In.ID, Why: why(err), Message: cause(err).Error()}
		}
		return driver.MaintainDone{ID: e.In.ID, Out: out}
	})
}

// configure runs where the definition of the agent is known.
func (a *agent) configure(e driver.StartConfigure) {
	ctx := workflow.WithActivityOptions(a.cancellable(e.In.ID), a.placed(configureOptions()))
	f := workflow.ExecuteActivity(ctx, work.Configure, e.In)
	a.await("configure", e.In.ID, func(ctx workflow.Context) driver.Input {
		var out work.ConfigureOut
		if err := f.Get(ctx, &out); err != nil {
			return driver.ConfigureLost{ID: e.In.ID, Message: cause(err).Error()}
		}
		return driver.ConfigureDone{ID: e.In.ID, Out: out}
	})
}

// persist is a local activity: its input, which the history holds already, is not recorded again.
func (a *agent) persist(e driver.StartPersist) {
	ctx := workflow.WithLocalActivityOptions(a.ctx, localOptions("write the log"))
	f := workflow.ExecuteLocalActivity(ctx, work.Persist, e.In)
	a.await("persist", e.In.ID, func(ctx workflow.Context) driver.Input {
		var out work.PersistOut
		if err := f.Get(ctx, &out); err != nil {
			return driver.PersistFailed{ID: e.In.ID, Message: cause(err).Error()}
		}
		return driver.Persisted{ID: e.In.ID, Out: out}
	})
}

// timer does not keep a rollover waiting: the driver arms it again in the next run.
func (a *agent) timer(e driver.StartTimer) {
	f := workflow.NewTimerWithOptions(a.cancellable(e.ID), ms(e.DelayMS), workflow.TimerOptions{Summary: e.Summary})
	workflow.GoNamed(a.ctx, "timer "+e.ID, func(ctx workflow.Context) {
		err := f.Get(ctx, nil)
		delete(a.cancels, e.ID)
		if err == nil { // else it was cancelled, and nobody awaits it
			a.queue.push(item{input: driver.TimerFired{ID: e.ID}})
		}
	})
}

// why says in the driver's terms that no answer will come.
func why(err error) driver.Lost {
	var timeout *temporal.TimeoutError
	switch {
	case temporal.IsCanceledError(err):
		return driver.LostCancelled
	case errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return driver.LostUnavailable
	default:
		return driver.LostExhausted
	}
}

// whyTool tells a failure of our own, which no other try mends, from a worker that is gone. See spec §4.8, scheduler defect.
func whyTool(err error) driver.Lost {
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.NonRetryable() {
		return driver.LostFailed
	}
	return why(err)
}

// answer gives a receipt to the update that waits for it.
func (a *agent) answer(e driver.Reply) {
	if s, ok := a.slots[e.Ref]; ok {
		s.receipt, s.done = e.Receipt, true
	}
}
