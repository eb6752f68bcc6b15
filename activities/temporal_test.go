package activities

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
)

// onTemporal registers a bench's activities as a worker would.
func onTemporal(t *testing.T) (*bench, *testsuite.TestActivityEnvironment) {
	t.Helper()
	b := newBench(t)
	d := &plugin.Definition{Name: agent, Provider: "scripted", Model: "test"}
	a, err := New(OnTemporal(Config{Store: b.store, Registry: b.a.Registry, Definitions: []*plugin.Definition{d}}))
	require.NoError(t, err)
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivity(a)
	return b, env
}

func TestTheActivitiesRunOnTemporal(t *testing.T) {
	t.Parallel()
	b, env := onTemporal(t)
	value, err := env.ExecuteActivity(work.Setup, b.birth())
	require.NoError(t, err)
	var born work.SetupOut
	require.NoError(t, value.Get(&born))
	require.Equal(t, b.store.ID(), born.Store)

	b.say("a")
	value, err = env.ExecuteActivity(work.Step, b.in())
	require.NoError(t, err)
	var out work.StepOut
	require.NoError(t, value.Get(&out))
	require.Equal(t, work.StepMessage, out.Outcome)
	require.Equal(t, 1, out.Execution)
}

func TestARefusalIsNotRetriedByTemporal(t *testing.T) {
	t.Parallel()
	b, env := onTemporal(t)
	in := b.birth()
	in.Spec.MaxTokens = -1
	_, err := env.ExecuteActivity(work.Setup, in)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.True(t, app.NonRetryable())
	require.Equal(t, work.ErrInvalidSpec, app.Type())
	require.Contains(t, app.Message(), "maxTokens is -1")
}

func TestOnlyACancellationIsACancel(t *testing.T) { // A3.15
	t.Parallel()
	for name, c := range map[string]struct {
		cause   error
		stopped bool
	}{
		"cancelled": {temporal.NewCanceledError(), false},
		"paused":    {activity.ErrActivityPaused, true},
		"reset":     {activity.ErrActivityReset, true},
		"shut down": {errors.New("worker shutdown"), true},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		require.NoError(t, stoppedByTemporal(ctx))
		cancel(c.cause)
		err := stoppedByTemporal(ctx)
		require.Equal(t, c.stopped, err != nil, name)
		var app *temporal.ApplicationError
		if c.stopped {
			require.ErrorAs(t, err, &app)
			require.Equal(t, ErrTypeStopped, app.Type())
			require.False(t, app.NonRetryable())
		}
	}
}

// service serves pages of a history, newest event first.
type service struct {
	workflowservice.WorkflowServiceClient
	pages [][]*historypb.HistoryEvent
	err   error
}

func (s service) GetWorkflowExecutionHistoryReverse(_ context.Context, in *workflowservice.GetWorkflowExecutionHistoryReverseRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	if s.err != nil {
		return nil, s.err
	}
	page := len(in.NextPageToken) // one byte a page
	out := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &historypb.History{Events: s.pages[min(page, len(s.pages)-1)]}}
	if page+1 < len(s.pages) {
		out.NextPageToken = make([]byte, page+1)
	}
	return out, nil
}

func TestTheHistoryIsReadBackwards(t *testing.T) { // A3.9
	t.Parallel()
	other := &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED}
	asked := &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{
			WorkflowExecutionCancelRequestedEventAttributes: &historypb.WorkflowExecutionCancelRequestedEventAttributes{
				Cause: "enough", Identity: "ann", ExternalWorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "parent"},
			},
		},
	}
	endless := make([][]*historypb.HistoryEvent, historyPages+1)
	for i := range endless {
		endless[i] = []*historypb.HistoryEvent{other}
	}
	for name, c := range map[string]struct {
		service service
		want    CancelRequest
		found   bool
		err     string
	}{
		"on a later page": {service{pages: [][]*historypb.HistoryEvent{{other}, {other, asked}}}, CancelRequest{"enough", "ann", "parent"}, true, ""},
		"nowhere":         {service{pages: [][]*historypb.HistoryEvent{{other}}}, CancelRequest{}, false, ""},
		"unreadable":      {service{err: errors.New("offline")}, CancelRequest{}, false, "history of w: offline"},
		"too far back":    {service{pages: endless}, CancelRequest{}, false, "too long"},
	} {
		r, found, err := History{Service: c.service}.CancelRequest(t.Context(), "w", "r")
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, r, name)
		require.Equal(t, c.found, found, name)
	}
}
