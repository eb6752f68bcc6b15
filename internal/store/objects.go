package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
)

// Objects is what a [Store] needs of a place that keeps bytes under keys.
//
// Keys are slash-separated, every part made of a–z, 0–9, '.', '_', '-' and '=', not longer than 255 bytes and not
// beginning with a dot. Every method is safe for concurrent use.
type Objects interface {
	// Create stores data under a new key. It is atomic: of several creators one wins, the others get [ErrExists], and
	// nobody ever sees a part of an object. When it returns nil or ErrExists the object is durable.
	Create(ctx context.Context, key string, data []byte) error
	// Get returns the bytes under key, or [ErrNotFound].
	Get(ctx context.Context, key string) ([]byte, error)
	// List yields the keys that begin with prefix in ascending order.
	List(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Delete removes an object; an absent one is not an error.
	Delete(ctx context.Context, key string) error
	// Close releases what the driver holds.
	Close() error
}

// createSame creates key; if it is taken by the same bytes that is fine, by other bytes it is a *ConflictError.
func (s *Store) createSame(ctx context.Context, what, key string, data []byte) error {
	err := s.objects.Create(ctx, key, data)
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrExists) {
		return fmt.Errorf("%s: %w", what, err)
	}
	old, err := s.objects.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if !bytes.Equal(old, data) {
		return &ConflictError{What: what, Key: key}
	}
	return nil
}

// createContent creates an object named by its own hash. An object of that name with other bytes is damaged: it is
// replaced, since the right bytes are at hand.
func (s *Store) createContent(ctx context.Context, what, key string, data []byte) error {
	err := s.createSame(ctx, what, key, data)
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	if err := s.objects.Delete(ctx, key); err != nil {
		return fmt.Errorf("%s: replace damaged object %s: %w", what, key, err)
	}
	return s.createSame(ctx, what, key, data)
}

// keys collects what List yields.
func (s *Store) keys(ctx context.Context, prefix string) ([]string, error) {
	var out []string
	for key, err := range s.objects.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}
