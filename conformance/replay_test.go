package conformance_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/internal/conformance"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/internal/work"
)

var record = flag.Bool("record", false, "write the histories of the scenarios that are recorded anew")

// recorded holds the histories that must replay as long as the rules in force have agents.
var recorded = filepath.Join("..", "workflows", "testdata", "history", fmt.Sprintf("rules-%d", work.Rules))

// requireReplay replays every run of every agent that the scenarios left on the server.
func requireReplay(t *testing.T, c client.Client, scenarios int) {
	t.Helper()
	ran := runs(t, c)
	require.Greater(t, len(ran), scenarios/2, "most scenarios have an agent")
	for scenario, executions := range ran {
		for n, e := range executions {
			h, err := servertest.History(t.Context(), c, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId())
			require.NoError(t, err, scenario)
			if len(h.GetEvents()) < 3 {
				continue // its scenario ended before a worker had a look at it
			}
			require.NoError(t, servertest.Replay(h), "%s, run %d", scenario, n+1)
			if file := filepath.Join(recorded, fmt.Sprintf("%s-%d.json", scenario, n+1)); *record && anew(file) {
				require.NoError(t, servertest.WriteHistory(file, h))
			}
		}
	}
	t.Logf("the histories of %d scenarios replay", len(ran))
}

// anew reports whether a file is there: which histories are kept is what the folder holds.
func anew(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

var ofScenario = regexp.MustCompile(`^(C-\d+)-`)

// runs are the runs of each scenario, in the order in which they began.
func runs(t *testing.T, c client.Client) map[string][]*workflowpb.WorkflowExecutionInfo {
	t.Helper()
	out := map[string][]*workflowpb.WorkflowExecutionInfo{}
	for page := []byte(nil); ; {
		list, err := c.ListWorkflow(context.WithoutCancel(t.Context()), &workflowservice.ListWorkflowExecutionsRequest{NextPageToken: page})
		require.NoError(t, err)
		for _, e := range list.GetExecutions() {
			if id := ofScenario.FindStringSubmatch(e.GetTaskQueue()); id != nil {
				out[id[1]] = append(out[id[1]], e)
			}
		}
		if page = list.GetNextPageToken(); len(page) == 0 {
			break
		}
	}
	for _, executions := range out {
		slices.SortFunc(executions, func(a, b *workflowpb.WorkflowExecutionInfo) int {
			return cmp.Or(cmp.Compare(a.GetType().GetName(), b.GetType().GetName()), // agents, then what is told of them
				a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime()))
		})
	}
	return out
}

// Every group of the spec's list has a recorded history, or a change of rules could pass unseen.
func TestEveryGroupIsRecorded(t *testing.T) {
	t.Parallel()
	groups, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, groups)
	for _, group := range groups {
		text, err := os.ReadFile(filepath.Clean(group))
		require.NoError(t, err)
		all, err := conformance.Parse(group, string(text))
		require.NoError(t, err)
		if filepath.Base(group) == "10.15-account.txt" {
			continue // its scenarios write their logs themselves
		}
		kept := slices.ContainsFunc(all, func(s *conformance.Scenario) bool { return anew(filepath.Join(recorded, s.ID+"-1.json")) })
		require.True(t, kept, "%s: no history of its scenarios in %s", group, recorded)
	}
}
