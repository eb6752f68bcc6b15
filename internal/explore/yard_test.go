package explore

import (
	"context"
	"slices"
	"strings"
	"sync"

	"go.temporal.io/sdk/activity"

	"github.com/everturn/everturn/tools"
)

// A yard is where the activities of one agent stand and sleep on a Temporal server.
type yard struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when somebody comes, goes or is cancelled
	there   []*guest
	open    bool // nobody stands or sleeps any more
}

// A guest is an activity that stands or sleeps.
type guest struct {
	place
	activity string // its id in the run
	ctx      context.Context
	gate     chan struct{}
	asleep   bool
}

// yards of all agents, by id.
var yards sync.Map

// yardOf is the yard of the activity that ctx belongs to, nil if it is none of a Temporal server's.
func yardOf(ctx context.Context) *yard {
	if !activity.IsActivity(ctx) {
		return nil
	}
	y, _ := yards.Load(activity.GetInfo(ctx).WorkflowExecution.ID)
	found, _ := y.(*yard)
	return found
}

func newYard() *yard { return &yard{changed: make(chan struct{})} }

// announce tells who waits. The caller holds the lock.
func (y *yard) announce() {
	close(y.changed)
	y.changed = make(chan struct{})
}

// change is closed by the next change.
func (y *yard) change() <-chan struct{} {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.changed
}

// come takes up a guest.
func (y *yard) come(g *guest) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.open {
		close(g.gate)
		return
	}
	y.there = append(y.there, g)
	y.announce()
}

// gone lets a guest go, if it is still there. The caller holds the lock.
func (y *yard) gone(g *guest) {
	if i := slices.Index(y.there, g); i >= 0 {
		y.there = slices.Delete(y.there, i, i+1)
		close(g.gate)
		y.announce()
	}
}

func (y *yard) guest(ctx context.Context, at place, asleep bool) *guest {
	return &guest{place: at, activity: activity.GetInfo(ctx).ActivityID, ctx: ctx, gate: make(chan struct{}), asleep: asleep}
}

// stand waits at a point until it is released, cancelled or not.
func (y *yard) stand(ctx context.Context, point string) {
	at := place{point: point}
	if call, ok := tools.CallFrom(ctx); ok {
		at.tool, _, _ = strings.Cut(call.ID, "-")
	}
	g := y.guest(ctx, at, false)
	defer context.AfterFunc(ctx, func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.announce()
	})()
	y.come(g)
	<-g.gate
}

// sleep waits until time passes, or ctx ends.
func (y *yard) sleep(ctx context.Context) error {
	g := y.guest(ctx, place{}, true)
	y.come(g)
	select {
	case <-g.gate:
	case <-ctx.Done():
		y.mu.Lock()
		defer y.mu.Unlock()
		y.gone(g)
	}
	return ctx.Err()
}

// standing are those who stand, in order.
func (y *yard) standing() (out []*guest) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, g := range y.there {
		if !g.asleep {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b *guest) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// of is the guest that an activity is, nil if it neither stands nor sleeps.
func (y *yard) of(activity string) *guest {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, g := range y.there {
		if g.activity == activity {
			return g
		}
	}
	return nil
}

func (y *yard) let(g *guest) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.gone(g)
}

// wake ends all sleep.
func (y *yard) wake() {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, g := range slices.Clone(y.there) {
		if g.asleep {
			y.gone(g)
		}
	}
}

// close lets everybody go, now and from now on.
func (y *yard) close() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.open = true
	for _, g := range slices.Clone(y.there) {
		y.gone(g)
	}
}
