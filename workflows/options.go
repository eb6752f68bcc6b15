package workflows

import (
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/work"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// All timeouts and retry policies are in this file. See architecture A3.15.
//
//	              heartbeat timeout    one try    in all
//	Setup         –                    1 min      10 min
//	Step          2.5 s / 30 s         2 h        24 h
//	Tool          10 s / 60 s          its own    24 h
//	Hook          10 s / 60 s          10 min       1 h
//	Maintain      10 s / 60 s          1 h          24 h
//	Configure     –                    1 min      10 min
//	Persist       –                    10 s       30 s     local
//	Spill         –                    10 s       30 s     local
//	CancelReason  –                    1 s        2 s
//	Look          –                    10 s       1 min
//	Reset         –                    1 min      24 h
//	Tell          –                    15 s       24 h     tell.go
//
// The first heartbeat figure is the embedded profile's, the second the stock one's.

// Embedded is the profile of a worker beside its own development server: losses are noticed fast.
const Embedded = "embedded"

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (a *agent) profile() string { return a.driver.State().Manifest.Profile }

// infrastructure retries what is not the agent's business: a store or worker that is away.
func infrastructure() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: 3000}
}

func setupOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: time.Minute, ScheduleToCloseTimeout: 10 * time.Minute,
		WaitForCancellation: true, RetryPolicy: infrastructure(), Summary: "set up"}
}

func resetOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: time.Minute, ScheduleToCloseTimeout: 24 * time.Hour,
		RetryPolicy: infrastructure(), Summary: "take over after a reset"}
}

func stepOptions(profile string, in work.StepIn, model string) workflow.ActivityOptions {
	heartbeat := 30 * time.Second
	if profile == Embedded {
		heartbeat = 2500 * time.Millisecond
	}
	return workflow.ActivityOptions{StartToCloseTimeout: 2 * time.Hour, ScheduleToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout: heartbeat, WaitForCancellation: true, RetryPolicy: infrastructure(), Summary: stepSummary(in, model)}
}

// stepSummary says in the Temporal UI what the activity is.
func stepSummary(in work.StepIn, model string) string {
	if model == "" {
		model = "model"
	}
	text := fmt.Sprintf("%s · turn %d step %d", model, in.Turn, in.Step)
	if in.Attempt > 1 {
		text += fmt.Sprintf(" · attempt %d", in.Attempt)
	}
	if in.Mode == work.StepSettle {
		text += " · settle"
	}
	return short(text)
}

func toolOptions(profile string, in work.ToolIn) workflow.ActivityOptions {
	o := workflow.ActivityOptions{StartToCloseTimeout: 5*time.Minute + time.Minute, ScheduleToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout: effectHeartbeat(profile), WaitForCancellation: true, RetryPolicy: infrastructure(),
		Summary: toolSummary(in)}
	if in.Call.TimeoutMS > 0 {
		o.StartToCloseTimeout = ms(in.Call.TimeoutMS) + time.Minute // the activity itself times the tool
	}
	if in.Call.Queue != "" && in.Mode == work.ToolRun {
		o.TaskQueue, o.ScheduleToStartTimeout = in.Call.Queue, time.Minute
	}
	return o
}

// toolSummary says in the Temporal UI which stage of which call the activity is.
func toolSummary(in work.ToolIn) string {
	text := fmt.Sprintf("%s · turn %d step %d", in.Call.Name, in.Turn, in.Step)
	if in.Mode != work.ToolRun {
		text += " · " + in.Mode
	}
	return short(text)
}

func hookOptions(profile string, in work.HookIn) workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Minute, ScheduleToCloseTimeout: time.Hour, HeartbeatTimeout: effectHeartbeat(profile),
		WaitForCancellation: true, RetryPolicy: infrastructure(), Summary: fmt.Sprintf("%s · turn %d", in.Point, in.Turn)}
}

func maintainOptions(profile string, in work.MaintainIn) workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: time.Hour, ScheduleToCloseTimeout: 24 * time.Hour, HeartbeatTimeout: effectHeartbeat(profile),
		WaitForCancellation: true, RetryPolicy: infrastructure(), Summary: short("maintain · " + in.Task)}
}

func configureOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: time.Minute, ScheduleToCloseTimeout: 10 * time.Minute,
		RetryPolicy: infrastructure(), Summary: "check and store the changed data"}
}

// placed lets an activity run on the agent's own task queue, if it has one and the activity has none.
func placed(queue string, o workflow.ActivityOptions) workflow.ActivityOptions {
	if o.TaskQueue == "" {
		o.TaskQueue = queue
	}
	return o
}

func (a *agent) placed(o workflow.ActivityOptions) workflow.ActivityOptions {
	return placed(a.driver.State().Queue, o)
}

// effectHeartbeat is the heartbeat timeout of whatever may have effects: a missed one must be a lost worker.
func effectHeartbeat(profile string) time.Duration {
	if profile == Embedded {
		return 10 * time.Second
	}
	return time.Minute
}

func localOptions(summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second, ScheduleToCloseTimeout: 30 * time.Second, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Second, MaximumAttempts: 4}}
}

func cancelReasonOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: time.Second, ScheduleToCloseTimeout: 2 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumAttempts: 3}, Summary: "read the reason of the cancellation"}
}

func lookOptions(child string) workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second, ScheduleToCloseTimeout: time.Minute,
		RetryPolicy: infrastructure(), Summary: short("is " + child + " there")}
}

// summaryLimit is the server's limit of a summary, in bytes, with room to spare.
const summaryLimit = 200

// short cuts a text so that it fits into a summary.
func short(text string) string { return cut(text, summaryLimit) }

// cut cuts a text at a rune boundary.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit]
}
