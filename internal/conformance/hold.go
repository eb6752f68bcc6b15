package conformance

import (
	"context"
	"sync"
)

// A yard is where gates, tools and points of activities are held, by name. The zero value is ready to use.
type yard struct {
	mu      sync.Mutex
	holds   map[string]*hold
	changed chan struct{} // closed and replaced when an arrival or a release happens
	opened  bool          // the scenario is over: nothing is held any more
}

// A hold numbers its arrivals; the n-th release lets the n-th arrival go.
type hold struct{ arrived, seen, released int }

func (y *yard) at(name string) *hold {
	if y.holds == nil {
		y.holds, y.changed = map[string]*hold{}, make(chan struct{})
	}
	if y.holds[name] == nil {
		y.holds[name] = &hold{}
	}
	return y.holds[name]
}

// do changes the yard and tells everybody who waits.
func (y *yard) do(name string, change func(*hold)) {
	y.mu.Lock()
	defer y.mu.Unlock()
	change(y.at(name))
	close(y.changed)
	y.changed = make(chan struct{})
}

// wait returns when cond holds, or with the error of ctx.
func (y *yard) wait(ctx context.Context, name string, cond func(*hold) bool) error {
	for {
		y.mu.Lock()
		ok, changed := cond(y.at(name)), y.changed
		y.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// arrive stands at the hold until it is released or ctx ends.
func (y *yard) arrive(ctx context.Context, name string) error {
	ticket := 0
	y.do(name, func(h *hold) { h.arrived++; ticket = h.arrived })
	return y.wait(ctx, name, func(h *hold) bool { return y.opened || h.released >= ticket })
}

// until returns when somebody has arrived; each arrival answers one call.
func (y *yard) until(ctx context.Context, name string) error {
	return y.wait(ctx, name, func(h *hold) bool {
		if h.arrived <= h.seen {
			return false
		}
		h.seen++
		return true
	})
}

// release lets the one go that arrived first, or the next one to arrive.
func (y *yard) release(name string) { y.do(name, func(h *hold) { h.released++ }) }

// open lets everybody go, now and from now on.
func (y *yard) open() { y.do("", func(*hold) { y.opened = true }) }
