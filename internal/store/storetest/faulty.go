package storetest

import (
	"context"
	"iter"

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
