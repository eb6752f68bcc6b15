package activities

import (
	"context"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Persist writes the tail of a log, and at the end of a drain names the new head in the store. See architecture A3.2.
func (a *Activities) Persist(ctx context.Context, in work.PersistIn) (work.PersistOut, error) {
	defer a.beat(ctx, in.Ident.Session, in.ID)()
	head, err := a.persist(ctx, in)
	if err != nil {
		return work.PersistOut{}, a.leave(err, "persist events of "+in.Ident.Session)
	}
	return work.PersistOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: head}, nil
}

func (a *Activities) persist(ctx context.Context, in work.PersistIn) (head work.Head, err error) {
	if err := a.admit(ctx, in.Ident); err != nil {
		return head, err
	}
	records, err := a.Store.Hydrate(ctx, in.Tail)
	if err != nil {
		return head, err
	}
	if head, err = a.append(ctx, quickTries, in.Ident, in.Head, records); err != nil {
		return head, err
	}
	if in.Publish && head.Count > 0 {
		err = a.Store.PublishHead(ctx, in.Ident.Session, in.Ident.Epoch, store.Head(head))
	}
	return head, err
}

// append writes one segment, or nothing if there is nothing to write.
func (a *Activities) append(ctx context.Context, tries int, id work.Ident, base work.Head, records []session.Record) (head work.Head, err error) {
	if len(records) == 0 {
		return base, nil
	}
	err = a.try(ctx, tries, func(ctx context.Context) error {
		h, err := a.Store.Append(ctx, id.Session, id.Epoch, store.Head(base), records)
		head = work.Head(h)
		return err
	})
	if err != nil {
		return base, err
	}
	return head, nil
}
