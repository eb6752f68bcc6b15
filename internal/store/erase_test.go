package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/session"
)

const orphan = "a segment that lost its race"

// A family is a session, a fork of it, a fork of the fork, and a stranger.
type family struct {
	*yard
	parent, fork, grandchild store.Head
	shared, own, child       session.Artifact
}

func newFamily(t *testing.T, location string) *family {
	t.Helper()
	f := &family{yard: newYard(t, location)}
	ctx := t.Context()
	f.texts["p"], f.texts["p/1"] = "", "" // closed, and remembered
	f.named("a shared body", func() { f.shared = f.blob("shared") })
	f.named("a body of the parent", func() { f.own = f.blob("own") })
	f.named("a body of the fork", func() { f.child = f.blob("child") })
	var at store.Head
	f.named("what the fork inherited", func() { at = f.append("p", 1, store.Head{}, storetest.Conversation(1, 2)) })
	f.named("later events of the parent", func() {
		middle := f.append("p", 1, at, []session.Record{naming(at.Count, f.shared)})
		f.parent = f.append("p", 1, middle, []session.Record{naming(at.Count+1, f.own)})
	})
	f.named(orphan, func() { f.append("p", 1, at, []session.Record{naming(at.Count, f.own)}) })
	f.named("the parent itself", func() {
		require.NoError(t, f.ClaimEpoch(ctx, "p", 1, "o"))
		f.session(session.Header{ID: "p"}, f.parent)
		f.journal("p", 2, 1, 1, "x")
		f.effect("p/1/1.1/c1", f.own.SHA256)
	})
	f.named("events of the fork", func() {
		f.fork = f.append("f", 1, at, []session.Record{naming(at.Count, f.child)})
	})
	f.named("the fork itself", func() {
		f.session(session.Header{ID: "f", ParentSession: "p", SeedLength: at.Count}, f.fork)
	})
	f.named("the fork of the fork", func() {
		f.grandchild = f.append("g", 1, f.fork, []session.Record{naming(f.fork.Count, f.shared)})
		f.session(session.Header{ID: "g", ParentSession: "f", SeedLength: f.fork.Count}, f.grandchild)
	})
	f.named("a stranger", func() {
		head := f.append("p/1", 1, store.Head{}, storetest.Conversation(1, 1))
		f.session(session.Header{ID: "p/1"}, head)
		f.effect("p/1/1/1.1/c1", "")
	})
	return f
}

func (f *family) erase(id string) *store.Plan {
	f.t.Helper()
	plan, err := f.PlanErase(f.t.Context(), id, f.late())
	require.NoError(f.t, err)
	_, err = plan.Run(f.t.Context())
	require.NoError(f.t, err)
	_, err = plan.Finish(f.t.Context())
	require.NoError(f.t, err)
	return plan
}

// gone checks that exactly these names are gone, and that every session that is left can be read.
func (f *family) gone(names ...string) {
	f.t.Helper()
	for name := range f.keys {
		require.Equal(f.t, !slices.Contains(names, name), f.left(name), name)
	}
	for id, err := range f.Sessions(f.t.Context()) {
		require.NoError(f.t, err)
		_, head, err := f.LatestHead(f.t.Context(), id)
		require.NoError(f.t, err)
		require.NoError(f.t, firstError(f.Records(f.t.Context(), id, head, 0)))
	}
}

func TestErasingTakesWhatIsASessionsAlone(t *testing.T) {
	t.Parallel()
	parents := []string{"later events of the parent", orphan, "the parent itself", "a body of the parent"}
	all := []string{"what the fork inherited", "later events of the parent", orphan, "the parent itself",
		"a body of the parent", "a shared body", "events of the fork", "the fork itself", "the fork of the fork", "a body of the fork"}
	for name, c := range map[string]struct {
		erase []string
		gone  []string
		needs []string // who needs what is left of the last one
	}{
		"a parent, and its forks go on":     {[]string{"p"}, parents, []string{"f", "g"}},
		"a fork, and its fork goes on":      {[]string{"f"}, []string{"the fork itself"}, []string{"g", "p"}},
		"the last fork":                     {[]string{"g"}, []string{"the fork of the fork"}, []string{"f", "p"}},
		"a parent, then its fork":           {[]string{"p", "f"}, append([]string{"the fork itself"}, parents...), []string{"g"}},
		"all of them, the parent first":     {[]string{"p", "f", "g"}, all, nil},
		"all of them, the last fork first":  {[]string{"g", "f", "p"}, all, nil},
		"a session whose id begins another": {[]string{"p/1"}, []string{"a stranger"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, "mem://")
			var plan *store.Plan
			for _, id := range c.erase {
				plan = f.erase(id)
			}
			f.gone(c.gone...)
			require.Equal(t, c.needs, plan.NeededBy)
			require.Equal(t, len(c.needs) > 0, len(plan.Needed) > 0)
			f.collect(f.late())
			if !slices.Contains(c.gone, orphan) { // of a session that is still there
				c.gone = append(c.gone, orphan)
			}
			f.gone(c.gone...)
		})
	}
}

func TestErasingLeavesYoungBodies(t *testing.T) {
	t.Parallel()
	f := newFamily(t, t.TempDir())
	plan, err := f.PlanErase(t.Context(), "p", store.GarbageOptions{Grace: time.Hour})
	require.NoError(t, err)
	require.Equal(t, 1, plan.Young.Objects)
	_, err = plan.Run(t.Context())
	require.NoError(t, err)
	_, err = plan.Finish(t.Context())
	require.NoError(t, err)
	f.gone("later events of the parent", orphan, "the parent itself")
	require.Len(t, f.collect(f.late()), 1)
}

func TestErasingADamagedSession(t *testing.T) {
	t.Parallel()
	f := newFamily(t, "mem://")
	f.replace(contentKey("segments", f.parent.Hash))
	f.replace(f.keys["the parent itself"][len(f.keys["the parent itself"])-1])
	f.erase("p")
	_, err := f.Header(t.Context(), "p")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NotContains(t, f.all(), contentKey("segments", f.parent.Hash))
	require.NoError(t, firstError(f.Records(t.Context(), "g", f.grandchild, 0)))
}

func TestErasingIsRefusedBesideADamagedSession(t *testing.T) {
	t.Parallel()
	f := newFamily(t, "mem://")
	f.replace(contentKey("segments", f.fork.Hash))
	before := f.all()
	_, err := f.PlanErase(t.Context(), "p", f.late())
	var corrupt *store.CorruptError
	require.ErrorAs(t, err, &corrupt)
	require.Equal(t, before, f.all())
}

func TestAnErasureThatDiedIsTakenUp(t *testing.T) {
	t.Parallel()
	f := newFamily(t, "mem://")
	faults := storetest.NewFaults()
	f.Store = open(t, "mem://", store.Options{Wrap: func(store.Objects) store.Objects { return faults.Wrap(f.objects) }})
	for _, folder := range []string{"heads/", "journal/", "effects/", "epochs/", "segments/", "blobs/"} {
		faults.Fail(storetest.Match{Op: storetest.Delete, Prefix: folder}, errFire, 1)
		plan, err := f.PlanErase(t.Context(), "p", f.late())
		require.NoError(t, err)
		_, err = plan.Run(t.Context())
		require.ErrorIs(t, err, errFire, folder)
		_, err = f.Header(t.Context(), "p")
		require.NoError(t, err, "the id is taken until everything is gone")
		_, err = f.PlanCollect(t.Context(), f.late())
		require.NoError(t, err, "and nobody is in the way of a collection")
	}
	f.erase("p")
	f.collect(f.late())
	f.gone("later events of the parent", orphan, "the parent itself", "a body of the parent")
}

func TestAnErasedIdBeginsAnew(t *testing.T) {
	t.Parallel()
	f := newFamily(t, "mem://")
	handle := func() *store.Store {
		return open(t, "mem://", store.Options{Wrap: func(store.Objects) store.Objects { return f.objects }})
	}
	first := f.Store // has published the head of the first life, and no other handle has
	f.Store = handle()
	f.erase("f")
	f.Store = handle() // another process gives birth, and the first goes on
	require.NoError(t, f.ClaimEpoch(t.Context(), "f", 1, "another"))
	require.NoError(t, f.PutHeader(t.Context(), session.Header{Version: session.FormatVersion, ID: "f", CreatedAt: 2}))
	f.Store = first
	records := storetest.Conversation(1, 1)
	require.Less(t, int64(len(records)), f.fork.Count, "the head of the first life counts more events")
	head := f.append("f", 1, store.Head{}, records)
	for range 2 {
		require.NoError(t, f.PublishHead(t.Context(), "f", 1, head))
		_, latest, err := f.LatestHead(t.Context(), "f")
		require.NoError(t, err)
		require.Equal(t, head, latest)
	}
}
