package e2e

import (
	"flag"
	"fmt"
	"path/filepath"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/everturn/everturn/internal/servertest"
)

// histories is where the histories of the tests are kept, to become those that must replay for ever: see
// workflows/testdata/history.
var histories = flag.String("histories", "", "write the Temporal histories of the tests to this folder")

// replay replays every run of an agent from its history. See house style 19.
func (p *place) replay(id string) {
	p.t.Helper()
	for n, h := range p.runs(id) {
		if len(h.GetEvents()) < 3 {
			continue // no worker has looked at it yet
		}
		require.NoError(p.t, servertest.Replay(h), "run %d of %s", n+1, id)
		if *histories != "" {
			name := fmt.Sprintf("%s-%d.json", filepath.Base(p.t.Name()), n+1)
			require.NoError(p.t, servertest.WriteHistory(filepath.Join(*histories, name), h))
		}
	}
}

// runs are the histories of all runs of an agent, the first one first. After a reset the last one is not in the chain of
// those that continued one another.
func (p *place) runs(id string) []*historypb.History {
	p.t.Helper()
	d, err := p.sdk.DescribeWorkflow(p.t.Context(), id, "")
	require.NoError(p.t, err)
	var out []*historypb.History
	reached := d.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId() == d.WorkflowExecution.RunID
	for run := d.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId(); run != ""; {
		h := p.history(id, run)
		out = append(out, h)
		last := h.GetEvents()[len(h.GetEvents())-1]
		run = ""
		if last.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
			run = last.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
		reached = reached || run == d.WorkflowExecution.RunID
	}
	if !reached {
		out = append(out, p.history(id, d.WorkflowExecution.RunID))
	}
	return out
}
