package agents

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/everturn/everturn/signals"
)

// ofTelling is what follows the agent's id in that of a workflow that told something about it: another agent's id may begin
// with the same.
var ofTelling = regexp.MustCompile(`^/tell/\d+\.tell-\d+$`)

// forgetTold deletes the workflows that told what happened to an agent: they hold what was told. One that still tries ends.
func (b *temporalBackend) forgetTold(ctx context.Context, id string) error {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: b.options.Namespace, PageSize: 200,
		Query: fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s/tell/'", signals.TellWorkflowType, strings.ReplaceAll(id, "'", "''"))}
	for {
		page, err := b.client.ListWorkflow(ctx, request)
		if err != nil {
			return typed(err)
		}
		for _, info := range page.GetExecutions() {
			if rest, ok := strings.CutPrefix(info.GetExecution().GetWorkflowId(), id); !ok || !ofTelling.MatchString(rest) {
				continue
			}
			_, err := b.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: b.options.Namespace, WorkflowExecution: info.GetExecution()})
			if err = typed(err); err != nil && !errors.Is(err, ErrUnknownAgent) {
				return fmt.Errorf("delete %s: %w", info.GetExecution().GetWorkflowId(), err)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return nil
		}
	}
}
