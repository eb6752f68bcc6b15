package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
)

// The bounds of making a request of a log of 200,000 tokens, in ms.
const (
	foldWarm = 5
	foldCold = 300
)

// measureFold makes the request of a long log: 100 turns of 500 chunks, four tokens each.
func measureFold(ctx context.Context, b *bench) error {
	home, err := os.MkdirTemp("", "everturn-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	folder := filepath.Join(home, "store")
	head, err := longLog(ctx, folder)
	if err != nil {
		return err
	}
	var cold, warm []time.Duration
	for range b.scale.folds {
		s, err := store.Open(ctx, folder, store.Options{})
		if err != nil {
			return err
		}
		for _, took := range []*[]time.Duration{&cold, &warm} {
			d, err := request(ctx, s, head)
			if err != nil {
				return err
			}
			*took = append(*took, d)
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	b.atMost("request of a log of 200,000 tokens, log in memory, p50", millis(quantile(warm, 0.5)), "ms", foldWarm)
	b.add("  fastest", millis(quantile(warm, 0)), "ms")
	b.atMost("the same from files, p50", millis(quantile(cold, 0.5)), "ms", foldCold)
	b.add("  fastest", millis(quantile(cold, 0)), "ms")
	return nil
}

// longLog writes the log, a segment for each turn.
func longLog(ctx context.Context, folder string) (head store.Head, err error) {
	s, err := store.Open(ctx, folder, store.Options{Sync: store.SyncNone})
	if err != nil {
		return head, err
	}
	const turns, chunks = 100, 500
	records := storetest.Conversation(turns, chunks)
	for per := len(records) / turns; len(records) > 0; {
		n := min(per, len(records))
		if head, err = s.Append(ctx, "s", 0, head, records[:n]); err != nil {
			return head, err
		}
		records = records[n:]
	}
	return head, s.Close()
}

// request folds the log and makes the request it asks for.
func request(ctx context.Context, s *store.Store, head store.Head) (time.Duration, error) {
	begin := time.Now()
	state, err := s.State(ctx, "s", head)
	if err != nil {
		return 0, err
	}
	made := activities.RequestAt(state, "s")
	took := time.Since(begin)
	if len(made.Messages) < 200 {
		return 0, fmt.Errorf("the request has %d messages", len(made.Messages))
	}
	return took, nil
}
