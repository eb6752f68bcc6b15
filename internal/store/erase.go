package store

import (
	"context"
	"fmt"
	"slices"
)

// PlanErase finds what belongs to one session alone: header, heads, epochs, journals, ledger, what the index says of it, the segments it wrote or
// reaches, and the blobs it reaches. What another session reaches stays, such as the events a fork inherited; so do blobs
// younger than the grace period, which somebody may be about to name: [Store.PlanCollect] finds them later.
//
// The other sessions must be readable; the erased one need not be. The session must not run.
func (s *Store) PlanErase(ctx context.Context, sessionID string, o GarbageOptions) (*Plan, error) {
	p, err := s.planErase(ctx, sessionID, o)
	if err != nil {
		return nil, fmt.Errorf("erase session %q (nothing was deleted): %w", sessionID, err)
	}
	return p, nil
}

func (s *Store) planErase(ctx context.Context, sessionID string, o GarbageOptions) (*Plan, error) {
	if err := checkSession(sessionID); err != nil {
		return nil, err
	}
	p, err := s.survey(ctx, o, sessionID)
	if err != nil {
		return nil, err
	}
	p.going, p.owned, p.Young = nil, map[string]bool{}, Count{Kind: kindBlobs} // others' leftovers are not its business
	own := newMarker(s, p.inv)
	own.tolerant = true
	if err := p.ownObjects(ctx, own); err != nil {
		return nil, err
	}
	if err := p.ownMemory(ctx, own); err != nil {
		return nil, err
	}
	if err := own.finish(ctx); err != nil {
		return nil, err
	}
	if err := p.ownSegments(ctx, own); err != nil {
		return nil, err
	}
	p.ownBlobs(own)
	return p, p.needed(ctx, own)
}

// own plans to delete an object whatever its age.
func (p *Plan) own(objects ...Object) {
	for _, obj := range objects {
		p.Found = true
		p.owned[obj.Key] = true
		if obj.Made.After(p.Newest) {
			p.Newest = obj.Made
		}
	}
	p.going = append(p.going, objects...)
}

// ownObjects takes what is named after the session, and marks from it.
func (p *Plan) ownObjects(ctx context.Context, own *marker) error {
	if b := p.inv.sessions[escape(p.except)]; b != nil {
		for _, objects := range [][]Object{b.heads, b.epochs, b.journal, b.waits, b.header} {
			p.own(objects...)
		}
		p.going = p.going[:len(p.going)-len(b.header)]
		p.last = b.header
		for _, obj := range b.heads {
			if err := p.markHead(ctx, own, obj.Key); err != nil {
				return err
			}
		}
		for _, obj := range b.journal {
			if err := own.sealed(ctx, obj.Key); err != nil {
				return err
			}
		}
	}
	return p.ownEffects(ctx, own)
}

func (p *Plan) ownEffects(ctx context.Context, own *marker) error {
	for _, obj := range p.inv.effects {
		owners, err := p.s.ownersOf(ctx, obj)
		if err != nil {
			return err
		}
		if !slices.Equal(owners, []string{p.except}) {
			continue
		}
		p.own(obj)
		if err := own.sealed(ctx, obj.Key); err != nil {
			return err
		}
	}
	return nil
}

// ownMemory marks what the closed run remembers.
func (p *Plan) ownMemory(ctx context.Context, own *marker) error {
	m, err := p.memory(ctx, p.except)
	if err != nil || m.Texts == nil {
		return err
	}
	for text, err := range m.Texts {
		if err != nil {
			return fmt.Errorf("what is remembered of session %q: %w", p.except, err)
		}
		own.text(text)
	}
	return nil
}

// ownSegments takes the segments that the session wrote, also those of logs that were given up, and those of others that it
// alone still reaches.
func (p *Plan) ownSegments(ctx context.Context, own *marker) error {
	for _, hash := range sortedKeys(p.inv.segments) {
		if p.live.segments[hash] {
			continue
		}
		obj := p.inv.segments[hash]
		writer, err := p.writerOf(ctx, own, hash)
		switch {
		case err != nil:
			return err
		case writer == p.except:
			p.own(obj)
			own.segments[hash] = true
		case own.segments[hash]:
			p.drop(obj)
		}
	}
	return own.finish(ctx)
}

// writerOf is the session that wrote a segment; empty if it is damaged.
func (p *Plan) writerOf(ctx context.Context, own *marker, hash string) (string, error) {
	if writer, ok := own.writer[hash]; ok {
		return writer, nil
	}
	seg, err := p.s.load(ctx, "", Head{Hash: hash}, -1)
	if err != nil && interrupted(err) {
		return "", err
	}
	if err != nil {
		return "", nil
	}
	if seg.Session == p.except {
		if err := own.segment(seg.Session, Head{Hash: hash, Count: seg.end()}, seg); err != nil && interrupted(err) {
			return "", err
		}
	}
	return seg.Session, nil
}

func (p *Plan) ownBlobs(own *marker) {
	for _, hash := range sortedKeys(own.blobs) {
		if obj := p.inv.blobs[hash]; !p.live.blobs[hash] && !p.drop(obj) {
			p.Young.Objects++
			p.Young.Bytes += obj.Bytes
		}
	}
}

// needed says what the session reaches and others do too, and which sessions reach its log.
func (p *Plan) needed(ctx context.Context, own *marker) error {
	var kept []Object
	for _, hash := range sortedKeys(own.segments) {
		if p.live.segments[hash] {
			kept = append(kept, p.inv.segments[hash])
		}
	}
	shared := len(kept)
	for _, hash := range sortedKeys(own.blobs) {
		if p.live.blobs[hash] {
			kept = append(kept, p.inv.blobs[hash])
		}
	}
	p.Needed = countsOf(kept)
	if shared == 0 {
		return nil
	}
	for _, b := range p.inv.sessions {
		if !b.stored() || len(b.heads) == 0 || b.id == p.except {
			continue
		}
		last, err := p.s.latestHead(ctx, b.id)
		if err != nil {
			return err
		}
		for hash := last.Hash; hash != ""; hash = p.live.before[hash] {
			if own.segments[hash] {
				p.NeededBy = append(p.NeededBy, b.id)
				break
			}
		}
	}
	slices.Sort(p.NeededBy)
	return nil
}
