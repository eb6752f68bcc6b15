package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/everturn/everturn/signals"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// TemporalOptions refine [Temporal].
type TemporalOptions struct {
	TaskQueue string // signals.DefaultTaskQueue if empty
	Namespace string // of the client; "default" if empty
	// Local says that the workers are on this machine, as beside a development server: one whose process is gone does not
	// count, though the server lists it for a while.
	Local bool
	// AnswerIn is how long a worker may take to answer a query or an act before [ErrNoWorker]; 10 s if zero.
	AnswerIn time.Duration
}

// Temporal is the backend that carries acts to a Temporal server.
func Temporal(c client.Client, o TemporalOptions) Backend {
	if o.TaskQueue == "" {
		o.TaskQueue = signals.DefaultTaskQueue
	}
	if o.AnswerIn == 0 {
		o.AnswerIn = 10 * time.Second
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	return &temporalBackend{client: c, options: o}
}

type temporalBackend struct {
	client  client.Client
	options TemporalOptions
}

func (b *temporalBackend) Start(ctx context.Context, id string, c signals.Create) error {
	_, err := b.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: b.options.TaskQueue, StaticSummary: c.Summary(),
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, signals.WorkflowType, c)
	return typed(err)
}

func (b *temporalBackend) Signal(ctx context.Context, id, act string, payload any) error {
	return typed(b.client.SignalWorkflow(ctx, id, "", act, payload))
}

func (b *temporalBackend) Update(ctx context.Context, id, name string, payload, out any) error {
	ctx, cancel := context.WithTimeout(ctx, b.options.AnswerIn)
	defer cancel()
	err := b.update(ctx, id, name, payload, out)
	for letGo(ctx, err) {
		select {
		case <-ctx.Done():
		case <-time.After(queryPause):
		}
		err = b.update(ctx, id, name, payload, out)
	}
	if deserted(ctx, err) {
		return fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	return typed(err)
}

func (b *temporalBackend) update(ctx context.Context, id, name string, payload, out any) error {
	handle, err := b.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: []any{payload}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, out)
}

// letGo reports an update that the server let go of before the run took it, because the task that it came with failed: as
// when a signal arrives while the run is being renewed. Nothing has happened then.
func letGo(ctx context.Context, err error) bool {
	var notReady *serviceerror.WorkflowNotReady
	return ctx.Err() == nil && errors.As(err, &notReady)
}

// deserted reports an answer that the server broke off, and not the caller: the worker that was to give it has stopped.
func deserted(ctx context.Context, err error) bool {
	var canceled *serviceerror.Canceled
	return ctx.Err() == nil && errors.As(err, &canceled)
}

// queryPause is how long what was let go of waits until it is asked again.
const queryPause = 50 * time.Millisecond

func (b *temporalBackend) Query(ctx context.Context, id, name string, arg, out any) error {
	ctx, cancel := context.WithTimeout(ctx, b.options.AnswerIn)
	defer cancel()
	var args []any
	if arg != nil {
		args = append(args, arg)
	}
	value, err := b.client.QueryWorkflow(ctx, id, "", name, args...)
	for deserted(ctx, err) {
		select {
		case <-ctx.Done():
		case <-time.After(queryPause):
		}
		value, err = b.client.QueryWorkflow(ctx, id, "", name, args...)
	}
	if err != nil {
		return typed(err)
	}
	return value.Get(out)
}

func (b *temporalBackend) Describe(ctx context.Context, id string) (Run, error) {
	d, err := b.client.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return Run{}, typed(err)
	}
	info := d.RawResponse.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != signals.WorkflowType {
		return Run{}, ErrUnknownAgent
	}
	said := listed(info)
	run := Run{ID: info.GetExecution().GetRunId(), Open: info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, Status: statusName(info.GetStatus()), Started: said.Started, Said: said}
	if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_FAILED {
		run.Code, run.Reason = b.failure(ctx, id)
	}
	return run, nil
}

// failure reads why a run failed.
func (b *temporalBackend) failure(ctx context.Context, id string) (code, reason string) {
	err := b.client.GetWorkflow(ctx, id, "").Get(ctx, nil)
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type(), app.Message()
	}
	if err != nil {
		return "UNKNOWN", err.Error()
	}
	return "", ""
}

func statusName(s enumspb.WorkflowExecutionStatus) string {
	return strings.ToLower(s.String())
}

// List puts the agents into their order itself: the server knows only when their current runs began.
func (b *temporalBackend) List(ctx context.Context) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		all, err := b.list(ctx)
		if err != nil {
			yield(Listed{}, err)
			return
		}
		slices.SortStableFunc(all, func(x, y Listed) int { return y.Started.Compare(x.Started) })
		for _, l := range all {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (b *temporalBackend) list(ctx context.Context) (all []Listed, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: b.options.Namespace, PageSize: 1000, Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus != 'ContinuedAsNew'", signals.WorkflowType),
	}
	seen := map[string]bool{}
	for {
		page, err := b.client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, typed(err)
		}
		for _, info := range page.GetExecutions() {
			if id := info.GetExecution().GetWorkflowId(); !seen[id] { // else another agent had the id before
				seen[id] = true
				all = append(all, listed(info))
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return all, nil
		}
	}
}

func listed(info *workflowpb.WorkflowExecutionInfo) Listed {
	attrs := info.GetSearchAttributes().GetIndexedFields()
	l := Listed{ID: info.GetExecution().GetWorkflowId(), Status: statusName(info.GetStatus()), Started: info.GetStartTime().AsTime()}
	if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		l.Open = true
		l.Status = "idle" // before its first transition
		read(attrs[signals.AttrStatus], &l.Status)
		read(attrs[signals.AttrWaiting], &l.Waiting)
	}
	read(attrs[signals.AttrDefinition], &l.Definition)
	read(attrs[signals.AttrModel], &l.Model)
	read(attrs[signals.AttrParent], &l.Parent)
	read(attrs[signals.AttrTurn], &l.Turn)
	read(attrs["TemporalWorkerDeploymentVersion"], &l.Version)
	memo := info.GetMemo().GetFields()
	read(memo[signals.MemoMetadata], &l.Metadata)
	if born := int64(0); memo[signals.MemoBorn] != nil {
		read(memo[signals.MemoBorn], &born)
		l.Started = time.UnixMilli(born).UTC()
	}
	if l.Parent == "" { // before its first transition, or where the attributes are not registered
		l.Parent = info.GetParentExecution().GetWorkflowId()
	}
	return l
}

// read decodes a search attribute; an absent or odd one leaves the value as it is.
func read(p *commonpb.Payload, into any) {
	if p != nil {
		_ = converter.GetDefaultDataConverter().FromPayload(p, into)
	}
}

// pollsWithin is how recently a living worker must have polled: a poll waits for at most a minute.
const pollsWithin = 75 * time.Second

func (b *temporalBackend) Workers(ctx context.Context) (bool, error) {
	return b.polled(ctx, b.options.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
}

// gone reports whether a worker was a process of this machine that has ended. The SDK names a worker PID@HOST@….
func gone(identity string) bool {
	pid, rest, _ := strings.Cut(identity, "@")
	host, _, _ := strings.Cut(rest, "@")
	n, err := strconv.Atoi(pid)
	if own, unnamed := os.Hostname(); err != nil || unnamed != nil || host != own {
		return false
	}
	process, err := os.FindProcess(n)
	return err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// typed maps Temporal's errors to the ones callers decide by.
func typed(err error) error {
	var (
		notFound *serviceerror.NotFound
		started  *serviceerror.WorkflowExecutionAlreadyStarted
		app      *temporal.ApplicationError
		deadline *serviceerror.DeadlineExceeded
		failed   *serviceerror.QueryFailed

		precondition *serviceerror.FailedPrecondition
		argument     *serviceerror.InvalidArgument
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &started):
		return ErrExists
	case errors.As(err, &notFound):
		if strings.Contains(notFound.Message, "already completed") {
			return ErrClosed
		}
		return ErrUnknownAgent
	case errors.As(err, &app) && app.Type() == signals.ErrInvalid:
		return &RefusedError{Code: signals.ErrInvalid, Message: app.Message()}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &deadline):
		return fmt.Errorf("%w in time: %w", ErrNoWorker, err)
	case errors.As(err, &failed):
		return fmt.Errorf("query: %s", failed.Message)
	case errors.As(err, &precondition) && strings.Contains(precondition.Message, "no poller"):
		return fmt.Errorf("%w: %w", ErrNoWorker, err)
	case errors.As(err, &precondition) && strings.Contains(precondition.Message, "total number of distinct updates"):
		return runFull("updates")
	case errors.As(err, &argument) && strings.Contains(argument.Message, "limit for signal events"):
		return runFull("signals")
	default:
		return err
	}
}

// runFull is the refusal of a server that counts what a run gets. An agent moves to another run before that, unless
// something runs that it cannot leave.
func runFull(what string) error {
	return &RefusedError{Code: signals.ErrRunFull, Message: "the server takes no more " + what + " for this run of the agent, which moves to another one as soon as its current step or tool call ends: try again then"}
}
