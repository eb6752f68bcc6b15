package local

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
)

// Work returns what [Config].Activities needs: the real activities over objects that outlive every worker. What belongs
// to a worker is filled in: store handle, clock, broker, and everything that Temporal would say of an execution.
func Work(c activities.Config, objects store.Objects) func(*Worker) (Activities, error) {
	return func(w *Worker) (Activities, error) {
		c := c // each worker has its own
		var err error
		if c.Store, err = w.OpenStore(objects); err != nil {
			return nil, err
		}
		c.Broker, c.History = w.Broker(), w
		c.Clock, c.Sleep = w.Now, func(ctx context.Context, d time.Duration) { _ = Sleep(ctx, d) }
		c.Execution, c.Stopped, c.Probe = w.Execution, w.Stopped, Probe
		if c.Random == nil {
			c.Random = func() float64 { return 0.5 }
		}
		return activities.New(c)
	}
}

// Objects opens the place at a store URL, to be shared by the workers of an engine and by the engine after it. A mem://
// place lives as long as the value.
func Objects(ctx context.Context, location string) (store.Objects, error) {
	var found store.Objects
	_, err := store.Open(ctx, location, store.Options{Wrap: func(o store.Objects) store.Objects {
		found = o
		return o
	}})
	return found, err
}

// OpenStore opens a worker's own handle of a shared place: own caches, and nothing gets through once the worker is dead.
func (w *Worker) OpenStore(objects store.Objects) (*store.Store, error) {
	return openShared(fenced{w, objects})
}

// OpenStore opens a handle of a shared place that no worker owns, to read logs.
func OpenStore(objects store.Objects) (*store.Store, error) { return openShared(kept{objects}) }

func openShared(objects store.Objects) (*store.Store, error) {
	return store.Open(context.Background(), "mem://", store.Options{Wrap: func(unused store.Objects) store.Objects {
		_ = unused.Close()
		return objects
	}})
}

// kept stays open when a handle is closed.
type kept struct{ store.Objects }

// Close implements [store.Objects].
func (kept) Close() error { return nil }

// alive does something unless the worker is dead; a worker does not die in the middle of it.
func (w *Worker) alive(do func() error) error {
	w.fence.RLock()
	defer w.fence.RUnlock()
	if w.over {
		return fmt.Errorf("worker %d: %w", w.n, errDied)
	}
	return do()
}

// fenced lets nothing through once its worker is dead.
type fenced struct {
	w     *Worker
	inner store.Objects
}

var _ store.Objects = fenced{}

// Create implements [store.Objects].
func (f fenced) Create(ctx context.Context, key string, data []byte) error {
	return f.w.alive(func() error { return f.inner.Create(ctx, key, data) })
}

// Get implements [store.Objects].
func (f fenced) Get(ctx context.Context, key string) (data []byte, err error) {
	err = f.w.alive(func() error {
		data, err = f.inner.Get(ctx, key)
		return err
	})
	return data, err
}

// List implements [store.Objects].
func (f fenced) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := f.w.alive(func() error { return nil }); err != nil {
			yield("", err)
			return
		}
		f.inner.List(ctx, prefix)(yield)
	}
}

// Stats implements [store.Objects].
func (f fenced) Stats(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		if err := f.w.alive(func() error { return nil }); err != nil {
			yield(store.Object{}, err)
			return
		}
		f.inner.Stats(ctx, prefix)(yield)
	}
}

// Touch implements [store.Objects].
func (f fenced) Touch(ctx context.Context, key string) error {
	return f.w.alive(func() error { return f.inner.Touch(ctx, key) })
}

// DeleteBefore implements [store.Objects].
func (f fenced) DeleteBefore(ctx context.Context, key string, t time.Time) (gone bool, err error) {
	err = f.w.alive(func() error {
		gone, err = f.inner.DeleteBefore(ctx, key, t)
		return err
	})
	return gone, err
}

// Delete implements [store.Objects].
func (f fenced) Delete(ctx context.Context, key string) error {
	return f.w.alive(func() error { return f.inner.Delete(ctx, key) })
}

// Close implements [store.Objects]: the place belongs to others too.
func (f fenced) Close() error { return nil }

// Broker is the engine's broker as the worker sees it: silent once the worker is dead. It is nil if there is none.
func (w *Worker) Broker() stream.Broker {
	if w.engine.cfg.Broker == nil {
		return nil
	}
	return voice{w, w.engine.cfg.Broker}
}

type voice struct {
	w *Worker
	stream.Broker
}

// Publish implements [stream.Broker].
func (v voice) Publish(f stream.Frame) {
	_ = v.w.alive(func() error { // what the dead say is not heard
		v.Broker.Publish(f)
		return nil
	})
}
