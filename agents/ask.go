package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// An Answer is what became of one message.
type Answer = signals.Answer

// Ask sends a followup and returns the answer to it, across restarts and rollovers, until ctx ends. See architecture
// A3.10.
func (a *Agent) Ask(ctx context.Context, text string) (Answer, error) {
	id, err := a.Followup(ctx, Text(text))
	if err != nil {
		return Answer{}, err
	}
	return a.Await(ctx, id)
}

// Await returns what became of a message when its turn has ended. [ErrClosed] if the agent ended before. While no worker
// answers it goes on asking until ctx ends.
func (a *Agent) Await(ctx context.Context, id string) (Answer, error) {
	var state signals.MessageState
	err := a.poll(ctx, func() (ok bool, err error) {
		if state, ok, err = a.fate(ctx, id); errors.Is(err, ErrNoWorker) {
			err = a.stillOpen(ctx)
		}
		return ok, err
	})
	if err != nil {
		return Answer{}, err
	}
	return a.answer(ctx, state)
}

// Answered is one look at what [Agent.Await] waits for; ok if there is an answer. [ErrNoWorker] if no worker says so.
func (a *Agent) Answered(ctx context.Context, id string) (answer Answer, ok bool, err error) {
	state, ok, err := a.fate(ctx, id)
	if ok && err == nil {
		answer, err = a.answer(ctx, state)
	}
	return answer, ok, err
}

// fate is where a message is; ok when that will not change any more.
func (a *Agent) fate(ctx context.Context, id string) (state signals.MessageState, ok bool, err error) {
	if err := a.client.Backend.Query(ctx, a.id, signals.QueryMessage, signals.MessageID{ID: id}, &state); err != nil {
		return state, false, a.wrap("await", err)
	}
	switch state.State {
	case session.FatePending, session.FateClaimed:
		return state, false, a.stillOpen(ctx)
	case stateUnknown: // too long ago for the agent's memory, or not seen yet: the log decides
		ok, err = a.settledInLog(ctx, id, &state)
	default:
		ok = true
	}
	if ok && state.State == session.FateDiscarded {
		err = &RefusedError{Code: "DISCARDED", Message: discarded(state)}
	}
	return state, ok, err
}

// discarded says why no turn will take a message.
func discarded(m signals.MessageState) string {
	switch m.Cause {
	case session.Replaced:
		return fmt.Sprintf("the message was replaced by message %s before a turn took it: await that one", m.ReplacedBy)
	case session.Cancelled:
		return "the message was discarded with the work that was cancelled, before a turn took it"
	default:
		return "the message was removed from the inbox before a turn took it"
	}
}

func (a *Agent) stillOpen(ctx context.Context) error {
	run, err := a.client.Backend.Describe(ctx, a.id)
	if err == nil && !run.Open {
		err = fmt.Errorf("%w (%s)", ErrClosed, run.Status)
	}
	return err
}

// settledInLog looks for the message in the log.
func (a *Agent) settledInLog(ctx context.Context, id string, state *signals.MessageState) (bool, error) {
	logged, err := a.inLog(ctx, id)
	if err != nil {
		return false, err
	}
	if logged.State == stateUnknown {
		return false, a.stillOpen(ctx)
	}
	*state = logged
	return state.State != session.FatePending && state.State != session.FateClaimed, nil
}

// answer reads the outcome and the final text of a turn from the log.
func (a *Agent) answer(ctx context.Context, state signals.MessageState) (Answer, error) {
	out := Answer{Turn: state.Turn, Dropped: state.State == session.FateDropped, Outcome: session.TurnReason{Kind: state.Kind}}
	for r, err := range a.Log(ctx, 0) {
		if err != nil {
			return out, err
		}
		switch e := r.Event.(type) {
		case session.AssistantMessage:
			if e.Turn == state.Turn && e.Message.Text() != "" {
				out.Text = e.Message.Text()
			}
		case session.TurnEnd:
			if e.Turn == state.Turn {
				out.Outcome = e.Reason
			}
		}
	}
	return out, nil
}
