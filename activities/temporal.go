package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// OnTemporal fills in what activities need of Temporal: heartbeats, the number of the attempt, non-retryable errors, and
// what an ended context means. Fields that are set stay.
func OnTemporal(c Config) Config {
	if c.Heartbeat == nil {
		c.Heartbeat = func(ctx context.Context) { activity.RecordHeartbeat(ctx) }
	}
	if c.Execution == nil {
		c.Execution = func(ctx context.Context) int { return int(activity.GetInfo(ctx).Attempt) }
	}
	if c.Stopped == nil {
		c.Stopped = stoppedByTemporal
	}
	if c.Refuse == nil {
		c.Refuse = func(kind string, err error) error {
			return temporal.NewNonRetryableApplicationError(err.Error(), kind, err)
		}
	}
	if c.Later == nil {
		c.Later = func(err error, after time.Duration) error {
			return temporal.NewApplicationErrorWithOptions(err.Error(), ErrTypeUntold, temporal.ApplicationErrorOptions{NextRetryDelay: after})
		}
	}
	if c.Log == nil {
		c.Log = func(ctx context.Context, msg string, kv ...any) { activity.GetLogger(ctx).Warn(msg, kv...) }
	}
	return c
}

// ErrTypeUntold is the type of the retryable error of somebody who could not be told.
const ErrTypeUntold = "NOT_TOLD"

// ErrTypeStopped is the type of the retryable error of an activity that was stopped without being cancelled: its worker
// shuts down, or it was paused, reset or timed out.
const ErrTypeStopped = "WORKER_DRAINING"

// stoppedByTemporal tells the agent's cancel from every other end of an activity's context. [ErrTypeStopped]
func stoppedByTemporal(ctx context.Context) error {
	cause := context.Cause(ctx)
	if ctx.Err() == nil {
		return nil
	}
	if temporal.IsCanceledError(cause) {
		if cause = abandoned(ctx); cause == nil {
			return nil
		}
	}
	return temporal.NewApplicationErrorWithCause("the activity was stopped, not cancelled: "+cause.Error(), ErrTypeStopped, cause)
}

// askPatience is how long the server is asked whether a cancelled activity is still wanted.
const askPatience = time.Second

// abandoned asks the server whether anybody still waits for a cancelled activity: it pushes the same cancellation when the
// run is over, terminated or reset, and then nobody cancelled what the agent does. Without an answer it counts as a cancel.
func abandoned(ctx context.Context) error {
	if !activity.IsActivity(ctx) || activity.GetInfo(ctx).IsLocalActivity {
		return nil
	}
	info := activity.GetInfo(ctx)
	ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), askPatience)
	defer cancel()
	_, err := activity.GetClient(ctx).WorkflowService().RecordActivityTaskHeartbeat(ask,
		&workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: info.Namespace, TaskToken: info.TaskToken})
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return err
	}
	return nil
}

// A History reads cancellations from a Temporal namespace.
type History struct {
	Service   workflowservice.WorkflowServiceClient
	Namespace string
}

var _ HistoryReader = History{}

var _ RunReader = History{}

// IsChild implements [RunReader]. A session that was resumed has no parent.
func (h History) IsChild(ctx context.Context, workflowID, parent string) (bool, error) {
	d, err := h.Service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: h.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID}})
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return false, nil
	}
	info := d.GetWorkflowExecutionInfo()
	return info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && info.GetParentExecution().GetWorkflowId() == parent, err
}

// historyPages bounds how far back a history is searched.
const historyPages = 20

// CancelRequest implements [HistoryReader]. It reads backwards: the request is among the latest events.
func (h History) CancelRequest(ctx context.Context, workflowID, runID string) (CancelRequest, bool, error) {
	req := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: h.Namespace,
		Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
	}
	for range historyPages {
		page, err := h.Service.GetWorkflowExecutionHistoryReverse(ctx, req)
		if err != nil {
			return CancelRequest{}, false, fmt.Errorf("history of %s: %w", workflowID, err)
		}
		for _, e := range page.GetHistory().GetEvents() {
			if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED {
				return cancelRequest(e), true, nil
			}
		}
		if req.NextPageToken = page.GetNextPageToken(); len(req.NextPageToken) == 0 {
			return CancelRequest{}, false, nil
		}
	}
	return CancelRequest{}, false, errors.New("the history is too long to be searched for a cancellation")
}

func cancelRequest(e *historypb.HistoryEvent) CancelRequest {
	attrs := e.GetWorkflowExecutionCancelRequestedEventAttributes()
	return CancelRequest{
		Reason: attrs.GetCause(), Identity: attrs.GetIdentity(),
		Workflow: attrs.GetExternalWorkflowExecution().GetWorkflowId(),
	}
}
