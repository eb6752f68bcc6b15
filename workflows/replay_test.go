package workflows_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	historypb "go.temporal.io/api/history/v1"

	"github.com/everturn/everturn/workflows"
)

// Recorded histories of live agents must replay as long as agents of their age may live; those named bad-… must not,
// or replaying would prove nothing. Record new ones with `go test ./e2e -histories DIR`; never replace an old one of a
// released version.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/history/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	good, bad := 0, 0
	for _, file := range files {
		err := replay(t, file)
		if strings.HasPrefix(filepath.Base(file), "bad-") {
			bad++
			require.ErrorContains(t, err, "TMPRL1100", file) // the SDK's code for a workflow that is not deterministic
			continue
		}
		good++
		require.NoError(t, err, file)
	}
	require.NotZero(t, good)
	require.NotZero(t, bad)
}

func TestAReplayerWithoutTheInterceptorSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := worker.NewWorkflowReplayer()
	workflows.Register(r)
	err := r.ReplayWorkflowHistory(quiet{}, read(t, "testdata/history/two-turns.json"))
	require.ErrorContains(t, err, "the worker lacks workflows.Interceptor")
}

func replay(t *testing.T, file string) error {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Interceptors:             []interceptor.WorkerInterceptor{workflows.Interceptor(workflows.Options{})},
		DisableDeadlockDetection: true, // it measures time, and a busy machine is no defect
	})
	require.NoError(t, err)
	workflows.Register(r)
	return r.ReplayWorkflowHistory(quiet{}, read(t, file))
}

func read(t *testing.T, file string) *historypb.History {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var h historypb.History
	require.NoError(t, protojson.Unmarshal(raw, &h), file)
	return &h
}

// quiet is a logger that says nothing.
type quiet struct{}

var _ sdklog.Logger = quiet{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
