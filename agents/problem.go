package agents

import (
	"context"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// A Problem is why an open run does not go on, as far as whoever runs it knows: nobody takes a task, or a task fails and is
// tried again.
type Problem struct {
	Task    string    `json:"task"`              // type of the activity, such as Step or Tool, or `workflow task`
	Queue   string    `json:"queue,omitempty"`   // that no worker polls
	Attempt int       `json:"attempt,omitempty"` // the next one, or the one that runs; 0: none has failed
	Next    time.Time `json:"next,omitzero"`     // when it begins, if it waits
	Failure string    `json:"failure,omitempty"` // of the attempt before
	Paused  bool      `json:"paused,omitempty"`  // by hand
}

// String says it in one line.
func (p Problem) String() string {
	var parts []string
	if p.Paused {
		parts = append(parts, "paused by hand")
	}
	if p.Queue != "" {
		parts = append(parts, fmt.Sprintf("no worker polls task queue %s", p.Queue))
	}
	if p.Attempt > 1 {
		text := fmt.Sprintf("attempt %d", p.Attempt)
		if !p.Next.IsZero() {
			text += " at " + p.Next.UTC().Format(time.RFC3339)
		}
		if p.Failure != "" {
			text += " after: " + p.Failure
		}
		parts = append(parts, text)
	}
	return p.Task + ": " + strings.Join(parts, "; ")
}

func (b *temporalBackend) Problems(ctx context.Context, id string) ([]Problem, error) {
	described, err := b.client.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return nil, typed(err)
	}
	d := described.RawResponse
	var out []Problem
	for _, activity := range d.GetPendingActivities() {
		p, err := b.hindered(ctx, activity)
		if err != nil {
			return nil, err
		}
		if p.Queue != "" || p.Paused || p.Attempt > 1 {
			out = append(out, p)
		}
	}
	task := d.GetPendingWorkflowTask()
	if task == nil {
		return out, nil
	}
	p := Problem{Task: "workflow task", Attempt: int(task.GetAttempt())}
	if task.GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED {
		polled, err := b.polled(ctx, b.options.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
		if err != nil {
			return nil, err
		}
		if !polled {
			p.Queue = b.options.TaskQueue
		}
	}
	if p.Attempt > 1 {
		p.Failure = b.failedTask(ctx, d.GetWorkflowExecutionInfo())
	}
	if p.Queue != "" || p.Attempt > 1 {
		out = append(out, p)
	}
	return out, nil
}

func (b *temporalBackend) hindered(ctx context.Context, a *workflowpb.PendingActivityInfo) (Problem, error) {
	p := Problem{Task: a.GetActivityType().GetName(), Attempt: int(a.GetAttempt()), Paused: a.GetPaused(),
		Failure: oneLine(a.GetLastFailure().GetMessage()), Next: a.GetNextAttemptScheduleTime().AsTime()}
	if a.GetNextAttemptScheduleTime() == nil {
		p.Next = time.Time{}
	}
	if a.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED || !p.Next.IsZero() {
		return p, nil
	}
	queue := a.GetActivityOptions().GetTaskQueue().GetName()
	if queue == "" {
		queue = b.options.TaskQueue
	}
	polled, err := b.polled(ctx, queue, enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	if !polled {
		p.Queue = queue
	}
	return p, err
}

// failedTask is why the last workflow task failed, from the end of the history.
func (b *temporalBackend) failedTask(ctx context.Context, run *workflowpb.WorkflowExecutionInfo) string {
	page, err := b.client.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: b.options.Namespace, Execution: run.GetExecution(), MaximumPageSize: 20})
	if err != nil {
		return "" // it only explains
	}
	for _, e := range page.GetHistory().GetEvents() {
		if f := e.GetWorkflowTaskFailedEventAttributes(); f != nil {
			return oneLine(f.GetFailure().GetMessage())
		}
	}
	return ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// polled reports whether a living worker polls a queue.
func (b *temporalBackend) polled(ctx context.Context, queue string, kind enumspb.TaskQueueType) (bool, error) {
	d, err := b.client.DescribeTaskQueue(ctx, queue, kind)
	if err != nil {
		return false, typed(err)
	}
	for _, p := range d.GetPollers() {
		if b.lives(p) {
			return true, nil
		}
	}
	return false, nil
}

func (b *temporalBackend) lives(p *taskqueuepb.PollerInfo) bool {
	return time.Since(p.GetLastAccessTime().AsTime()) < pollsWithin && !(b.options.Local && gone(p.GetIdentity()))
}
