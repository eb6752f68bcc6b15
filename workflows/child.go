package workflows

import (
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// startChild starts a child agent: a workflow that outlives its parent's runs. As long as this run lasts it learns of the
// child's end, however it came. See architecture A3.13.
func (a *agent) startChild(e driver.StartChild) {
	ctx := workflow.WithChildOptions(a.ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            e.Child,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         short("child of " + a.driver.State().Session),
	})
	child := workflow.ExecuteChildWorkflow(ctx, WorkflowType, e.Create)
	a.starts[e.ID] = child.GetChildWorkflowExecution()
	a.await("child", e.ID, func(ctx workflow.Context) driver.Input {
		if err := a.starts[e.ID].Get(ctx, nil); err != nil {
			return driver.ChildFailed{ID: e.ID, Code: startFailure(err), Message: cause(err).Error()}
		}
		a.awaitEnd(e.ID, child)
		return driver.ChildStarted{ID: e.ID}
	})
}

// awaitEnd does not keep a rollover waiting: the next run looks by itself.
func (a *agent) awaitEnd(id string, child workflow.ChildWorkflowFuture) {
	workflow.GoNamed(a.ctx, "end of "+id, func(ctx workflow.Context) {
		message := "it was disposed of"
		if err := child.Get(ctx, nil); err != nil {
			message = cause(err).Error()
		}
		a.queue.push(item{input: driver.ChildClosed{ID: id, Message: message}})
	})
}

func startFailure(err error) string {
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return work.ErrSessionExists
	}
	return work.CodeUnknown
}

// tellChild signals a child, as soon as it is started. One that cannot be signalled is gone.
func (a *agent) tellChild(e driver.TellChild) {
	a.open++
	workflow.GoNamed(a.ctx, "tell "+e.Child, func(ctx workflow.Context) {
		defer func() { a.open-- }()
		if started := a.starts[e.ID]; started != nil && started.Get(ctx, nil) != nil {
			return // it says so itself
		}
		name, payload := TellingOf(e)
		if err := workflow.SignalExternalWorkflow(ctx, e.Child, "", name, payload).Get(ctx, nil); err != nil {
			a.queue.push(item{input: driver.ChildClosed{ID: e.ID, Message: cause(err).Error()}})
		}
	})
}

// TellingOf is what a child is told, as a signal.
func TellingOf(e driver.TellChild) (name string, payload any) {
	if e.Act == driver.ActDispose {
		return signals.DisposeAgent, signals.Dispose{}
	}
	return signals.CancelTurn, signals.Cancel{Cause: &session.Cause{Kind: session.CauseParent}, KeepInbox: e.KeepInbox}
}

// lookAtChild asks the server whether a child is still there. Who cannot say will be asked again.
func (a *agent) lookAtChild(e driver.LookAtChild) {
	ctx := workflow.WithActivityOptions(a.ctx, lookOptions(e.Child))
	f := workflow.ExecuteActivity(ctx, work.Look, work.LookIn{Session: e.Child})
	a.await("look", e.ID, func(ctx workflow.Context) driver.Input {
		var out work.LookOut
		if err := f.Get(ctx, &out); err != nil {
			workflow.GetLogger(ctx).Warn("child not seen", "child", e.Child, "error", err)
		}
		return driver.ChildSeen{ID: e.ID, Gone: out.Gone}
	})
}

// tellParent signals the owner before the run ends; one that is gone needs to know nothing.
func (a *agent) tellParent(e driver.TellParent) {
	a.open++
	news := NewsOf(a.driver.State().Session, e)
	workflow.GoNamed(a.ctx, "tell the parent", func(ctx workflow.Context) {
		defer func() { a.open-- }()
		if err := workflow.SignalExternalWorkflow(ctx, e.Parent, "", signals.ChildSays, news).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Info("parent not told", "parent", e.Parent, "error", err)
		}
	})
}

// NewsOf is what a parent is told, as a signal.
func NewsOf(child string, e driver.TellParent) signals.ChildNews {
	return signals.ChildNews{ID: child, Closed: e.Closed, Hash: e.Head.Hash, Count: e.Head.Count}
}
