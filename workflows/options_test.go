package workflows

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
)

// The table of options.go. See architecture A3.15.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name               string
		o                  workflow.ActivityOptions
		heartbeat, try, in time.Duration
	}{
		{"Setup", setupOptions(), 0, time.Minute, 10 * time.Minute},
		{"Step, embedded", stepOptions(Embedded, work.StepIn{}, ""), 2500 * time.Millisecond, 2 * time.Hour, 24 * time.Hour},
		{"Step, stock", stepOptions("", work.StepIn{}, ""), 30 * time.Second, 2 * time.Hour, 24 * time.Hour},
		{"Tool, embedded", toolOptions(Embedded, work.ToolIn{}), 10 * time.Second, 6 * time.Minute, 24 * time.Hour},
		{"Tool, stock, with its own limit", toolOptions("", work.ToolIn{Call: work.Call{TimeoutMS: 1}}), time.Minute, time.Minute + time.Millisecond, 24 * time.Hour},
		{"Hook, embedded", hookOptions(Embedded, work.HookIn{}), 10 * time.Second, 10 * time.Minute, time.Hour},
		{"Hook, stock", hookOptions("", work.HookIn{}), time.Minute, 10 * time.Minute, time.Hour},
		{"Maintain, embedded", maintainOptions(Embedded, work.MaintainIn{}), 10 * time.Second, time.Hour, 24 * time.Hour},
		{"Maintain, stock", maintainOptions("", work.MaintainIn{}), time.Minute, time.Hour, 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.heartbeat, tt.o.HeartbeatTimeout)
			require.Equal(t, tt.try, tt.o.StartToCloseTimeout)
			require.Equal(t, tt.in, tt.o.ScheduleToCloseTimeout)
			require.True(t, tt.o.WaitForCancellation, "a cancelled effect still answers")
			require.Equal(t, infrastructure(), tt.o.RetryPolicy)
			require.Empty(t, tt.o.TaskQueue)
			require.LessOrEqual(t, len(tt.o.Summary), summaryLimit)
		})
	}
	require.Equal(t, &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: 3000}, infrastructure())
	require.Equal(t, 10*time.Second, localOptions("x").StartToCloseTimeout)
	require.Equal(t, 30*time.Second, localOptions("x").ScheduleToCloseTimeout)
	require.Equal(t, int32(4), localOptions("x").RetryPolicy.MaximumAttempts)
	require.Equal(t, time.Second, cancelReasonOptions().StartToCloseTimeout)
	require.Equal(t, 2*time.Second, cancelReasonOptions().ScheduleToCloseTimeout)
	require.Equal(t, int32(3), cancelReasonOptions().RetryPolicy.MaximumAttempts)
}

// A tool with a queue of its own runs there, and is given up if nobody takes it; its gates and its settling need no
// special worker. See architecture A3.7.
func TestOnlyTheBodyRunsOnTheToolsQueue(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{work.ToolRun: "gpu", work.ToolSettle: "", work.ToolGate: "", work.ToolPost: ""} {
		o := toolOptions("", work.ToolIn{Mode: mode, Call: work.Call{Queue: "gpu"}})
		require.Equal(t, want, o.TaskQueue, mode)
		require.Equal(t, want != "", o.ScheduleToStartTimeout == time.Minute, mode)
	}
}

func TestSummariesAreCutBetweenRunes(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.Repeat("x", summaryLimit), short(strings.Repeat("x", summaryLimit)))
	require.Equal(t, strings.Repeat("x", summaryLimit), short(strings.Repeat("x", summaryLimit+1)))
	require.Equal(t, strings.Repeat("x", summaryLimit-1), short(strings.Repeat("x", summaryLimit-1)+"ü"))
	require.Equal(t, "model · turn 1 step 2", stepSummary(work.StepIn{Turn: 1, Step: 2, Attempt: 1}, ""))
	require.Equal(t, "p/m · turn 1 step 2 · attempt 2 · settle", stepSummary(work.StepIn{Turn: 1, Step: 2, Attempt: 2, Mode: work.StepSettle}, "p/m"))
	require.Equal(t, "mail · turn 1 step 2", toolSummary(work.ToolIn{Turn: 1, Step: 2, Call: work.Call{Name: "mail"}}))
	require.Equal(t, "mail · turn 1 step 2 · gate", toolSummary(work.ToolIn{Turn: 1, Step: 2, Call: work.Call{Name: "mail"}, Mode: work.ToolGate}))
}

// Why no answer comes decides what the model is told. See architecture A3.6, A3.7.
func TestWhyAnEffectIsLost(t *testing.T) {
	t.Parallel()
	require.Equal(t, driver.LostCancelled, why(temporal.NewCanceledError()))
	require.Equal(t, driver.LostUnavailable, why(temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)))
	require.Equal(t, driver.LostExhausted, why(temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil)))
	require.Equal(t, driver.LostExhausted, why(errors.New("it failed")))
}

// A tool call that another try cannot mend is no lost one. See spec §4.8.
func TestWhyAToolIsLost(t *testing.T) {
	t.Parallel()
	require.Equal(t, driver.LostFailed, whyTool(temporal.NewNonRetryableApplicationError("no", "X", nil)))
	require.Equal(t, driver.LostExhausted, whyTool(temporal.NewApplicationError("no", "X")))
	require.Equal(t, driver.LostCancelled, whyTool(temporal.NewCanceledError()))
}

// The agent's own queue takes what has none of its own. See architecture A3.12.
func TestTheQueueOfAnActivity(t *testing.T) {
	t.Parallel()
	require.Equal(t, "mine", placed("mine", workflow.ActivityOptions{}).TaskQueue)
	require.Equal(t, "gpu", placed("mine", workflow.ActivityOptions{TaskQueue: "gpu"}).TaskQueue)
	require.Empty(t, placed("", workflow.ActivityOptions{}).TaskQueue)
}
