package inworkflow

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Options say which agent is meant, and for [Start] what it is created with.
type Options struct {
	ID            string // session id, which is the workflow id; Start makes one up if empty
	TaskQueue     string // of the workers that run the agent; signals.DefaultTaskQueue if empty
	WhenCancelled Act    // what [Agent.Release] does

	// Create is for Start alone. Definition is required; what says whose the agent is, First, Resume and Fork are left out.
	Create signals.Create
}

// An Act is what becomes of an agent whose workflow is cancelled.
type Act string

// The acts.
const (
	LeaveIt Act = ""        // it goes on, and nobody waits for it
	StopIt  Act = "cancel"  // its turn is cancelled, with cause parent; the agent stays
	EndIt   Act = "dispose" // it ends; its log stays
)

// Start starts an agent as a child workflow and returns when it is born. If it cannot be, nothing of it stays. It goes on
// when this workflow ends or continues as new, until someone ends it. If ctx is cancelled meanwhile, it is disposed of.
func Start(ctx workflow.Context, o Options) (Agent, error) {
	if err := ctx.Err(); err != nil {
		return Agent{}, err
	}
	if err := o.validate(); err != nil {
		return Agent{}, err
	}
	free, _ := workflow.NewDisconnectedContext(ctx) // a cancellation must not end it on its own
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(free, workflow.ChildWorkflowOptions{
		WorkflowID: o.ID, TaskQueue: o.queue(), StaticSummary: o.Create.Summary(),
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}), signals.WorkflowType, o.owned(workflow.GetInfo(ctx).WorkflowExecution.ID))
	var started workflow.Execution
	if err := child.GetChildWorkflowExecution().Get(free, &started); err != nil {
		if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return Agent{}, &Error{Agent: o.ID, Code: codeExists, Message: "a workflow of this id is live: choose another id"}
		}
		return Agent{}, refusal(o.ID, err)
	}
	a := o.agent(started.ID)
	if _, err := a.wait(ctx, ""); err != nil {
		if ctx.Err() != nil {
			_ = a.Dispose(ctx) // the caller is told of the cancellation
		}
		return Agent{}, taken(err)
	}
	return a, nil
}

const (
	codeExists = "SESSION_ALREADY_EXISTS" // an id that is taken, everywhere
	codeFenced = "FENCED"                 // a birth whose log is somebody else's
)

// taken gives the code to a refusal because of the log of an agent that has ended.
func taken(err error) error {
	var refused *Error
	if errors.As(err, &refused) && refused.Code == codeFenced {
		return &Error{Agent: refused.Agent, Code: codeExists, Message: "the log of an agent that has ended is in the store: choose another id"}
	}
	return err
}

// Get takes a live agent that somebody else created. It does not say when it is idle, so an answer may be noticed up to a
// minute late.
func Get(ctx workflow.Context, o Options) (Agent, error) {
	if err := ctx.Err(); err != nil {
		return Agent{}, err
	}
	if !session.ValidID(o.ID) {
		return Agent{}, invalidID(o.ID)
	}
	a := o.agent(o.ID)
	_, err := a.wait(ctx, "")
	var stillborn *Error
	switch {
	case errors.As(err, &stillborn):
		return Agent{}, &Error{Agent: o.ID, Code: signals.ErrGone, Message: stillborn.Message}
	case err != nil:
		return Agent{}, err
	}
	return a, nil
}

func (o Options) agent(id string) Agent {
	return Agent{ID: id, TaskQueue: o.queue(), WhenCancelled: o.WhenCancelled}
}

func (o Options) queue() string {
	if o.TaskQueue == "" {
		return signals.DefaultTaskQueue
	}
	return o.TaskQueue
}

// owned is what the agent is created with: it belongs to the workflow and reports to it.
func (o Options) owned(workflowID string) signals.Create {
	c := o.Create
	c.Parent, c.Owned, c.Reports = workflowID, true, true
	return c
}

// validate refuses what could not even be sent; the rest is for a worker to say, who knows the definition.
func (o Options) validate() error {
	c := o.Create
	invalid := func(code, format string, args ...any) error {
		return &Error{Agent: o.ID, Code: code, Message: fmt.Sprintf(format, args...)}
	}
	if o.ID != "" && !session.ValidID(o.ID) {
		return invalidID(o.ID)
	}
	switch {
	case c.Definition == "":
		return invalid(signals.ErrInvalid, "no definition is named: set Create.Definition")
	case c.Parent != "" || c.Owned || c.Reports || c.Bond != "":
		return invalid(signals.ErrInvalid, "Parent, Owned, Reports and Bond are set by Start: leave them out")
	case c.First != nil || c.Resume != nil || c.Fork != nil:
		return invalid(signals.ErrInvalid, "First, Resume and Fork are no part of Start: send a message when the agent is born")
	case o.WhenCancelled != LeaveIt && o.WhenCancelled != StopIt && o.WhenCancelled != EndIt:
		return invalid(signals.ErrInvalid, "WhenCancelled is %q: use LeaveIt, StopIt or EndIt", o.WhenCancelled)
	}
	raw, err := json.Marshal(c)
	switch {
	case err != nil:
		return invalid(signals.ErrInvalidSpec, "what the agent is created with is not JSON: %v", err)
	case len(raw) > signals.MaxRecorded:
		return invalid(signals.ErrInvalidSpec, "what the agent is created with takes %d bytes: at most %d are kept", len(raw), signals.MaxRecorded)
	}
	return nil
}

func invalidID(id string) error {
	return &Error{Agent: id, Code: signals.ErrInvalid, Message: "the id must be 1–200 characters without control characters"}
}
