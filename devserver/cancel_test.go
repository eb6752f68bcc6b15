package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func TestCancellationReachesAnActivityThatDoesNotHeartbeat(t *testing.T) {
	t.Parallel()
	c := dial(t, launch(t, "--ephemeral", "--headless").serving())
	started, cancelled := make(chan struct{}), make(chan struct{})
	w := worker.New(c, "q", worker.Options{})
	w.RegisterActivityWithOptions(func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		close(cancelled)
		return ctx.Err()
	}, activity.RegisterOptions{Name: "Wait"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, WaitForCancellation: true})
		return workflow.ExecuteActivity(ctx, "Wait").Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "Workflow"})
	require.NoError(t, w.Start())
	defer w.Stop()

	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "w", TaskQueue: "q"}, "Workflow")
	require.NoError(t, err)
	<-started
	require.NoError(t, c.CancelWorkflow(t.Context(), "w", ""))
	<-cancelled // or the test binary's own timeout
}
