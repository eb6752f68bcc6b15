package store

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// A Memory is what whoever runs a session still holds of it, beside the store.
type Memory struct {
	Known bool // it remembers the session, running or not
	Open  bool // it is running
	// Texts are all bytes in which it may name an object of the store; nil: none.
	Texts iter.Seq2[[]byte, error]
}

// GarbageOptions say what may be deleted.
type GarbageOptions struct {
	Grace time.Duration // what is younger stays: somebody may be about to name it
	// Memory is asked for every session. Without it nobody holds anything.
	Memory func(ctx context.Context, sessionID string) (Memory, error)
	Now    func() time.Time // nil: time.Now
}

// MinGrace is the shortest grace period while sessions run. What a step or a call stores is named in a journal, the ledger
// or its answer before that.
const MinGrace = time.Hour

// DefaultGrace is as long as an activity may take with all its executions.
const DefaultGrace = 24 * time.Hour

// A Count says how many objects of a kind there are, and how large they are.
type Count struct {
	Kind    string `json:"kind"` // segments, blobs, journal, heads, epochs, effects, headers, waiting
	Objects int    `json:"objects"`
	Bytes   int64  `json:"bytes"`
}

// PlanCollect finds what nothing reaches: segments and blobs that no published head, no kept journal or ledger entry and no
// memory names, heads that a later one replaced, claims of epochs below the highest, journals of steps that the log has left
// behind, ledger entries of sessions that are remembered nowhere, entries of the index about what ended, or waited in an
// agent that does not run. Nothing is deleted before [Plan.Run].
//
// It reads every log there is. One that cannot be read is an error: what it names would be lost too.
func (s *Store) PlanCollect(ctx context.Context, o GarbageOptions) (*Plan, error) {
	p, err := s.survey(ctx, o, "")
	if err != nil {
		return nil, fmt.Errorf("collect garbage (nothing was deleted): %w", err)
	}
	for _, hash := range sortedKeys(p.inv.segments) {
		p.unlessReached(p.live.segments[hash], p.inv.segments[hash])
	}
	for _, hash := range sortedKeys(p.inv.blobs) {
		p.unlessReached(p.live.blobs[hash], p.inv.blobs[hash])
	}
	return p, nil
}

func (p *Plan) unlessReached(reached bool, obj Object) {
	if !reached {
		p.drop(obj)
	}
}

// survey marks what every session but one reaches, and plans to delete what is left over of their own objects.
func (s *Store) survey(ctx context.Context, o GarbageOptions, except string) (*Plan, error) {
	if o.Grace < 0 {
		return nil, fmt.Errorf("the grace period %s is negative", o.Grace)
	}
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	p := &Plan{s: s, o: o, cutoff: now().Add(-o.Grace), except: except, asked: map[string]Memory{}}
	var err error
	if p.inv, err = s.takeInventory(ctx); err != nil {
		return nil, err
	}
	p.live = newMarker(s, p.inv)
	for _, part := range sortedKeys(p.inv.sessions) {
		if b := p.inv.sessions[part]; except == "" || b.id != except {
			if err := p.session(ctx, b); err != nil {
				return nil, err
			}
		}
	}
	if err := p.ledger(ctx); err != nil {
		return nil, err
	}
	return p, p.live.finish(ctx)
}

// memory asks for a session once, and marks what is remembered of it.
func (p *Plan) memory(ctx context.Context, id string) (Memory, error) {
	if m, ok := p.asked[id]; ok || p.o.Memory == nil || id == "" {
		return m, nil
	}
	m, err := p.o.Memory(ctx, id)
	if err != nil {
		return m, fmt.Errorf("what is remembered of session %q: %w", id, err)
	}
	p.asked[id] = m
	if m.Texts == nil || id == p.except {
		return m, nil
	}
	for text, err := range m.Texts {
		if err != nil {
			return m, fmt.Errorf("what is remembered of session %q: %w", id, err)
		}
		p.live.text(text)
	}
	return m, nil
}
