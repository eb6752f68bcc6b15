package workflows

import (
	"github.com/everturn/everturn/internal/driver"
	"go.temporal.io/sdk/workflow"
)

// idleRollover is the history length past which an idle agent moves to a new run.
const idleRollover = 1000

// askForRollover asks the driver for a safe point when the run has grown, was natively cancelled, since a run can be
// cancelled only once, or is idle and pinned to workers that are no longer the current ones. See architecture A3.11.
func (a *agent) askForRollover() {
	s := a.driver.State()
	if a.ended() || s.Roll || s.Phase == driver.Birth {
		return
	}
	info := workflow.GetInfo(a.ctx)
	outdated := s.Quiet() && info.GetTargetWorkerDeploymentVersionChanged()
	if info.GetContinueAsNewSuggested() || a.native || outdated || s.Quiet() && info.GetCurrentHistoryLength() > idleRollover {
		a.handle(driver.RollAsked{})
	}
}

// mayRenew reports whether the run can be left: the driver agreed, nothing is open, nobody waits.
func (a *agent) mayRenew() bool {
	return a.rolling() && a.open == 0 && a.waiters == 0 && workflow.AllHandlersFinished(a.ctx)
}

// rolling reports whether the driver is at a safe point of a rollover that is wanted.
func (a *agent) rolling() bool { return a.driver.State().Rolling }

// continueAsNew hands the driver's state to a new run, which the workers take that are current by then.
func (a *agent) continueAsNew(start Start) error {
	next := Start{Create: start.Create, State: a.driver.State()}
	if workflow.GetInfo(a.ctx).GetTargetWorkerDeploymentVersionChanged() {
		return workflow.NewContinueAsNewErrorWithOptions(a.ctx, workflow.ContinueAsNewErrorOptions{
			InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade}, WorkflowType, next)
	}
	return workflow.NewContinueAsNewError(a.ctx, WorkflowType, next)
}
