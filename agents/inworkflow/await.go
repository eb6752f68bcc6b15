package inworkflow

import (
	"math"
	"time"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Await returns what became of a message when its turn has ended, however long that takes and whatever restarts meanwhile.
// The id is one that Followup, Steer or Inject returned, in this run or an earlier one. A turn that failed or was cancelled
// is an answer too, see its Err. If ctx is cancelled the wait ends and the agent goes on.
func (a Agent) Await(ctx workflow.Context, id string) (Answer, error) {
	if !session.ValidID(a.ID) {
		return Answer{}, invalidID(a.ID)
	}
	if !session.ValidID(id) {
		return Answer{}, &Error{Agent: a.ID, Code: signals.ErrInvalid, Message: "the message has no id: wait for one that was sent"}
	}
	return a.wait(ctx, id)
}

// wait looks until there is something to say: again and again by itself, and at once when the agent says something. Without
// a message it waits for the birth.
func (a Agent) wait(ctx workflow.Context, message string) (answer Answer, err error) {
	d := deskOf(ctx)
	for {
		heard := d.heard[a.ID]
		look, leave := a.look(ctx, message)
		if err := workflow.Await(ctx, func() bool { return look.IsReady() || d.heard[a.ID] != heard }); err != nil {
			return answer, err // the look is cancelled with ctx
		}
		if look.IsReady() {
			return answer, refusal(a.ID, look.Get(ctx, &answer))
		}
		leave()
	}
}

// look is an activity of the agent's workers. It fails while there is nothing to say: what lasts long is its pauses, which
// are the server's.
func (a Agent) look(ctx workflow.Context, message string) (workflow.Future, workflow.CancelFunc) {
	ctx, leave := workflow.WithCancel(ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: a.TaskQueue, StartToCloseTimeout: time.Minute, Summary: "is there an answer",
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 1.5, MaximumInterval: time.Minute,
			MaximumAttempts: math.MaxInt32}, // none means the same to a server, but ten to the SDK's test environment
	})
	return workflow.ExecuteActivity(ctx, signals.AwaitActivity, signals.Await{ID: a.ID, Message: message}), leave
}
