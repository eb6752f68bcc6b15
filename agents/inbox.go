package agents

import (
	"context"

	"github.com/google/uuid"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// An Inbox is what is pending at one revision. An edit that names the revision is refused if the inbox is not any more as
// it was: see [Agent.At].
type Inbox struct {
	Revision int64            // -1 if no worker says
	Pending  []PendingMessage // next-step first, each list in its order
}

// Inbox reads what is pending and the revision that it has. Without a worker it is what the log in the store comes to, and
// what was accepted since.
func (a *Agent) Inbox(ctx context.Context) (Inbox, error) {
	var l signals.Log
	if !a.ask(ctx, signals.QueryLog, nil, &l) {
		return a.storedInbox(ctx)
	}
	inbox, err := a.inboxOf(ctx, l)
	if err != nil {
		return Inbox{}, a.wrap("inbox", err)
	}
	pending, err := a.pending(ctx, inbox)
	return Inbox{Revision: l.Revision, Pending: pending}, err
}

func (a *Agent) storedInbox(ctx context.Context) (Inbox, error) {
	state, err := a.Fold(ctx)
	if err != nil {
		return Inbox{}, err
	}
	pending, err := a.pending(ctx, state.Inbox())
	return Inbox{Revision: noRevision, Pending: pending}, err
}

// noRevision stands for one that nobody says.
const noRevision = -1

// inboxOf is what the log comes to with the events that wait for their place in it.
func (a *Agent) inboxOf(ctx context.Context, l signals.Log) (session.Inbox, error) {
	state := session.NewState()
	if l.Head.Count > 0 {
		var err error
		if state, err = a.client.Store.State(ctx, a.id, store.Head{Hash: l.Head.Hash, Count: l.Head.Count}); err != nil {
			return session.Inbox{}, err
		}
	}
	inbox := state.Inbox()
	records, err := a.client.Store.Hydrate(ctx, append(l.Tail, l.Waiting...))
	if err != nil {
		return inbox, err
	}
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.InboxSpliced:
			err = inbox.Apply(e)
		case session.InboxMoved:
			err = inbox.ApplyMove(e)
		}
		if err != nil {
			return inbox, err
		}
	}
	return inbox, nil
}

func pendingIn(inbox session.Inbox) (out []PendingMessage) {
	for _, m := range inbox.NextStep {
		out = append(out, PendingMessage{Target: session.NextStep, Message: m})
	}
	for _, m := range inbox.NextTurn {
		out = append(out, PendingMessage{Target: session.NextTurn, Message: m})
	}
	return out
}

// Edits change what is pending. None of them wakes the agent; each is one fact of the log. See spec §3.3.
type Edits struct {
	agent    *Agent
	revision *int64
}

// At returns edits of the inbox as it is at a revision: if it has changed since, they are refused with the code
// STALE_REVISION, and change nothing. Each edit makes another revision.
func (a *Agent) At(revision int64) Edits { return Edits{agent: a, revision: &revision} }

// Edits returns edits of the inbox whatever its revision is then.
func (a *Agent) Edits() Edits { return Edits{agent: a} }

// Remove discards a pending message and reports whether it was still pending. See spec §3.3.
func (a *Agent) Remove(ctx context.Context, id string) (bool, error) {
	return a.Edits().Remove(ctx, id)
}

// Replace puts another message in a pending one's place and reports whether it was still pending. Without an id of its own
// it keeps the old one.
func (a *Agent) Replace(ctx context.Context, id string, m Message) (bool, error) {
	return a.Edits().Replace(ctx, id, m)
}

// Clear discards all pending messages.
func (a *Agent) Clear(ctx context.Context) error { return a.Edits().Clear(ctx) }

// Promote moves a pending message to the head of a list and reports whether it was still pending. target is next-turn or
// next-step, or empty for the list it is in: in next-step a queued followup joins the running turn.
func (a *Agent) Promote(ctx context.Context, id, target string) (bool, error) {
	return a.Edits().Promote(ctx, id, target)
}

// Reorder gives a list another order: ids are those of all its messages.
func (a *Agent) Reorder(ctx context.Context, ids []string) error { return a.Edits().Reorder(ctx, ids) }

// Remove discards a pending message, see [Agent.Remove].
func (e Edits) Remove(ctx context.Context, id string) (bool, error) {
	return e.found(ctx, signals.InboxRemove, signals.Remove{RequestID: uuid.NewString(), ID: id, Revision: e.revision})
}

// Replace puts another message in a pending one's place, see [Agent.Replace].
func (e Edits) Replace(ctx context.Context, id string, m Message) (bool, error) {
	in := signals.Replace{RequestID: uuid.NewString(), ID: id, With: m.fields(), Revision: e.revision}
	in.With.ID = m.ID
	var err error
	if in.With, err = e.agent.prepare(ctx, signals.InboxReplace, in.With); err != nil {
		return false, err
	}
	return e.found(ctx, signals.InboxReplace, in)
}

// Clear discards all pending messages, see [Agent.Clear].
func (e Edits) Clear(ctx context.Context) error {
	_, err := e.agent.Act(ctx, signals.InboxClear, signals.Clear{RequestID: uuid.NewString(), Revision: e.revision})
	return err
}

// Promote moves a pending message to the head of a list, see [Agent.Promote].
func (e Edits) Promote(ctx context.Context, id, target string) (bool, error) {
	return e.found(ctx, signals.InboxPromote, signals.Promote{RequestID: uuid.NewString(), ID: id, Target: target, Revision: e.revision})
}

// Reorder gives a list another order, see [Agent.Reorder].
func (e Edits) Reorder(ctx context.Context, ids []string) error {
	_, err := e.agent.Act(ctx, signals.InboxReorder, signals.Reorder{RequestID: uuid.NewString(), IDs: ids, Revision: e.revision})
	return err
}

func (e Edits) found(ctx context.Context, act string, payload any) (bool, error) {
	r, err := e.agent.Act(ctx, act, payload)
	return r.Found != nil && *r.Found, err
}
