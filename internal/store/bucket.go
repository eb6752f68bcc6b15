package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// bucket keeps objects in a bucket of gocloud.dev/blob.
type bucket struct {
	b *blob.Bucket
}

// Create implements [Objects].
func (o bucket) Create(ctx context.Context, key string, data []byte) error {
	if err := errors.Join(ctx.Err(), checkKey(key)); err != nil {
		return err
	}
	err := o.b.WriteAll(ctx, key, data, &blob.WriterOptions{IfNotExist: true, ContentType: "application/octet-stream"})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return ErrExists
	}
	return o.wrap("create", key, err)
}

// Get implements [Objects].
func (o bucket) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil { // the memory driver does not ask
		return nil, err
	}
	data, err := o.b.ReadAll(ctx, key)
	return data, o.wrap("get", key, err)
}

// List implements [Objects].
func (o bucket) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		it := o.b.List(&blob.ListOptions{Prefix: prefix})
		for {
			obj, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield("", o.wrap("list", prefix, err))
				return
			}
			if !yield(obj.Key, nil) {
				return
			}
		}
	}
}

// Delete implements [Objects].
func (o bucket) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := o.wrap("delete", key, o.b.Delete(ctx, key))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Close implements [Objects].
func (o bucket) Close() error { return o.b.Close() }

func (o bucket) wrap(op, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		return fmt.Errorf("%s %s: %w", op, key, ErrNotFound)
	default:
		return fmt.Errorf("%s %s: %w", op, key, err)
	}
}
