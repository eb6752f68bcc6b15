package store

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/session"
)

// A Head names the end of a log: the segment that holds its last event, and how many events the log has. The zero
// Head is the empty log. Count may cut the segment, or even end in an earlier one; that is how a fork begins.
type Head struct {
	Hash  string `json:"hash,omitempty"` // SHA-256 of a segment's stored bytes, hexadecimal
	Count int64  `json:"count"`
}

func (h Head) empty() bool { return h.Count == 0 }

func (h Head) check() error {
	if h.Count < 0 || h.Hash == "" && h.Count != 0 || h.Hash != "" && !isHash(h.Hash) {
		return fmt.Errorf("head %q with %d events is malformed", h.Hash, h.Count)
	}
	return nil
}

// span is which events a segment holds, and what came before it.
type span struct {
	first, end int64
	prev       Head
}

// Append adds records to the log that ends at base and returns the new head. Their seqs must run on from base.Count.
// The epoch must not be fenced: a higher claimed one is a [*FencedError] and nothing is written. Appending the same
// records to the same base again yields the same head. Nobody sees the records until somebody records the head.
//
// What stands for stored bodies is replaced by them, see [Store.Hydrate]: a persisted log is complete in itself.
func (s *Store) Append(ctx context.Context, sessionID string, epoch int64, base Head, records []session.Record) (Head, error) {
	head, err := s.append(ctx, sessionID, epoch, base, records)
	if err != nil {
		return Head{}, fmt.Errorf("append to session %q: %w", sessionID, err)
	}
	return head, nil
}

func (s *Store) append(ctx context.Context, sessionID string, epoch int64, base Head, records []session.Record) (Head, error) {
	if err := s.CheckEpoch(ctx, sessionID, epoch); err != nil {
		return Head{}, err
	}
	base, err := s.Cut(ctx, sessionID, base, base.Count)
	if err != nil || len(records) == 0 {
		return base, err
	}
	if err := checkSeqs(base.Count, records); err != nil {
		return Head{}, err
	}
	if records, err = s.Hydrate(ctx, records); err != nil {
		return Head{}, err
	}
	seed, err := s.seedLength(ctx, sessionID)
	if err != nil {
		return Head{}, err
	}
	state, err := s.warmState(base, seed, records)
	if err != nil {
		return Head{}, err
	}
	info := segmentHead{Session: sessionID, Epoch: epoch, First: base.Count, Prev: base, PrevFirst: s.firstOf(base)}
	data, err := encodeSegment(info, records)
	if err != nil {
		return Head{}, err
	}
	head := Head{Hash: hashOf(data), Count: base.Count + int64(len(records))}
	if err := s.createContent(ctx, "store segment", contentKey("segments", head.Hash), data); err != nil {
		return Head{}, err
	}
	s.spans.put(head.Hash, span{base.Count, head.Count, base})
	s.keepState(sessionID, head, seed, state)
	return head, nil
}

// checkSeqs refuses records that do not go on where the log ends.
func checkSeqs(first int64, records []session.Record) error {
	for i, r := range records {
		if want := first + int64(i); r.Seq != want {
			return fmt.Errorf("event %d of %d has seq %d, the log goes on at %d (load the log again)", i, len(records), r.Seq, want)
		}
	}
	return nil
}

// firstOf returns the first seq of the segment a head names, as far as it is known.
func (s *Store) firstOf(h Head) (first int64) {
	s.spans.get(h.Hash, func(sp span) { first = sp.first })
	return first
}
