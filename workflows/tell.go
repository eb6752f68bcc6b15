package workflows

import (
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// tell starts the workflow that tells one thing. It belongs to nobody: whoever is told may be away for a day, and the agent
// moves on, or ends, meanwhile. Only its start is waited for.
func (a *agent) tell(e driver.Tell) {
	ctx := workflow.WithChildOptions(a.ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            e.In.ID,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         short(e.In.Kind + " of " + e.In.Ident.Session),
	})
	started := workflow.ExecuteChildWorkflow(ctx, signals.TellWorkflowType, e.In).GetChildWorkflowExecution()
	a.await("tell", e.In.ID, func(ctx workflow.Context) driver.Input {
		if err := started.Get(ctx, nil); err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			workflow.GetLogger(ctx).Warn("not told", "id", e.In.ID, "error", err)
		}
		return nil
	})
}

// Tell tells one thing: the index of what waits first, then every webhook, each with patience of its own. It fails if
// somebody could not be told, and says whom.
func Tell(ctx workflow.Context, in work.TellIn) (work.TellOut, error) {
	var out work.TellOut
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, tellOptions(in, in.Kind+" · index")), work.Tell, in).Get(ctx, &out); err != nil {
		return out, fmt.Errorf("keep the index: %w", err)
	}
	var calls []workflow.Future
	for _, t := range out.Targets {
		to := in
		to.Target = t.Key
		calls = append(calls, workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, tellOptions(in, in.Kind+" → "+t.Host)), work.Tell, to))
	}
	var failed []error
	for _, call := range calls {
		if err := call.Get(ctx, nil); err != nil {
			failed = append(failed, cause(err))
		}
	}
	return out, errors.Join(failed...)
}

// tellOptions are patient: what is told may be down for a day.
func tellOptions(in work.TellIn, summary string) workflow.ActivityOptions {
	return placed(in.Queue, workflow.ActivityOptions{StartToCloseTimeout: 15 * time.Second, ScheduleToCloseTimeout: 24 * time.Hour, Summary: short(summary),
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: work.TellPatience, MaximumAttempts: 1000}})
}
