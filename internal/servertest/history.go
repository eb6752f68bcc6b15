package servertest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/workflows"
)

// History is the whole history of one run of a workflow; an empty run is the latest one.
func History(ctx context.Context, c client.Client, id, run string) (*historypb.History, error) {
	h := &historypb.History{}
	for it := c.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
	return h, nil
}

// Replay replays a history of an agent as a worker of this tree would. It gives the replayer the id of the workflow: what an
// agent starts is named after it.
func Replay(h *historypb.History) error {
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Interceptors:             []interceptor.WorkerInterceptor{workflows.Interceptor(workflows.Options{})},
		DisableDeadlockDetection: true, // it measures time, and a busy machine is no defect
	})
	if err != nil {
		return err
	}
	workflows.Register(r)
	o := worker.ReplayWorkflowHistoryOptions{}
	if events := h.GetEvents(); len(events) > 0 {
		o.OriginalExecution.ID = events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
	}
	return r.ReplayWorkflowHistoryWithOptions(log.Silent(), h, o)
}

// What names the machine in a history.
var machine = regexp.MustCompile(`"(identity|name|normalName|workerInstanceKey|workerControlTaskQueue)":\s*"[^"]*[@:/][^"]*"`)

// WriteHistory writes a history without the names of the machine, as `temporal workflow show --output json` would.
func WriteHistory(file string, h *historypb.History) error {
	raw, err := protojson.Marshal(h)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(machine.ReplaceAll(raw, []byte(`"$1":"worker"`)), '\n'), 0o600)
}

// ReadHistory reads what [WriteHistory] wrote.
func ReadHistory(file string) (*historypb.History, error) {
	raw, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	h := &historypb.History{}
	return h, protojson.Unmarshal(raw, h)
}
