package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// Log yields the session's events from seq on: what the store holds, then what the agent has not flushed yet if a
// worker answers. It works without any worker; at idle the store alone is complete.
func (a *Agent) Log(ctx context.Context, from int64) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		head, tail, err := a.heads(ctx)
		if err != nil {
			yield(session.Record{}, a.wrap("log", err))
			return
		}
		for r, err := range a.client.Store.Records(ctx, a.id, head, from) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		for _, r := range tail {
			if r.Seq >= from && !yield(r, nil) {
				return
			}
		}
	}
}

// heads asks the agent where its log is, or the store if no worker answers.
func (a *Agent) heads(ctx context.Context) (store.Head, []session.Record, error) {
	var l signals.Log
	if a.ask(ctx, signals.QueryLog, nil, &l) {
		tail, err := a.client.Store.Hydrate(ctx, l.Tail)
		return store.Head{Hash: l.Head.Hash, Count: l.Head.Count}, tail, err
	}
	return a.storeHead(ctx)
}

// storeHead is the head the store itself names.
func (a *Agent) storeHead(ctx context.Context) (store.Head, []session.Record, error) {
	_, head, err := a.client.Store.LatestHead(ctx, a.id)
	if errors.Is(err, store.ErrNotFound) {
		if _, err := a.client.Get(ctx, a.id); err != nil {
			return store.Head{}, nil, err
		}
		return store.Head{}, nil, nil // nothing flushed yet
	}
	return head, nil, err
}

// Header is the immutable description of the session.
func (a *Agent) Header(ctx context.Context) (session.Header, error) {
	h, err := a.client.Store.Header(ctx, a.id)
	return h, a.wrap("header", err)
}

// Fold returns the state of the log as it is now.
func (a *Agent) Fold(ctx context.Context) (*session.State, error) {
	s := session.NewState()
	if h, err := a.client.Store.Header(ctx, a.id); err == nil {
		s = session.NewSeededState(h.SeedLength)
	}
	for r, err := range a.Log(ctx, 0) {
		if err != nil {
			return nil, err
		}
		if err := s.Apply(r); err != nil {
			return nil, fmt.Errorf("agent %s: the log is not valid: %w", a.id, err)
		}
	}
	return s, nil
}

// Follow yields the session's events from seq on and then those that are still to come, until ctx ends or the agent
// does.
func (a *Agent) Follow(ctx context.Context, from int64) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for {
			open := a.stillOpen(ctx) == nil
			for r, err := range a.Log(ctx, from) {
				if !yield(r, err) || err != nil {
					return
				}
				from = r.Seq + 1
			}
			if !open {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(a.client.Poll):
			}
		}
	}
}
