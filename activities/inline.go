package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// storeContent sets message content aside.
func (a *Activities) storeContent(ctx context.Context, c session.Content) (ref session.Artifact, err error) {
	data, err := json.Marshal(c)
	if err != nil {
		return ref, fmt.Errorf("store content: %w", err)
	}
	err = a.try(ctx, quickTries, func(ctx context.Context) error {
		ref, err = a.Store.PutBlob(ctx, data, work.ContentMediaType)
		return err
	})
	return ref, err
}

// inline returns content that fits into an answer: itself, or one block that stands for it.
func (a *Activities) inline(ctx context.Context, c session.Content) (session.Content, error) {
	data, err := json.Marshal(c)
	if err != nil || len(data) <= work.InlineLimit {
		return c, err
	}
	ref, err := a.storeContent(ctx, c)
	if err != nil {
		return nil, err
	}
	return session.Content{ref}, nil
}
