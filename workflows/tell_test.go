package workflows_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// TestOneWebhookDoesNotHoldUpAnother: each is called until it took what it is told, or never will; the workflow says who
// was not told.
func TestOneWebhookDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var calls []string
	tell := func(_ context.Context, in work.TellIn) (work.TellOut, error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, in.Target)
		tries := 0
		for _, c := range calls {
			if c == in.Target {
				tries++
			}
		}
		switch {
		case in.Target == "":
			return work.TellOut{Targets: []work.Target{{Key: "a", Host: "a.example"}, {Key: "b", Host: "b.example"}, {Key: "c", Host: "c.example"}}}, nil
		case in.Target == "a":
			return work.TellOut{}, temporal.NewNonRetryableApplicationError("webhook a.example: 404", work.ErrUntellable, nil)
		case in.Target == "b" && tries < 3:
			return work.TellOut{}, temporal.NewApplicationError("webhook b.example: 503", "NOT_TOLD")
		}
		return work.TellOut{}, nil
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	workflows.Register(env)
	env.RegisterActivityWithOptions(tell, activity.RegisterOptions{Name: work.Tell})
	env.ExecuteWorkflow(signals.TellWorkflowType, work.TellIn{ID: "s/tell/1.tell-1", Kind: session.ToldTurnEnded})
	require.True(t, env.IsWorkflowCompleted())
	require.ErrorContains(t, env.GetWorkflowError(), "webhook a.example: 404 (type: NOT_TOLD")
	require.NotContains(t, env.GetWorkflowError().Error(), "b.example", "it took it in the third try")
	slices.Sort(calls)
	require.Equal(t, []string{"", "a", "b", "b", "b", "c"}, calls)
}
