package workflows

import (
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"go.temporal.io/sdk/workflow"
)

// watchCancellation turns a native cancellation of the run into an input. See architecture A3.9.
func (a *agent) watchCancellation(root workflow.Context) {
	workflow.GoNamed(a.ctx, "native cancellation", func(ctx workflow.Context) {
		root.Done().Receive(ctx, nil)
		a.open++
		a.queue.push(item{input: a.readReason(ctx)})
		a.open--
		a.native = true
	})
}

// readReason asks the history why; Go workflow code cannot see it. Without an answer in two seconds it was the user.
func (a *agent) readReason(ctx workflow.Context) driver.Input {
	info := workflow.GetInfo(ctx)
	in := work.CancelReasonIn{Session: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID}
	var out work.CancelReasonOut
	ctx = workflow.WithActivityOptions(ctx, cancelReasonOptions())
	if err := workflow.ExecuteActivity(ctx, work.CancelReason, in).Get(ctx, &out); err != nil {
		workflow.GetLogger(ctx).Warn("reason of the cancellation not read", "error", err)
		out = work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseUser}}
	}
	if out.Dispose || info.ParentWorkflowExecution != nil {
		return driver.DisposeAsked{Native: true}
	}
	return driver.CancelAsked{Cause: out.Cause, KeepInbox: out.KeepInbox, Via: driver.ViaNative, By: out.By, Text: out.Text}
}
