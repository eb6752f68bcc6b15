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
	case "pending", "claimed":
		return state, false, a.stillOpen(ctx)
	case "unknown": // too long ago for the agent's memory, or not seen yet: the log decides
		ok, err = a.settledInLog(ctx, id, &state)
	default:
		ok = true
	}
	if ok && state.State == "discarded" {
		err = &RefusedError{Code: "DISCARDED", Message: "the message was removed from the inbox before a turn took it"}
	}
	return state, ok, err
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
	f := fate{id: id}
	for r, err := range a.Log(ctx, 0) {
		if err != nil {
			return false, err
		}
		f.fold(r)
	}
	if f.state.State == "" {
		return false, a.stillOpen(ctx)
	}
	*state = f.state
	return state.State != "pending" && state.State != "claimed", nil
}

// fate folds the log for one message.
type fate struct {
	id    string
	inbox session.Inbox
	turn  int
	state signals.MessageState
}

func (f *fate) fold(r session.Record) {
	switch e := r.Event.(type) {
	case session.InboxSpliced:
		f.splice(e)
	case session.TurnStart:
		f.turn = e.Turn
	case session.TurnEnd:
		if f.state.State == "claimed" && f.state.Turn == e.Turn {
			f.state.State, f.state.Kind = "ended", e.Reason.Kind
		}
	}
}

func (f *fate) splice(e session.InboxSpliced) {
	_, _, before := f.inbox.Find(f.id)
	if f.inbox.Apply(e) != nil {
		return // the log's own check reports it
	}
	_, _, after := f.inbox.Find(f.id)
	switch {
	case after:
		f.state = signals.MessageState{State: "pending"}
	case before && e.Outcome == session.OutcomeCanceled:
		f.state = signals.MessageState{State: "discarded"}
	case before:
		f.state = signals.MessageState{State: "claimed", Turn: f.turn}
	}
}

// answer reads the outcome and the final text of a turn from the log.
func (a *Agent) answer(ctx context.Context, state signals.MessageState) (Answer, error) {
	out := Answer{Turn: state.Turn, Dropped: state.State == "dropped", Outcome: session.TurnReason{Kind: state.Kind}}
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
