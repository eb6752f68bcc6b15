package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// What is named after a session goes by rules of its own; the rest of it is marked from, see [marker].

// session marks what a session reaches and finds its leftovers.
func (p *Plan) session(ctx context.Context, b *belongings) error {
	m, err := p.memory(ctx, b.id)
	if err != nil {
		return err
	}
	p.waits(b, m)
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
