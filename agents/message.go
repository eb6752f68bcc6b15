package agents

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// stateUnknown is the state of a message that neither the agent nor its log has seen.
const stateUnknown = "unknown"

// Message is where a message is, or what became of it: what the agent remembers, else what its log says. Without a worker
// it is the log in the store, and what was accepted since. State unknown means that the message was never inserted: it was
// refused, or never sent.
func (a *Agent) Message(ctx context.Context, id string) (signals.MessageState, error) {
	var live signals.MessageState
	if a.ask(ctx, signals.QueryMessage, signals.MessageID{ID: id}, &live) && known(live) {
		return live, nil
	}
	logged, err := a.inLog(ctx, id)
	if err == nil && logged.State == stateUnknown && live.State != "" {
		logged = live // what happened to it waits for its place in the log
	}
	if err == nil && logged.State == stateUnknown {
		return logged, a.untaken(ctx, id, &logged)
	}
	return logged, err
}

// untaken finds a message among what was accepted and no worker has taken.
func (a *Agent) untaken(ctx context.Context, id string, out *signals.MessageState) error {
	pending, err := a.pending(ctx, session.Inbox{})
	for _, p := range pending {
		if p.Message.ID == id {
			out.State, out.Target = session.FatePending, p.Target
		}
	}
	return err
}

// ask queries the agent if somebody answers for it soon; else the store must do.
func (a *Agent) ask(ctx context.Context, query string, arg, out any) bool {
	if polls, err := a.client.Backend.Workers(ctx); err == nil && !polls {
		return false
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return a.client.Backend.Query(short, a.id, query, arg, out) == nil
}

// known reports whether the agent remembers all that there is to say of a message.
func known(m signals.MessageState) bool {
	switch m.State {
	case stateUnknown:
		return false
	case session.FateDiscarded:
		return m.Cause != ""
	case session.FateEnded, session.FateDropped:
		return m.Step > 0
	default:
		return true
	}
}

// inLog is what the log says of a message; unknown if it has never been inserted.
func (a *Agent) inLog(ctx context.Context, id string) (out signals.MessageState, err error) {
	h, err := a.client.Store.Header(ctx, a.id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return out, a.wrap("header", err)
	}
	track := session.Track(id, h.SeedLength)
	for r, err := range a.Log(ctx, 0) {
		if err != nil {
			return out, err
		}
		track.Add(r)
		out.Count = r.Seq + 1
	}
	f := track.Fate()
	out.State, out.Turn, out.Kind, out.Target, out.Step = cmp.Or(f.State, stateUnknown), f.Turn, f.Kind, f.Target, f.Step
	out.Consumed, out.Edited, out.Cause, out.ReplacedBy, out.Reason = f.Consumed, f.Edited, f.Cause, f.ReplacedBy, f.Reason
	return out, nil
}
