package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
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
	// Stats is List with the size and the age of each object. One that vanishes meanwhile may be left out.
	Stats(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Touch makes an object count as made now, or returns [ErrNotFound]. One that is younger than [touchAfter] may be left
	// as it is.
	Touch(ctx context.Context, key string) error
	// Delete removes an object; an absent one is not an error.
	Delete(ctx context.Context, key string) error
	// DeleteBefore removes an object that was made or touched before t, and reports whether it is gone.
	DeleteBefore(ctx context.Context, key string, t time.Time) (gone bool, err error)
	// Close releases what the driver holds.
	Close() error
}

// An Object is what is known of an object without reading it.
type Object struct {
	Key   string
	Bytes int64
	Made  time.Time // or touched
}

// touchAfter is the age from which on [Objects.Touch] must do something. It is far below every grace period that is
// allowed while agents work, see [MinGrace].
const touchAfter = 10 * time.Minute

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

// createContent creates an object named by its own hash. One that is there already counts as made now, so that whoever
// stores what is stored has as much time to refer to it as if it were new. An object of that name with other bytes is
// damaged: it is replaced, since the right bytes are at hand.
func (s *Store) createContent(ctx context.Context, what, key string, data []byte) error {
	var err error
	for range 4 { // it can be collected between two looks; then it is made anew
		if err = s.objects.Create(ctx, key, data); !errors.Is(err, ErrExists) {
			break
		}
		if err = s.renew(ctx, key, data); !errors.Is(err, ErrNotFound) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// renew touches an object that holds the given bytes. If it holds others it removes it, and says that it is not there.
func (s *Store) renew(ctx context.Context, key string, data []byte) error {
	if err := s.objects.Touch(ctx, key); err != nil {
		return err
	}
	old, err := s.objects.Get(ctx, key)
	if err != nil || bytes.Equal(old, data) {
		return err
	}
	if err := s.objects.Delete(ctx, key); err != nil {
		return fmt.Errorf("replace damaged object %s: %w", key, err)
	}
	return ErrNotFound
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
