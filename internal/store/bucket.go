package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

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
		for obj, err := range o.Stats(ctx, prefix) {
			if !yield(obj.Key, err) {
				return
			}
		}
	}
}

// Stats implements [Objects].
func (o bucket) Stats(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		it := o.b.List(&blob.ListOptions{Prefix: prefix})
		for {
			obj, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Object{}, o.wrap("list", prefix, err))
				return
			}
			if !yield(Object{obj.Key, obj.Size, obj.ModTime}, nil) {
				return
			}
		}
	}
}

// Touch implements [Objects]: a bucket knows no touch, so the same bytes are written over themselves.
func (o bucket) Touch(ctx context.Context, key string) error {
	return o.wrap("touch", key, o.rewrite(ctx, key, touchAfter))
}

// rewrite makes an object young that is older than age.
func (o bucket) rewrite(ctx context.Context, key string, age time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := o.b.Attributes(ctx, key)
	if err != nil || time.Since(info.ModTime) < age {
		return err
	}
	data, err := o.b.ReadAll(ctx, key)
	if err != nil {
		return err
	}
	return o.b.WriteAll(ctx, key, data, &blob.WriterOptions{ContentType: "application/octet-stream"})
}

// DeleteBefore implements [Objects]. Between its look and the deletion lies a moment.
func (o bucket) DeleteBefore(ctx context.Context, key string, t time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	info, err := o.b.Attributes(ctx, key)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return true, nil
	case err != nil:
		return false, o.wrap("delete", key, err)
	case !info.ModTime.Before(t):
		return false, nil
	}
	err = o.Delete(ctx, key)
	return err == nil, err
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
