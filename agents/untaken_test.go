package agents

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
)

func signalled(t *testing.T, name string, payload any) *historypb.HistoryEvent {
	t.Helper()
	in, err := converter.GetDefaultDataConverter().ToPayloads(payload)
	require.NoError(t, err)
	return &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: name, Input: in}}}
}

func TestWhatNoWorkerHasTakenIsReadBackToTheLastCompletedTask(t *testing.T) {
	t.Parallel()
	broken := signalled(t, "steer", "x")
	broken.GetWorkflowExecutionSignaledEventAttributes().Input = &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte("{")}}}
	newestFirst := []*historypb.HistoryEvent{
		signalled(t, "inject", map[string]string{"text": "late"}),
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED}, // a worker that died took nothing
		broken, signalled(t, "somebody else's", 1),
		signalled(t, "followup", "early"),
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED},
		signalled(t, "followup", "taken"),
	}
	acts, done := untaken(newestFirst)
	require.True(t, done)
	require.Equal(t, []Untaken{{"inject", json.RawMessage(`{"text":"late"}`)}, {"followup", json.RawMessage(`"early"`)}}, acts)
	acts, done = untaken(newestFirst[:2])
	require.False(t, done, "the next page may have more")
	require.Len(t, acts, 1)
}
