package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/temporal"
)

// await looks at an agent for a workflow that waits for it. See [signals.AwaitActivity].
func (c Config) await() (func(context.Context, signals.Await) (signals.Answer, error), error) {
	backend := agents.Temporal(c.Client, agents.TemporalOptions{TaskQueue: c.TaskQueue, Namespace: c.Namespace})
	looker, err := agents.New(agents.Config{Backend: backend, Store: c.Store})
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return func(ctx context.Context, in signals.Await) (signals.Answer, error) {
		answer, ok, err := look(ctx, looker, in)
		switch {
		case err != nil:
			return answer, unanswerable(err)
		case !ok:
			return answer, temporal.NewApplicationErrorWithOptions(in.ID+" has nothing to say yet", signals.ErrPending,
				temporal.ApplicationErrorOptions{Category: temporal.ApplicationErrorCategoryBenign})
		case len(answer.Text) > signals.MaxRaw:
			return answer, temporal.NewNonRetryableApplicationError(
				fmt.Sprintf("the answer is %d bytes; a workflow takes at most %d: read it in the agent's log", len(answer.Text), signals.MaxRaw), codeTooLarge, nil)
		}
		return answer, nil
	}, nil
}

const codeTooLarge = "TOO_LARGE"

// look says what became of a message, or that the agent is born.
func look(ctx context.Context, c *agents.Client, in signals.Await) (answer signals.Answer, ok bool, err error) {
	a, err := c.Get(ctx, in.ID)
	if err != nil {
		return answer, false, err
	}
	if in.Message != "" {
		return a.Answered(ctx, in.Message)
	}
	run, err := c.Backend.Describe(ctx, in.ID)
	if err == nil && !run.Open && run.Status != "failed" {
		err = fmt.Errorf("agent %s: %w (%s)", in.ID, agents.ErrClosed, run.Status)
	}
	if err == nil {
		ok, err = a.Born(ctx)
	}
	return answer, ok, err
}

// unanswerable ends the tries if there will never be an answer; a server, a worker or a store that is away comes back.
func unanswerable(err error) error {
	var refused *agents.RefusedError
	var stillborn *agents.CreateError
	switch {
	case errors.As(err, &refused):
		return temporal.NewNonRetryableApplicationError(refused.Message, refused.Code, nil)
	case errors.As(err, &stillborn):
		return temporal.NewNonRetryableApplicationError(stillborn.Message, stillborn.Code, nil)
	case errors.Is(err, agents.ErrClosed), errors.Is(err, agents.ErrUnknownAgent):
		return temporal.NewNonRetryableApplicationError(err.Error(), signals.ErrGone, nil)
	default:
		return err
	}
}
