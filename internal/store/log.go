package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

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
// A tool call whose arguments were set aside as a blob gets its text back. See spec §2.1.
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
	if records, err = s.wholeRecords(ctx, base.Count, records); err != nil {
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

// wholeRecords checks the seqs and puts set-aside arguments back.
func (s *Store) wholeRecords(ctx context.Context, first int64, records []session.Record) ([]session.Record, error) {
	out := make([]session.Record, len(records))
	for i, r := range records {
		if want := first + int64(i); r.Seq != want {
			return nil, fmt.Errorf("event %d of %d has seq %d, the log goes on at %d (load the log again)", i, len(records), r.Seq, want)
		}
		if call, ok := r.Event.(session.ToolCall); ok && call.ArgumentsBlob != nil {
			text, err := s.Blob(ctx, call.ArgumentsBlob.SHA256)
			if err != nil {
				return nil, fmt.Errorf("event %d: arguments of call %q: %w", r.Seq, call.CallID, err)
			}
			call.Arguments, call.ArgumentsBlob = string(text), nil
			r = session.Record{Seq: r.Seq, Time: r.Time, Event: call, Surface: r.Surface, Sources: r.Sources, Ignorable: r.Ignorable}
		}
		out[i] = r
	}
	return out, nil
}

// firstOf returns the first seq of the segment a head names, as far as it is known.
func (s *Store) firstOf(h Head) (first int64) {
	s.spans.get(h.Hash, func(sp span) { first = sp.first })
	return first
}

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
	return &CorruptError{Session: sessionID, FirstSeq: end, LastSeq: head.Count - 1, Hash: head.Hash,
		Key: contentKey("segments", head.Hash), Reason: fmt.Sprintf("it ends at event %d", end-1)}
}

// load reads and verifies the segment a head names. first is its first seq if the caller knows it, else -1.
func (s *Store) load(ctx context.Context, sessionID string, head Head, first int64) (*segment, error) {
	key := contentKey("segments", head.Hash)
	bad := func(reason string, err error) error {
		return &CorruptError{Session: sessionID, FirstSeq: first, LastSeq: head.Count - 1, Hash: head.Hash, Key: key, Reason: reason, Err: err}
	}
	data, err := s.objects.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, bad("it is missing", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read segment: %w", err)
	}
	if hashOf(data) != head.Hash {
		return nil, bad("its bytes are damaged", nil)
	}
	seg, err := decodeSegment(data)
	if err != nil {
		return nil, bad(err.Error(), err)
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

// chain walks from head towards the beginning until stop says so, and returns the links newest first together with the
// head where it stopped.
func (s *Store) chain(ctx context.Context, sessionID string, head Head, stop func(Head) bool) ([]link, Head, error) {
	if err := head.check(); err != nil {
		return nil, Head{}, err
	}
	var links []link
	held, first := 0, int64(-1)
	for !head.empty() && !stop(head) {
		seg, err := s.load(ctx, sessionID, head, first)
		if err != nil {
			return nil, Head{}, err
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
	return links, head, nil
}

// reload returns the link's segment.
func (s *Store) reload(ctx context.Context, sessionID string, l link) (*segment, error) {
	if l.seg != nil {
		return l.seg, nil
	}
	return s.load(ctx, sessionID, l.head, l.first)
}

// Records yields the events of a log from seq from on, in order. After an error nothing more is yielded.
func (s *Store) Records(ctx context.Context, sessionID string, head Head, from int64) iter.Seq2[session.Record, error] {
	return s.events(ctx, sessionID, head, from, (*segment).readAll)
}

// Facts is Records without the chunks of the model's streams, which it does not even decompress.
func (s *Store) Facts(ctx context.Context, sessionID string, head Head, from int64) iter.Seq2[session.Record, error] {
	return s.events(ctx, sessionID, head, from, (*segment).readFacts)
}

func (s *Store) events(ctx context.Context, sessionID string, head Head, from int64, read func(*segment) ([]session.Record, error)) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		links, _, err := s.chain(ctx, sessionID, head, func(h Head) bool { return h.Count <= from })
		for i := len(links) - 1; i >= 0 && err == nil; i-- {
			var records []session.Record
			if records, err = s.linkRecords(ctx, sessionID, links[i], read); err != nil {
				break
			}
			for _, r := range records {
				if r.Seq >= from && r.Seq < links[i].head.Count && !yield(r, nil) {
					return
				}
			}
			links[i].seg = nil
		}
		if err != nil {
			yield(session.Record{}, fmt.Errorf("read session %q: %w", sessionID, err))
		}
	}
}

func (s *Store) linkRecords(ctx context.Context, sessionID string, l link, read func(*segment) ([]session.Record, error)) ([]session.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	seg, err := s.reload(ctx, sessionID, l)
	if err != nil {
		return nil, err
	}
	records, err := read(seg)
	if err != nil {
		return nil, &CorruptError{Session: sessionID, FirstSeq: l.first, LastSeq: l.head.Count - 1, Hash: l.head.Hash,
			Key: contentKey("segments", l.head.Hash), Reason: err.Error(), Err: err}
	}
	return records, nil
}

// encode is json.Marshal for values that always can.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("store: " + err.Error())
	}
	return data
}
