package store

import (
	"context"
	"errors"
	"fmt"
)

// Cut returns the head of the log's first count events: it names the segment that holds the last of them.
func (s *Store) Cut(ctx context.Context, sessionID string, head Head, count int64) (Head, error) {
	if err := head.check(); err != nil {
		return Head{}, err
	}
	if count < 0 || count > head.Count {
		return Head{}, fmt.Errorf("cut at %d: the log has %d events", count, head.Count)
	}
	for head.Count = count; !head.empty(); {
		var sp span
		if !s.spans.get(head.Hash, func(v span) { sp = v }) {
			seg, err := s.load(ctx, sessionID, head, -1)
			if err != nil {
				return Head{}, err
			}
			sp = seg.span()
		}
		if head.Count > sp.end {
			return Head{}, beyond(sessionID, head, sp.end)
		}
		if head.Count > sp.first {
			return head, nil
		}
		head = Head{Hash: sp.prev.Hash, Count: head.Count}
	}
	return Head{}, nil
}

func (h segmentHead) span() span { return span{h.First, h.end(), h.Prev} }

func beyond(sessionID string, head Head, end int64) error {
	return lost(sessionID, end, head, fmt.Sprintf("it ends at event %d", end-1), nil)
}

// lost is a CorruptError of a segment that should hold the events from first, or -1, to the end of head.
func lost(sessionID string, first int64, head Head, reason string, err error) error {
	key := contentKey("segments", head.Hash)
	var intact *unreadable
	if errors.As(err, &intact) {
		return fmt.Errorf("object %s: %w", key, err)
	}
	return &CorruptError{Session: sessionID, FirstSeq: first, LastSeq: head.Count - 1, Hash: head.Hash, Key: key, Reason: reason, Err: err}
}

// load reads and verifies the segment a head names. first is its first seq if the caller knows it, else -1.
func (s *Store) load(ctx context.Context, sessionID string, head Head, first int64) (*segment, error) {
	data, err := s.objects.Get(ctx, contentKey("segments", head.Hash))
	if errors.Is(err, ErrNotFound) {
		return nil, lost(sessionID, first, head, "it is missing", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read segment: %w", err)
	}
	if hashOf(data) != head.Hash {
		return nil, lost(sessionID, first, head, "its bytes are damaged", nil)
	}
	seg, err := decodeSegment(data)
	if err != nil {
		return nil, lost(sessionID, first, head, err.Error(), err)
	}
	if head.Count > seg.end() {
		return nil, beyond(sessionID, head, seg.end())
	}
	s.spans.put(head.Hash, seg.span())
	return seg, nil
}

// A link is one segment of a chain, and up to which event it counts.
type link struct {
	head  Head
	first int64
	seg   *segment // nil: to be loaded again
}

// maxHeld bounds the compressed bytes a walk keeps in memory; beyond them it reads segments twice.
const maxHeld = 64 << 20

// chain walks from head towards the beginning until stop says so, and returns the links newest first.
func (s *Store) chain(ctx context.Context, sessionID string, head Head, stop func(Head) bool) ([]link, error) {
	if err := head.check(); err != nil {
		return nil, err
	}
	var links []link
	held, first := 0, int64(-1)
	for !head.empty() && !stop(head) {
		seg, err := s.load(ctx, sessionID, head, first)
		if err != nil {
			return nil, err
		}
		l := link{head: head, first: seg.First, seg: seg}
		if held += len(seg.facts) + len(seg.chunks); held > maxHeld {
			l.seg = nil
		}
		if head.Count > seg.First {
			links = append(links, l)
		}
		first = seg.PrevFirst
		head = Head{Hash: seg.Prev.Hash, Count: min(head.Count, seg.Prev.Count)}
	}
	return links, nil
}

// reload returns the link's segment.
func (s *Store) reload(ctx context.Context, sessionID string, l link) (*segment, error) {
	if l.seg != nil {
		return l.seg, nil
	}
	return s.load(ctx, sessionID, l.head, l.first)
}
