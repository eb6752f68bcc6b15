package storetest

import (
	"context"
	"iter"
	"time"

	"github.com/everturn/everturn/internal/store"
)

// Faulty is a driver that fails as its [Faults] say.
type Faulty struct {
	inner  store.Objects
	faults *Faults
}

var _ store.Objects = (*Faulty)(nil)

// Create implements [store.Objects].
func (o *Faulty) Create(ctx context.Context, key string, data []byte) error {
	e := o.faults.hit(Create, key)
	if err := e.start(ctx); err != nil {
		return err
	}
	if e.damage != nil {
		data = e.damage(data)
	}
	return e.finish(o.inner.Create(ctx, key, data))
}

// Get implements [store.Objects].
func (o *Faulty) Get(ctx context.Context, key string) ([]byte, error) {
	e := o.faults.hit(Get, key)
	if err := e.start(ctx); err != nil {
		return nil, err
	}
	data, err := o.inner.Get(ctx, key)
	if err = e.finish(err); err != nil {
		return nil, err
	}
	if e.damage != nil {
		data = e.damage(data)
	}
	return data, nil
}

// List implements [store.Objects].
func (o *Faulty) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		e := o.faults.hit(List, prefix)
		if err := e.start(ctx); err != nil {
			yield("", err)
			return
		}
		for key, err := range o.inner.List(ctx, prefix) {
			if !yield(key, err) {
				return
			}
		}
		if e.after != nil {
			yield("", e.after)
		}
	}
}

// Stats implements [store.Objects]; to faults it is a list.
func (o *Faulty) Stats(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		e := o.faults.hit(List, prefix)
		if err := e.start(ctx); err != nil {
			yield(store.Object{}, err)
			return
		}
		for obj, err := range o.inner.Stats(ctx, prefix) {
			if !yield(obj, err) {
				return
			}
		}
		if e.after != nil {
			yield(store.Object{}, e.after)
		}
	}
}

// Touch implements [store.Objects].
func (o *Faulty) Touch(ctx context.Context, key string) error {
	e := o.faults.hit(Touch, key)
	if err := e.start(ctx); err != nil {
		return err
	}
	return e.finish(o.inner.Touch(ctx, key))
}

// DeleteBefore implements [store.Objects]; to faults it is a delete.
func (o *Faulty) DeleteBefore(ctx context.Context, key string, t time.Time) (bool, error) {
	e := o.faults.hit(Delete, key)
	if err := e.start(ctx); err != nil {
		return false, err
	}
	gone, err := o.inner.DeleteBefore(ctx, key, t)
	if err = e.finish(err); err != nil {
		return false, err
	}
	return gone, nil
}

// Delete implements [store.Objects].
func (o *Faulty) Delete(ctx context.Context, key string) error {
	e := o.faults.hit(Delete, key)
	if err := e.start(ctx); err != nil {
		return err
	}
	return e.finish(o.inner.Delete(ctx, key))
}

// Close implements [store.Objects].
func (o *Faulty) Close() error { return o.inner.Close() }

func (e effect) start(ctx context.Context) error {
	if e.before == nil {
		return nil
	}
	return e.before(ctx)
}

// finish returns the lost answer's error if the operation itself went well.
func (e effect) finish(err error) error {
	if err != nil {
		return err
	}
	return e.after
}
