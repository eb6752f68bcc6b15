package agents

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/everturn/everturn/internal/store"
)

// A Waiting is a call of some agent that waits for somebody outside.
type Waiting struct {
	Agent      string     `json:"agent"`
	ID         string     `json:"id"`   // what a decision or an answer names
	Kind       string     `json:"kind"` // signals.WaitApproval, signals.WaitQuestion or signals.WaitClient
	Definition string     `json:"definition"`
	Title      string     `json:"title,omitempty"`
	Parent     string     `json:"parent,omitempty"`
	Turn       int        `json:"turn"`
	CallID     string     `json:"callId"`
	Tool       string     `json:"tool"`
	Reason     string     `json:"reason,omitempty"` // why a person is asked, shortened
	Digest     string     `json:"digest,omitempty"` // of what is asked about
	Since      time.Time  `json:"since"`
	Due        *time.Time `json:"due,omitempty"`
}

// WaitingOptions say what to list. The zero value lists everything, up to [DefaultWaiting].
type WaitingOptions struct {
	Definition string // of the agents; empty: all
	Kind       string // of waits; empty: all
	Limit      int    // how many, the oldest; 0 means DefaultWaiting
}

// DefaultWaiting bounds a listing of what waits.
const DefaultWaiting = 1000

// Waiting lists what waits for somebody outside over all agents, oldest first, and says how many more there are. It reads
// an index in the store, and asks no agent and no server: it is behind by as long as it takes to tell, and what an agent
// waited for that was terminated stays until that is resumed, erased, or its garbage is collected.
func (c *Client) Waiting(ctx context.Context, o WaitingOptions) (list []Waiting, more int, err error) {
	o.Limit = cmp.Or(o.Limit, DefaultWaiting)
	var oldest youngestFirst
	for w, err := range c.Store.Waiting(ctx) {
		if err != nil {
			return nil, 0, err
		}
		if o.Definition != "" && w.Definition != o.Definition || o.Kind != "" && w.Kind != o.Kind {
			continue
		}
		heap.Push(&oldest, waitingOf(w))
		if len(oldest) > o.Limit {
			heap.Pop(&oldest)
			more++
		}
	}
	slices.SortFunc(oldest, older)
	return oldest, more, nil
}

func waitingOf(w store.Waiting) Waiting {
	out := Waiting{Agent: w.Session, ID: w.ID, Kind: w.Kind, Definition: w.Definition, Title: w.Title, Parent: w.Parent, Turn: w.Turn,
		CallID: w.CallID, Tool: w.Tool, Reason: w.Reason, Digest: w.Digest, Since: time.UnixMilli(w.SinceMS).UTC()}
	if w.DueMS > 0 {
		due := time.UnixMilli(w.DueMS).UTC()
		out.Due = &due
	}
	return out
}

func older(a, b Waiting) int {
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.ID, b.ID))
}

// youngestFirst is a heap: what goes first when there are too many.
type youngestFirst []Waiting

func (h youngestFirst) Len() int           { return len(h) }
func (h youngestFirst) Less(i, j int) bool { return older(h[i], h[j]) > 0 }
func (h youngestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *youngestFirst) Push(x any) {
	if w, ok := x.(Waiting); ok {
		*h = append(*h, w)
	}
}

// Pop implements [heap.Interface].
func (h *youngestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
