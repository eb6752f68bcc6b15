package work

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/everturn/everturn/session"
)

// Tell is the activity that tells the world what happened to an agent: it keeps the index of what waits, and calls
// webhooks.
const Tell = "Tell"

// TellPatience is the longest pause between two tries to tell.
const TellPatience = 10 * time.Minute

// A Webhook is where somebody wants to be told. It names a secret and never holds one.
type Webhook struct {
	URL    string   `json:"url"`
	Events []string `json:"events,omitempty"` // of [session.Told]; none: all of them
	Secret string   `json:"secret"`           // the name under which workers know it
}

// Wants reports whether the webhook is for a kind.
func (w Webhook) Wants(kind string) bool {
	return len(w.Events) == 0 || slices.Contains(w.Events, kind)
}

// TellsOf are the kinds that webhooks and the index ask for, in a fixed order.
func TellsOf(hooks []Webhook, always []string) (kinds []string) {
	for _, kind := range session.Told() {
		if slices.Contains(always, kind) || slices.ContainsFunc(hooks, func(w Webhook) bool { return w.Wants(kind) }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// TellIn asks a worker to tell one thing.
type TellIn struct {
	ID     string `json:"id"` // unique among all that is ever told
	Ident  Ident  `json:"ident"`
	Kind   string `json:"kind"`
	Time   int64  `json:"time"` // Unix ms
	Title  string `json:"title,omitempty"`
	Parent string `json:"parent,omitempty"`
	Queue  string `json:"queue,omitempty"` // of the agent's activities
	Turn   int    `json:"turn,omitempty"`
	Step   int    `json:"step,omitempty"`

	Wait    *Waits              `json:"wait,omitempty"`    // asked, called
	Ended   *WaitEnded          `json:"ended,omitempty"`   // decided, answered
	Reason  *session.TurnReason `json:"reason,omitempty"`  // turn.ended
	Ids     []string            `json:"ids,omitempty"`     // turn.ended: of the messages that the turn took, at most a few
	Head    *Head               `json:"head,omitempty"`    // turn.ended: a log that holds the turn's last message
	Failure *session.Failure    `json:"failure,omitempty"` // error
	Spent   *Spent              `json:"spent,omitempty"`   // budget

	// Target is the webhook that is called; empty: the index is kept, and the answer names the webhooks.
	Target string `json:"target,omitempty"`
}

// A Waits is a call that waits for somebody outside.
type Waits struct {
	ID        string            `json:"id"` // what a decision or an answer names
	Kind      string            `json:"kind"`
	CallID    string            `json:"callId"`
	Tool      string            `json:"tool"`
	Arguments string            `json:"arguments,omitempty"` // raw text, if it is short
	Blob      *session.Artifact `json:"blob,omitempty"`      // else
	Reason    string            `json:"reason,omitempty"`
	Digest    string            `json:"digest,omitempty"`
	Questions json.RawMessage   `json:"questions,omitempty"`
	DueMS     int64             `json:"dueMs,omitempty"`
}

// A WaitEnded is how such a wait ended.
type WaitEnded struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	CallID  string `json:"callId"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"` // granted, rejected, answered, expired, cancelled
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Via     string `json:"via,omitempty"`
	Edited  bool   `json:"edited,omitempty"` // the arguments were changed by whoever decided
}

// Spent is what an agent has used since its workflow began.
type Spent struct {
	Tokens int64 `json:"tokens"`
	Budget int64 `json:"budget"`
}

// TellOut names the webhooks that are to be called for it.
type TellOut struct {
	Targets []Target `json:"targets,omitempty"`
}

// A Target is a webhook as the workflow knows it.
type Target struct {
	Key  string `json:"key"`
	Host string `json:"host"` // for people
}
