package activities

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

// noteClaim remembers the messages that a record claims. before is the inbox without it. See spec §2.4.1.
func noteClaim(claimed map[string]session.Message, before session.Inbox, r session.Record) {
	e, ok := r.Event.(session.InboxSpliced)
	if !ok || e.RemovedCount == 0 || e.Outcome != "" {
		return
	}
	list := before.NextTurn
	if e.Target == session.NextStep {
		list = before.NextStep
	}
	if e.Start < 0 || e.Start+e.RemovedCount > len(list) {
		return // refused when it is applied
	}
	for _, m := range list[e.Start : e.Start+e.RemovedCount] {
		claimed[m.ID] = m
	}
}

// findBatch resolves the ids of the claimed messages. Normally the claim is in the tail; when the tail had to be written
// on the way, the log is read for it.
func (s *step) findBatch(ctx context.Context, claimed map[string]session.Message) ([]session.Message, error) {
	for _, id := range s.in.Batch {
		if _, ok := claimed[id]; !ok {
			if err := s.findInLog(ctx, claimed); err != nil {
				return nil, err
			}
			break
		}
	}
	out := make([]session.Message, 0, len(s.in.Batch))
	for _, id := range s.in.Batch {
		m, ok := claimed[id]
		if !ok {
			return nil, fmt.Errorf("claimed message %s is not in the log", id)
		}
		out = append(out, m)
	}
	return out, nil
}

// findInLog notes every message that was inserted, the latest of an id: a claimed one is in no list any more. What the
// tail claimed is known better.
func (s *step) findInLog(ctx context.Context, claimed map[string]session.Message) error {
	old := map[string]session.Message{}
	for r, err := range s.Store.Facts(ctx, s.in.Ident.Session, store.Head(s.in.Head), 0) {
		if err != nil {
			return err
		}
		if e, ok := r.Event.(session.InboxSpliced); ok {
			for _, m := range e.Inserted {
				old[m.ID] = m
			}
		}
	}
	for id, m := range old {
		if _, ok := claimed[id]; !ok {
			claimed[id] = m
		}
	}
	return nil
}
