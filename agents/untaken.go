package agents

import (
	"context"
	"encoding/json"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/everturn/everturn/signals"
)

// Untaken implements [Backend]: the signals after the last workflow task that a worker completed. Updates are accepted by
// workers only.
func (b *temporalBackend) Untaken(ctx context.Context, id string) (out []Untaken, err error) {
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: b.options.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id},
	}
	for {
		page, err := b.client.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, request)
		if err != nil {
			return nil, typed(err)
		}
		acts, done := untaken(page.GetHistory().GetEvents())
		out = append(out, acts...)
		if request.NextPageToken = page.GetNextPageToken(); done || len(request.NextPageToken) == 0 {
			slices.Reverse(out)
			return out, nil
		}
	}
}

// untaken reads a history backwards, newest event first; done says that a worker has taken what is older.
func untaken(events []*historypb.HistoryEvent) (out []Untaken, done bool) {
	for _, e := range events {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return out, true
		}
		s := e.GetWorkflowExecutionSignaledEventAttributes()
		if s == nil || !slices.Contains(signals.Acts, s.GetSignalName()) {
			continue
		}
		var raw json.RawMessage
		if in := s.GetInput().GetPayloads(); len(in) > 0 && converter.GetDefaultDataConverter().FromPayload(in[0], &raw) != nil {
			continue // not JSON: the agent will drop it
		}
		out = append(out, Untaken{Act: s.GetSignalName(), Payload: raw})
	}
	return out, false
}
