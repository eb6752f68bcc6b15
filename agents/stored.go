package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A PendingMessage waits to be claimed.
type PendingMessage struct {
	Target  string          `json:"target"` // next-turn or next-step
	Message session.Message `json:"message"`
	Untaken bool            `json:"untaken,omitempty"` // accepted, and no worker has put it in the log yet
}

// Pending are the messages that wait: those of the log, then those that were accepted and that no worker has taken. It
// needs no worker.
func (a *Agent) Pending(ctx context.Context) ([]PendingMessage, error) {
	inbox, err := a.Inbox(ctx)
	return inbox.Pending, err
}

// pending adds what no worker has taken.
func (a *Agent) pending(ctx context.Context, inbox session.Inbox) (out []PendingMessage, err error) {
	out, known := pendingIn(inbox), map[string]bool{}
	for _, p := range out {
		known[p.Message.ID] = true
	}
	acts, err := a.client.Backend.Untaken(ctx, a.id)
	if err != nil && !errors.Is(err, ErrUnknownAgent) {
		return nil, a.wrap("inbox", err)
	}
	for _, act := range acts {
		p, ok, err := a.sent(ctx, act)
		if err != nil {
			return nil, a.wrap("inbox", err)
		}
		if ok && !known[p.Message.ID] {
			out = append(out, p)
		}
	}
	return out, nil
}

// sent is the message that an untaken act carries, with a stored body put back; ok is false of another act and of one that
// the agent will refuse. A message without an id gets it from the worker.
func (a *Agent) sent(ctx context.Context, act Untaken) (p PendingMessage, ok bool, err error) {
	switch act.Act {
	case signals.Followup, signals.Steer, signals.Inject, signals.SendTo:
	default:
		return p, false, nil
	}
	s, err := signals.DecodeSend(act.Act, act.Payload)
	if err != nil {
		return p, false, nil
	}
	splice := session.InboxSpliced{Target: s.Target, Inserted: []session.Message{s.Message(s.ID)}}
	full, err := a.client.Store.Hydrate(ctx, []session.Record{session.NewRecord(0, splice)})
	if err != nil {
		return p, false, fmt.Errorf("message %q: %w", s.ID, err)
	}
	return PendingMessage{Target: s.Target, Message: full[0].Event.(session.InboxSpliced).Inserted[0], Untaken: true}, true, nil
}

// Stored is what can be said of the agent while nobody answers for it: its log in the store, how its run stands, what the
// run accepted since. What it does at the moment is not known. It needs no worker.
func (a *Agent) Stored(ctx context.Context) (signals.State, error) {
	run, err := a.client.Backend.Describe(ctx, a.id)
	if err != nil && !errors.Is(err, ErrUnknownAgent) {
		return signals.State{}, a.wrap("state", err)
	}
	header, err := a.client.Store.Header(ctx, a.id)
	if err != nil && !(errors.Is(err, store.ErrNotFound) && run.ID != "") {
		return signals.State{}, a.wrap("state", err)
	}
	epoch, head, err := a.client.Store.LatestHead(ctx, a.id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return signals.State{}, a.wrap("state", err)
	}
	state := session.NewState()
	if head.Count > 0 {
		if state, err = a.client.Store.State(ctx, a.id, head); err != nil {
			return signals.State{}, a.wrap("state", err)
		}
	}
	pending, err := a.pending(ctx, state.Inbox())
	if err != nil {
		return signals.State{}, err
	}
	out := folded(state)
	out.ID, out.Definition, out.Parent, out.Status = a.id, header.AgentPreset, run.Said.Parent, standing(run)
	out.Log = signals.LogHead{Epoch: epoch, Hash: head.Hash, Count: head.Count}
	for _, p := range pending {
		if p.Untaken {
			out.WaitingFor = "a worker, to take what was sent"
			if !run.Open {
				out.WaitingFor = "a resume, to bring back what was sent"
			}
		}
		out.Inbox = append(out.Inbox, signals.Pending{ID: p.Message.ID, Target: p.Target, Bytes: size(p.Message)})
	}
	return out, nil
}

// folded is what the log alone says.
func folded(state *session.State) signals.State {
	out := signals.State{Inbox: []signals.Pending{}, Calls: []signals.CallState{}, Deferred: []signals.Deferred{}, Children: []string{}}
	out.Turn, _ = state.Turn()
	out.Step, _ = state.Step()
	if h := state.LastHeader(); h != nil {
		out.Model = h.Header.Config.Provider + "/" + h.Header.Config.Model
	}
	return out
}

// standing is the status as far as the run tells; a session that no workflow remembers has none: "stored".
func standing(run Run) string {
	switch {
	case run.ID == "":
		return "stored"
	case run.Open && run.Said.Status != "":
		return run.Said.Status
	default:
		return run.Status
	}
}

func size(m session.Message) int {
	raw, err := json.Marshal(m.Content)
	if err != nil {
		return 0 // it was read from the log
	}
	return len(raw)
}
