package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/everturn/everturn/session"
)

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
		links, err := s.chain(ctx, sessionID, head, func(h Head) bool { return h.Count <= from })
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
		return nil, lost(sessionID, l.first, l.head, err.Error(), err)
	}
	return records, nil
}
