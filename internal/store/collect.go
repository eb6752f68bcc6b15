package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
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
	Kind    string `json:"kind"` // segments, blobs, journal, heads, epochs, effects, headers
	Objects int    `json:"objects"`
	Bytes   int64  `json:"bytes"`
}

// PlanCollect finds what nothing reaches: segments and blobs that no published head, no kept journal or ledger entry and no
// memory names, heads that a later one replaced, claims of epochs below the highest, journals of steps that the log has left
// behind, ledger entries of sessions that are remembered nowhere. Nothing is deleted before [Plan.Run].
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

// session marks what a session reaches and finds its leftovers.
func (p *Plan) session(ctx context.Context, b *belongings) error {
	m, err := p.memory(ctx, b.id)
	if err != nil {
		return err
	}
	if !b.stored() {
		return p.leftover(ctx, b, m)
	}
	p.Sessions++
	if m.Known {
		p.Known++
	}
	if m.Open {
		p.Open++
	}
	if err := p.heads(ctx, b); err != nil {
		return err
	}
	for n, obj := range b.epochs {
		if n < len(b.epochs)-1 { // only the highest is ever asked for
			p.drop(obj)
		}
	}
	return p.journals(ctx, b)
}

// leftover is what a session left that has neither a header nor a head: its birth failed, or it was erased half.
func (p *Plan) leftover(ctx context.Context, b *belongings, m Memory) error {
	for _, obj := range b.epochs {
		if !m.Known {
			p.drop(obj)
		}
	}
	for _, obj := range b.journal {
		if m.Known || b.id == "" || !p.drop(obj) {
			if err := p.live.sealed(ctx, obj.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// heads marks from the head that counts, and from those that stay because they are young.
func (p *Plan) heads(ctx context.Context, b *belongings) error {
	if len(b.heads) == 0 {
		return nil
	}
	for _, obj := range b.heads[:len(b.heads)-1] {
		if p.drop(obj) {
			continue
		}
		if err := p.markHead(ctx, p.live, obj.Key); err != nil {
			return err
		}
	}
	last, err := p.s.latestHead(ctx, b.id)
	if err != nil {
		return fmt.Errorf("latest head of session %q: %w", b.id, err)
	}
	return p.live.head(ctx, b.id, last.Head)
}

// markHead marks from a head object, unless it is gone by now: a newer one replaced it.
func (p *Plan) markHead(ctx context.Context, m *marker, key string) error {
	obj, err := p.s.readHead(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil && m.tolerant && !interrupted(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.head(ctx, obj.Session, obj.Head)
}

// journals finds the journals of steps that the published log has left behind; the others name objects.
func (p *Plan) journals(ctx context.Context, b *belongings) error {
	if len(b.journal) == 0 {
		return nil
	}
	next, err := p.nextSpot(ctx, b)
	if err != nil {
		return err
	}
	for _, obj := range b.journal {
		at, err := spotOf(obj.Key)
		if err != nil {
			return err
		}
		if at.before(next) && p.drop(obj) {
			continue
		}
		if err := p.live.sealed(ctx, obj.Key); err != nil {
			return err
		}
	}
	return nil
}

func (at spot) before(other spot) bool {
	return slices.Compare([]int64{at.epoch, int64(at.turn), int64(at.step)}, []int64{other.epoch, int64(other.turn), int64(other.step)}) < 0
}

// nextSpot is the step that is open in the published log, or the next: whoever goes on, or resumes, reads its journal.
func (p *Plan) nextSpot(ctx context.Context, b *belongings) (at spot, err error) {
	if len(b.heads) == 0 {
		return at, nil
	}
	last, err := p.s.latestHead(ctx, b.id)
	if err != nil {
		return at, err
	}
	state, err := p.s.state(ctx, b.id, last.Head)
	if err != nil {
		return at, fmt.Errorf("load session %q: %w", b.id, err)
	}
	at.epoch = last.Epoch
	turn, open := state.Turn()
	step, stepOpen := state.Step()
	switch {
	case !open:
		turn, step = turn+1, 1
	case !stepOpen:
		step++
	}
	at.turn, at.step = turn, step
	return at, nil
}

// ledger finds entries of sessions that nobody remembers: no call of theirs is on its way, and no reset will ask.
func (p *Plan) ledger(ctx context.Context) error {
	for _, obj := range p.inv.effects {
		owners, err := p.s.ownersOf(ctx, obj)
		if err != nil {
			return err
		}
		if p.except != "" && slices.Equal(owners, []string{p.except}) {
			continue
		}
		needed := len(owners) == 0
		for _, id := range owners {
			m, err := p.memory(ctx, id)
			if err != nil {
				return err
			}
			needed = needed || m.Known
		}
		if !needed && p.drop(obj) {
			continue
		}
		if err := p.live.sealed(ctx, obj.Key); err != nil {
			return err
		}
	}
	return nil
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
