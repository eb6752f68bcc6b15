package workflows

import (
	"slices"
	"time"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/workflow"
)

// idleRollover is the history length past which an idle agent moves to a new run.
const idleRollover = 1000

// What a stock server enforces on a run, and the history at which it suggests a new one. A run that comes to it moves
// on without a suggestion: at half of what would end it, since the next safe point may be far away.
const (
	stockSuggestedEvents = 4 << 10
	stockSuggestedBytes  = 4 << 20

	nearEvents  = 50 << 10 / 2
	nearBytes   = 50 << 20 / 2
	nearSignals = 10_000 / 2

	fullEvents = 50 << 10 / 5 * 4
	fullBytes  = 50 << 20 / 5 * 4
)

// outOfRoom is why work is cancelled that keeps a run from being left in time.
const outOfRoom = "the history of the run is nearly full and it cannot be left while this runs"

// youngRun is the age below which a server delays the next run, and with it everything that its agent is told.
const youngRun = time.Second

// askForRollover asks the driver for a safe point when the run has grown, was natively cancelled, since a run can be
// cancelled only once, or is idle and pinned to workers that are no longer the current ones. See architecture A3.11.
func (a *agent) askForRollover() {
	s := a.driver.State()
	if a.ended() || s.Roll || s.Phase == driver.Birth {
		return
	}
	info := workflow.GetInfo(a.ctx)
	grown := info.GetContinueAsNewSuggested() || s.Quiet() && info.GetCurrentHistoryLength() > idleRollover
	if s.Manifest.Rules >= driver.RulesRollover {
		grown = grown && workflow.Now(a.ctx).Sub(info.WorkflowStartTime) >= youngRun || a.nearLimit(info)
	}
	outdated := s.Quiet() && info.GetTargetWorkerDeploymentVersionChanged()
	if grown || a.native || outdated {
		a.handle(driver.RollAsked{})
	}
}

// makeRoom cancels the work that keeps the agent in a run which is nearly full: the server would end the run, and with it
// the agent. What is pending stays. See architecture A3.11.
func (a *agent) makeRoom() {
	s := a.driver.State()
	if !a.full() || a.ended() || !s.Active() || s.Cancelled != nil || a.rolling() || s.Manifest.Rules < driver.RulesRollover {
		return
	}
	a.handle(driver.CancelAsked{Cause: session.Cause{Kind: session.CauseHook, Reason: outOfRoom}, KeepInbox: true, Via: driver.ViaAPI, By: "rollover"})
}

// full reports whether the server is about to end the run.
func (a *agent) full() bool {
	info := workflow.GetInfo(a.ctx)
	return info.GetCurrentHistoryLength() >= fullEvents || info.GetCurrentHistorySize() >= fullBytes
}

// nearLimit reports whether the run comes near a limit at which the server refuses callers or ends it. Updates have a
// reason of their own in the suggestion. A suggestion before a stock server makes one is the only sign of a server whose
// limits are lower.
func (a *agent) nearLimit(info *workflow.Info) bool {
	events, bytes := info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
	if events >= nearEvents || bytes >= nearBytes || a.queue.signals >= nearSignals {
		return true
	}
	early := events < stockSuggestedEvents && bytes < stockSuggestedBytes
	updates := slices.Contains(info.GetContinueAsNewSuggestedReasons(), workflow.ContinueAsNewSuggestedReasonTooManyUpdates)
	return info.GetContinueAsNewSuggested() && (early || updates)
}

// mayRenew reports whether the run can be left: the driver agreed, nothing is open, nobody waits.
func (a *agent) mayRenew() bool {
	return a.rolling() && a.open == 0 && a.waiters == 0 && workflow.AllHandlersFinished(a.ctx)
}

// rolling reports whether the driver is at a safe point of a rollover that is wanted.
func (a *agent) rolling() bool { return a.driver.State().Rolling }

// A lull is the workflow task boundary before a rollover. A server that got a signal meanwhile refuses the rollover and
// lets the task be executed again, with the signal before all that had not been committed: a log that was flushed and
// published, a turn that had ended for listeners. So what is handed over is committed first. Not so before a step is
// proposed: whoever was told that the agent runs must not find that nothing was claimed yet.
type lull struct {
	waits bool
	dirty bool // something was decided since the last one began
	over  bool // and nothing since it ended
	count int
}

// maxLulls bounds how often callers who never pause can put a rollover off; each time, what they send makes the run longer.
const (
	maxLulls     = 5
	maxFullLulls = 1
)

// needsLull reports whether something was decided in this workflow task that must be committed before the run is left.
func (a *agent) needsLull() bool {
	s := a.driver.State()
	limit := maxLulls
	if a.full() {
		limit = maxFullLulls
	}
	return s.Manifest.Rules >= driver.RulesRollover && s.Phase != driver.Claiming && !a.lull.over && a.lull.count < limit
}

// mustPause reports whether a lull has to begin.
func (a *agent) mustPause() bool { return a.mayRenew() && a.needsLull() && !a.lull.waits }

// mayLeave reports whether the rollover can take place now.
func (a *agent) mayLeave() bool { return a.mayRenew() && !a.needsLull() }

// pause lets the workflow task end: there is another one when the timer has fired.
func (a *agent) pause() {
	a.lull.waits, a.lull.dirty = true, false
	a.lull.count++
	f := workflow.NewTimerWithOptions(a.ctx, time.Millisecond, workflow.TimerOptions{Summary: "commit before the rollover"})
	workflow.GoNamed(a.ctx, "lull", func(ctx workflow.Context) {
		_ = f.Get(ctx, nil) // nobody cancels it
		a.lull.waits, a.lull.over = false, !a.lull.dirty
	})
}

// continueAsNew hands the driver's state to a new run, which the workers take that are current by then.
func (a *agent) continueAsNew(start Start) error {
	a.showBirth()
	next := Start{Create: start.Create, State: a.driver.State()}
	if workflow.GetInfo(a.ctx).GetTargetWorkerDeploymentVersionChanged() {
		return workflow.NewContinueAsNewErrorWithOptions(a.ctx, workflow.ContinueAsNewErrorOptions{
			InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade}, WorkflowType, next)
	}
	return workflow.NewContinueAsNewError(a.ctx, WorkflowType, next)
}

// showBirth lets listings show when the agent was born; a run that follows another one began later.
func (a *agent) showBirth() {
	info := workflow.GetInfo(a.ctx)
	if _, shown := info.Memo.GetFields()[signals.MemoBorn]; shown || a.driver.State().Manifest.Rules < driver.RulesRollover {
		return
	}
	if err := workflow.UpsertMemo(a.ctx, map[string]any{signals.MemoBorn: info.WorkflowStartTime.UnixMilli()}); err != nil {
		workflow.GetLogger(a.ctx).Warn("birth not shown in listings", "error", err)
	}
}
