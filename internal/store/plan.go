package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Plan says what would be deleted and why the rest stays. [Plan.Run] and [Plan.Finish] do it.
type Plan struct {
	Sessions int // that were looked at
	Known    int // of them, remembered by whoever runs them
	Open     int // of them, running

	// Of [Store.PlanErase]:
	Found    bool      // there is something of the session in the store
	Newest   time.Time // when the youngest of its objects was made
	NeededBy []string  // sessions that need objects which the erased one reaches too
	Needed   []Count   // those objects
	Young    Count     // blobs that stay because they are younger than the grace period

	s      *Store
	o      GarbageOptions
	inv    *inventory
	live   *marker // what must stay
	cutoff time.Time
	except string // session that is erased
	asked  map[string]Memory
	going  []Object
	owned  map[string]bool // keys that go whatever their age
	last   []Object        // that go when everything else is gone
}

// drop plans to delete an object, unless it is too young.
func (p *Plan) drop(obj Object) bool {
	old := obj.Made.Before(p.cutoff)
	if old {
		p.going = append(p.going, obj)
	}
	return old
}

// Counts says what is to be deleted, by kind.
func (p *Plan) Counts() []Count {
	return countsOf(append(slices.Clone(p.going), p.last...))
}

func countsOf(objects []Object) []Count {
	by := map[string]*Count{}
	for _, obj := range objects {
		kind, _, _ := strings.Cut(obj.Key, "/")
		if by[kind] == nil {
			by[kind] = &Count{Kind: kind}
		}
		by[kind].Objects++
		by[kind].Bytes += obj.Bytes
	}
	out := []Count{}
	for _, kind := range sortedKeys(by) {
		out = append(out, *by[kind])
	}
	return out
}

// runBatch is how many objects are deleted between two looks at what happened meanwhile.
const runBatch = 1000

// Run deletes, and returns what it deleted, also when it fails. Before it does it looks again at heads and journals, and at
// the age of every object: what somebody has named or stored again since stays. It may be run again, by anybody.
func (p *Plan) Run(ctx context.Context) ([]Count, error) {
	var done []Object
	slices.SortStableFunc(p.going, inOrder)
	for batch := range slices.Chunk(p.going, runBatch) {
		if err := p.lookAgain(ctx); err != nil {
			return countsOf(done), fmt.Errorf("look again before deleting: %w", err)
		}
		for _, obj := range batch {
			gone, err := p.remove(ctx, obj)
			if err != nil {
				return countsOf(done), err
			}
			if gone {
				done = append(done, obj)
			}
		}
	}
	return countsOf(done), nil
}

// Finish deletes what makes an erased session's id taken. Call it when everything else is gone.
func (p *Plan) Finish(ctx context.Context) ([]Count, error) {
	for _, obj := range p.last {
		if err := p.s.objects.Delete(ctx, obj.Key); err != nil {
			return nil, err
		}
	}
	p.s.forget(p.except)
	return countsOf(p.last), nil
}

// order is which kinds go first: pointers before what they point to, so that nothing points to what is gone.
var order = []string{kindWaiting, kindHeads, kindJournal, kindEffects, kindEpochs, kindSegments, kindBlobs}

// inOrder puts later parts of a journal first, so that one which is half gone never looks complete, and the head that counts
// last of the heads.
func inOrder(a, b Object) int {
	kindA, _, _ := strings.Cut(a.Key, "/")
	kindB, _, _ := strings.Cut(b.Key, "/")
	if kindA == kindJournal && kindB == kindJournal {
		return cmp.Compare(b.Key, a.Key)
	}
	return cmp.Or(cmp.Compare(slices.Index(order, kindA), slices.Index(order, kindB)), cmp.Compare(a.Key, b.Key))
}

func (p *Plan) remove(ctx context.Context, obj Object) (bool, error) {
	hash := obj.Key[strings.LastIndexByte(obj.Key, '/')+1:]
	switch kind, _, _ := strings.Cut(obj.Key, "/"); {
	case kind == kindSegments && p.live.segments[hash], kind == kindBlobs && p.live.blobs[hash]:
		return false, nil
	}
	if p.owned[obj.Key] {
		return true, p.s.objects.Delete(ctx, obj.Key)
	}
	return p.s.objects.DeleteBefore(ctx, obj.Key, p.cutoff)
}

// lookAgain marks what heads and journals name that are new since the plan was made.
func (p *Plan) lookAgain(ctx context.Context) error {
	for _, folder := range []string{kindHeads, kindJournal} {
		keys, err := p.s.keys(ctx, folder+"/")
		if err != nil {
			return err
		}
		for _, key := range keys {
			if p.inv.seen[key] || p.except != "" && strings.HasPrefix(key, folder+"/"+escape(p.except)+"/") {
				continue
			}
			p.inv.seen[key] = true
			if err := p.markNew(ctx, folder, key); err != nil {
				return err
			}
		}
	}
	return p.live.finish(ctx)
}

func (p *Plan) markNew(ctx context.Context, folder, key string) error {
	if folder == kindHeads {
		return p.markHead(ctx, p.live, key)
	}
	return p.live.sealed(ctx, key)
}

// forget drops what this handle remembers of a session's own objects.
func (s *Store) forget(sessionID string) {
	s.seeds.trim(0, func(v seedOf) bool { return v.session == sessionID })
	s.forgetPublished(sessionID)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
