package workflows_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"

	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/workflows"
)

// Recorded histories must replay as long as agents of their age may live: a folder holds those of one version of the
// rules, and stays when the next one begins. Those of testdata/history/bad must not replay, or replaying would prove
// nothing. `make record` writes those of the rules in force anew, after a deliberate change that no release has yet.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	for rules := 1; rules <= work.Rules; rules++ {
		files, err := filepath.Glob(fmt.Sprintf("testdata/history/rules-%d/*.json", rules))
		require.NoError(t, err)
		require.NotEmpty(t, files, "rules %d", rules)
		for _, file := range files {
			require.NoError(t, servertest.Replay(read(t, file)), file)
		}
	}
}

// What a replay says of a history that did not come from this code. The SDK compares commands; that the events which an
// activity was lent are others, only the echo in its answer shows (architecture A3.2).
func TestBadHistoriesDoNotReplay(t *testing.T) {
	t.Parallel()
	for file, reason := range map[string]string{
		"other-activity":  "TMPRL1100", // the SDK's code for a workflow that is not deterministic
		"signals-swapped": "TMPRL1100",
		"other-message":   "step-5 answers to other events than this state lent it",
	} {
		require.ErrorContains(t, servertest.Replay(read(t, "testdata/history/bad/"+file+".json")), reason, file)
	}
}

func TestAReplayerWithoutTheInterceptorSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := worker.NewWorkflowReplayer()
	workflows.Register(r)
	err := r.ReplayWorkflowHistory(log.Silent(), read(t, "testdata/history/rules-1/two-turns.json"))
	require.ErrorContains(t, err, "the worker lacks workflows.Interceptor")
}

func read(t *testing.T, file string) *historypb.History {
	t.Helper()
	h, err := servertest.ReadHistory(file)
	require.NoError(t, err, file)
	return h
}
