package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/everturn/everturn/workflows"
)

// histories is where the histories of the tests are kept, to become those that must replay for ever: see
// workflows/testdata/history.
var histories = flag.String("histories", "", "write the Temporal histories of the tests to this folder")

// replay replays every run of an agent from its history. See house style 19.
func (p *place) replay(id string) {
	p.t.Helper()
	for n, h := range p.runs(id) {
		require.NoError(p.t, replayer(p.t).ReplayWorkflowHistory(silent{}, h), "run %d of %s", n+1, id)
		keep(p.t, h, n)
	}
}

func replayer(t *testing.T) worker.WorkflowReplayer {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Interceptors:             []interceptor.WorkerInterceptor{workflows.Interceptor(workflows.Options{})},
		DisableDeadlockDetection: true, // it measures time, and a busy machine is no defect
	})
	require.NoError(t, err)
	workflows.Register(r)
	return r
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

// What names the machine in a history.
var machine = regexp.MustCompile(`"(identity|name|normalName|workerInstanceKey|workerControlTaskQueue)":\s*"[^"]*[@:/][^"]*"`)

// keep writes a history without the names of the machine.
func keep(t *testing.T, h *historypb.History, n int) {
	t.Helper()
	if *histories == "" {
		return
	}
	raw, err := protojson.MarshalOptions{Indent: " "}.Marshal(h)
	require.NoError(t, err)
	raw = machine.ReplaceAll(raw, []byte(`"$1": "worker"`))
	name := filepath.Join(*histories, filepath.Base(t.Name())+"-"+string(rune('1'+n))+".json")
	require.NoError(t, os.WriteFile(name, raw, 0o600))
}
