package store

import (
	"context"
	"errors"
)

// A marker finds what is reached. It knows no formats: wherever the SHA-256 of a stored object is written, in an event, a
// journal, the ledger, a stored body or the memory of a workflow, that object is reached. A hash in a text that only looks
// like a reference keeps an object too many; a reference in a place nobody thought of loses none.
type marker struct {
	s        *Store
	inv      *inventory
	segments map[string]bool   // reached
	blobs    map[string]bool   // reached
	before   map[string]string // the segment before a segment
	writer   map[string]string // session that wrote a segment
	loose    []string          // segments that are mentioned, not walked
	unread   []string          // blobs
	tolerant bool              // what cannot be read ends a walk: it is to be deleted anyway
}

func newMarker(s *Store, inv *inventory) *marker {
	return &marker{s: s, inv: inv, segments: map[string]bool{}, blobs: map[string]bool{}, before: map[string]string{}, writer: map[string]string{}}
}

// head marks a log. What it reaches must be readable to the last byte.
func (m *marker) head(ctx context.Context, sessionID string, head Head) error {
	first := int64(-1)
	for !head.empty() && !m.segments[head.Hash] {
		m.segments[head.Hash] = true
		seg, err := m.s.load(ctx, sessionID, head, first)
		if err == nil {
			err = m.segment(sessionID, head, seg)
		}
		if err != nil && m.tolerant && !interrupted(err) {
			return nil
		}
		if err != nil {
			return err
		}
		first, head = seg.PrevFirst, Head{Hash: seg.Prev.Hash, Count: min(head.Count, seg.Prev.Count)}
	}
	return nil
}

// segment marks what a segment mentions, chunks included.
func (m *marker) segment(sessionID string, head Head, seg *segment) error {
	m.before[head.Hash], m.writer[head.Hash] = seg.Prev.Hash, seg.Session
	for _, frame := range [][]byte{seg.facts, seg.chunks} {
		if len(frame) == 0 {
			continue
		}
		text, err := decompress(frame)
		if err != nil {
			return lost(sessionID, seg.First, head, err.Error(), err)
		}
		m.text(text)
	}
	return nil
}

const hashLength = 64

// text marks every object whose hash is written in it, also inside of a longer run of hexadecimal digits: what comes
// before it may be the end of an escape.
func (m *marker) text(text []byte) {
	run := 0
	for i, c := range text {
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'f' {
			run++
		} else {
			run = 0
		}
		if run >= hashLength {
			m.mention(text[i+1-hashLength : i+1])
		}
	}
}

func (m *marker) mention(hash []byte) {
	if _, ok := m.inv.blobs[string(hash)]; ok && !m.blobs[string(hash)] {
		m.blobs[string(hash)] = true
		m.unread = append(m.unread, string(hash))
	}
	if _, ok := m.inv.segments[string(hash)]; ok && !m.segments[string(hash)] {
		m.loose = append(m.loose, string(hash))
	}
}

// finish follows mentions to their end.
func (m *marker) finish(ctx context.Context) error {
	for len(m.unread)+len(m.loose) > 0 {
		if n := len(m.loose) - 1; n >= 0 {
			hash := m.loose[n]
			m.loose = m.loose[:n]
			if err := m.mentioned(ctx, hash); err != nil {
				return err
			}
			continue
		}
		n := len(m.unread) - 1
		hash := m.unread[n]
		m.unread = m.unread[:n]
		data, err := m.s.Blob(ctx, hash)
		if err != nil && !errors.Is(err, ErrNotFound) && (!m.tolerant || interrupted(err)) {
			return err
		}
		m.text(data)
	}
	return nil
}

// mentioned marks a segment that something but a published head names, and those before it. One of them may be gone: the
// log was given up long ago.
func (m *marker) mentioned(ctx context.Context, hash string) error {
	for hash != "" && !m.segments[hash] {
		seg, err := m.s.load(ctx, "", Head{Hash: hash}, -1)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err == nil {
			m.segments[hash] = true
			err = m.segment(seg.Session, Head{Hash: hash, Count: seg.end()}, seg)
		}
		if err != nil && m.tolerant && !interrupted(err) {
			return nil
		}
		if err != nil {
			return err
		}
		hash = seg.Prev.Hash
	}
	return nil
}

// sealed marks what a sealed object mentions; one that is gone by now mentions nothing.
func (m *marker) sealed(ctx context.Context, key string) error {
	data, err := m.s.objects.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		data, err = unseal(key, data)
	}
	if err != nil && (!m.tolerant || interrupted(err)) {
		return err
	}
	m.text(data)
	return nil
}

// interrupted reports an error that says nothing of the object.
func interrupted(err error) bool {
	var corrupt *CorruptError
	var unknown *unreadable
	return !errors.As(err, &corrupt) && !errors.As(err, &unknown) && !errors.Is(err, ErrNotFound)
}
