package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/everturn/everturn/signals"
)

// History implements [Backend].
func (b *temporalBackend) History(ctx context.Context, id string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		request := &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: b.options.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id},
		}
		for {
			page, err := b.client.WorkflowService().GetWorkflowExecutionHistory(ctx, request)
			if err != nil {
				yield(nil, typed(err))
				return
			}
			for _, e := range page.GetHistory().GetEvents() {
				if data, err := e.Marshal(); !yield(data, err) || err != nil {
					return
				}
			}
			if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return
			}
		}
	}
}

// Forget implements [Backend].
func (b *temporalBackend) Forget(ctx context.Context, id string) error {
	runs, err := b.runsOf(ctx, id)
	if err != nil {
		return typed(err)
	}
	for _, run := range runs {
		_, err := b.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: b.options.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		})
		if err = typed(err); err != nil && !errors.Is(err, ErrUnknownAgent) {
			return fmt.Errorf("delete run %s: %w", run, err)
		}
	}
	return b.forgetTold(ctx, id)
}

// runsOf are the runs of an id, the last one first. To delete a run that is open would terminate it, so each is looked at.
func (b *temporalBackend) runsOf(ctx context.Context, id string) (runs []string, err error) {
	candidates := []string{""} // the last one, also if the index does not list it yet
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: b.options.Namespace, PageSize: 200,
		Query: fmt.Sprintf("WorkflowId = '%s' AND WorkflowType = '%s'", strings.ReplaceAll(id, "'", "''"), signals.WorkflowType)}
	for {
		page, err := b.client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, info := range page.GetExecutions() {
			candidates = append(candidates, info.GetExecution().GetRunId())
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	seen := map[string]bool{}
	for _, run := range candidates {
		d, err := b.client.DescribeWorkflow(ctx, id, run)
		if errors.Is(typed(err), ErrUnknownAgent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		info := d.RawResponse.GetWorkflowExecutionInfo()
		if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return nil, ErrExists
		}
		if run = info.GetExecution().GetRunId(); !seen[run] {
			seen[run] = true
			runs = append(runs, run)
		}
	}
	return runs, nil
}
