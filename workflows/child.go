package workflows

import (
	"encoding/json"
	"errors"

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
		StaticSummary:         childSummary(e, a.driver.State().Session),
	})
	child := workflow.ExecuteChildWorkflow(ctx, WorkflowType, createOf(e))
	a.starts[e.ID] = child.GetChildWorkflowExecution()
	a.await("child", e.ID, func(ctx workflow.Context) driver.Input {
		if err := a.starts[e.ID].Get(ctx, nil); err != nil {
			return driver.ChildFailed{ID: e.ID, Code: startFailure(err), Message: cause(err).Error()}
		}
		a.awaitEnd(e.ID, child)
		return driver.ChildStarted{ID: e.ID}
	})
}

// childSummary says what the child is for, or at least whose it is.
func childSummary(e driver.StartChild, parent string) string {
	if c, err := CreateOf(e); err == nil && (c.Title != "" || c.First != nil) {
		return c.Summary()
	}
	return short("child of " + parent)
}

// createOf is what a child is created with, and the bond between the two.
func createOf(e driver.StartChild) json.RawMessage {
	c, err := CreateOf(e)
	if err != nil {
		return e.Create // the child says what is wrong with it
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return e.Create
	}
	return raw
}

// CreateOf is what a child is created with, and the bond between the two.
func CreateOf(e driver.StartChild) (c signals.Create, err error) {
	err = json.Unmarshal(e.Create, &c)
	c.Bond = e.Bond
	return c, err
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

// say tells another agent something, after all that it was told before: two signals on their way at the same time may
// overtake each other.
func (a *agent) say(name, to string, tell func(workflow.Context)) {
	a.open++
	before := a.said[to]
	said, done := workflow.NewFuture(a.ctx)
	a.said[to] = said
	workflow.GoNamed(a.ctx, name, func(ctx workflow.Context) {
		if before != nil {
			_ = before.Get(ctx, nil) // it says nothing
		}
		tell(ctx)
		a.open--
		done.SetValue(nil)
	})
}

// tellChild signals a child, as soon as it is started. One that is not there to be signalled is gone.
func (a *agent) tellChild(e driver.TellChild) {
	a.say("tell "+e.Child, e.Child, func(ctx workflow.Context) {
		if started := a.starts[e.ID]; started != nil && started.Get(ctx, nil) != nil {
			return // it says so itself
		}
		name, payload := TellingOf(e)
		err := workflow.SignalExternalWorkflow(ctx, e.Child, "", name, payload).Get(ctx, nil)
		var unknown *temporal.UnknownExternalWorkflowExecutionError
		switch {
		case errors.As(err, &unknown):
			a.queue.push(item{input: driver.ChildClosed{ID: e.ID, Message: "it is not there"}})
		case err != nil:
			workflow.GetLogger(ctx).Warn("child not told", "child", e.Child, "act", e.Act, "error", err)
		}
	})
}

// TellingOf is what a child is told, as a signal.
func TellingOf(e driver.TellChild) (name string, payload any) {
	if e.Act == driver.ActDispose {
		return signals.DisposeAgent, signals.Dispose{Bond: e.Bond}
	}
	return signals.CancelTurn, signals.Cancel{Cause: &session.Cause{Kind: session.CauseParent}, KeepInbox: e.KeepInbox, Bond: e.Bond}
}

// lookAtChild asks the server whether a child is still there. Who cannot say will be asked again.
func (a *agent) lookAtChild(e driver.LookAtChild) {
	ctx := workflow.WithActivityOptions(a.ctx, lookOptions(e.Child))
	f := workflow.ExecuteActivity(ctx, work.Look, work.LookIn{Session: e.Child, Parent: a.driver.State().Session})
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
	news := NewsOf(a.driver.State().Session, e)
	a.say("tell the parent", e.Parent, func(ctx workflow.Context) {
		if err := workflow.SignalExternalWorkflow(ctx, e.Parent, "", signals.ChildSays, news).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Info("parent not told", "parent", e.Parent, "error", err)
		}
	})
}

// NewsOf is what a parent is told, as a signal.
func NewsOf(child string, e driver.TellParent) signals.ChildNews {
	return signals.ChildNews{ID: child, Bond: e.Bond, Closed: e.Closed, Hash: e.Head.Hash, Count: e.Head.Count}
}
