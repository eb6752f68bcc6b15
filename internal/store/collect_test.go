package store_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/session"
)

// A yard is a store with things that must stay and things that must go, by name.
type yard struct {
	*store.Store
	t       *testing.T
	objects store.Objects
	keys    map[string][]string // of what a test put there
	texts   map[string]string   // what is remembered of a session
	open    bool                // whether those run
}

func newYard(t *testing.T, location string) *yard {
	t.Helper()
	y := &yard{t: t, keys: map[string][]string{}, texts: map[string]string{}}
	y.Store = open(t, location, store.Options{Wrap: func(o store.Objects) store.Objects {
		y.objects = o
		return o
	}})
	return y
}

// all lists every key.
func (y *yard) all() (keys []string) {
	y.t.Helper()
	for key, err := range y.objects.List(y.t.Context(), "") {
		require.NoError(y.t, err)
		keys = append(keys, key)
	}
	return keys
}

// named runs make and calls what it created by a name.
func (y *yard) named(name string, make func()) {
	y.t.Helper()
	before := y.all()
	make()
	for _, key := range y.all() {
		if !slices.Contains(before, key) {
			y.keys[name] = append(y.keys[name], key)
		}
	}
	require.NotEmpty(y.t, y.keys[name], name)
}

// left reports whether all, or none, of what has a name is there.
func (y *yard) left(name string) bool {
	y.t.Helper()
	n := 0
	all := y.all()
	for _, key := range y.keys[name] {
		if slices.Contains(all, key) {
			n++
		}
	}
	require.Contains(y.t, []int{0, len(y.keys[name])}, n, "%s is gone in part", name)
	return n > 0
}

func (y *yard) append(id string, epoch int64, base store.Head, records []session.Record) store.Head {
	y.t.Helper()
	head, err := y.Append(y.t.Context(), id, epoch, base, records)
	require.NoError(y.t, err)
	return head
}

func (y *yard) session(h session.Header, head store.Head) {
	y.t.Helper()
	h.Version, h.CreatedAt = session.FormatVersion, 1
	require.NoError(y.t, y.PutHeader(y.t.Context(), h))
	require.NoError(y.t, y.PublishHead(y.t.Context(), h.ID, 1, head))
}

func (y *yard) blob(text string) session.Artifact {
	y.t.Helper()
	ref, err := y.PutBlob(y.t.Context(), []byte(text), "text/plain")
	require.NoError(y.t, err)
	return ref
}

// journal leaves a part in both places.
func (y *yard) journal(id string, turn, step int, epoch int64, text string) {
	y.t.Helper()
	j := y.Journal(id, turn, step, 1, epoch)
	require.NoError(y.t, j.Put(y.t.Context(), 1, 0, []byte("x")))
	require.NoError(y.t, j.Flat().Put(y.t.Context(), 1, 1, []byte(text)))
}

// memory remembers the sessions that have a text.
func (y *yard) memory(_ context.Context, id string) (store.Memory, error) {
	text, known := y.texts[id]
	return store.Memory{Known: known, Open: known && y.open, Texts: one(text)}, nil
}

func one(text string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) { yield([]byte(text), nil) }
}

// late are options under which everything there is old.
func (y *yard) late() store.GarbageOptions {
	return store.GarbageOptions{Grace: 24 * time.Hour, Memory: y.memory, Now: func() time.Time { return time.Now().Add(48 * time.Hour) }}
}

func (y *yard) collect(o store.GarbageOptions) []store.Count {
	y.t.Helper()
	plan, err := y.PlanCollect(y.t.Context(), o)
	require.NoError(y.t, err)
	planned := plan.Counts()
	done, err := plan.Run(y.t.Context())
	require.NoError(y.t, err)
	require.Equal(y.t, planned, done)
	return done
}

// naming is a message for the next turn that names a stored body.
func naming(seq int64, ref session.Artifact) session.Record {
	r := session.NewRecord(2, session.InboxSpliced{Target: session.NextTurn, Inserted: []session.Message{{
		ID: fmt.Sprint("n", seq), Role: session.RoleUser, Content: session.Content{ref}, Source: session.Source{Kind: session.SourceUser}}}})
	r.Seq = seq
	return r
}

// fill puts one of everything into the store. Names that begin with "gone:" are what a collection takes.
func (y *yard) fill() {
	ctx := y.t.Context()
	records := storetest.Conversation(2, 3)
	n := int64(len(records))
	var inner, outer, noted, journaled, assembled session.Artifact
	y.named("a body that a body names", func() { inner = y.blob("inner") })
	y.named("a body that the log names", func() { outer = y.blob("see " + inner.SHA256 + "!") })
	y.named("a body that the ledger names", func() { noted = y.blob("noted") })
	y.named("a body that a journal names", func() { journaled = y.blob("journaled") })
	y.named("a body that a workflow remembers", func() { assembled = y.blob("assembled") })
	y.named("gone: a body nobody names", func() { y.blob("nobody") })

	var first, head, pending, abandoned store.Head
	y.named("the log", func() { first = y.append("a", 1, store.Head{}, records) })
	y.named("its end", func() { head = y.append("a", 1, first, []session.Record{naming(n, outer)}) })
	y.named("gone: a segment that lost its race", func() { abandoned = y.append("a", 1, first, []session.Record{naming(n, noted)}) })
	require.NotEqual(y.t, head, abandoned)
	y.named("a segment that a workflow remembers", func() { pending = y.append("a", 1, head, []session.Record{naming(n+1, inner)}) })
	var begun store.Head
	y.named("a segment that a journal names", func() { begun = y.append("a", 1, head, []session.Record{naming(n+1, noted)}) })
	y.named("gone: a claim below another", func() { require.NoError(y.t, y.ClaimEpoch(ctx, "a", 0, "o")) })
	y.named("the highest claim", func() { require.NoError(y.t, y.ClaimEpoch(ctx, "a", 1, "o")) })
	y.named("header and head", func() { y.session(session.Header{ID: "a"}, head) })
	y.named("gone: a head that was replaced", func() {
		other := newYard(y.t, "mem://")
		require.NoError(y.t, other.PublishHead(ctx, "a", 1, first))
		key := other.all()[0]
		data, err := other.objects.Get(ctx, key)
		require.NoError(y.t, err)
		require.NoError(y.t, y.objects.Create(ctx, key, data))
	})
	y.named("gone: a journal of an epoch before", func() { y.journal("a", 9, 1, 0, "x") })
	y.named("gone: a journal of a step that is over", func() { y.journal("a", 2, 1, 1, "x") })
	y.named("the journal of the next step", func() { y.journal("a", 3, 1, 1, begun.Hash+`","`+journaled.SHA256) })
	y.texts["a"] = `{"head":"` + pending.Hash + `","text":"\u003c` + assembled.SHA256 + `"}`

	y.named("ledger of a session that is remembered", func() { y.effect("a/1/2.1/c1", noted.SHA256) })
	y.named("an effect that is no call's", func() { y.effect("something else", "") })
	y.named("gone: ledger of a forgotten session", func() { y.effect("f/x/1/2.1/c/1", "") })
	y.named("a forgotten session", func() {
		y.session(session.Header{ID: "f/x"}, y.append("f/x", 1, store.Head{}, storetest.Conversation(1, 1)))
	})
	y.named("gone: a birth that failed", func() {
		require.NoError(y.t, y.ClaimEpoch(ctx, "unborn", 1, "o"))
		y.journal("unborn", 1, 1, 1, "x")
	})
	y.texts["being born"] = ""
	y.named("a birth that is remembered", func() {
		require.NoError(y.t, y.ClaimEpoch(ctx, "being born", 1, "o"))
		y.journal("being born", 1, 1, 1, "x")
	})
	y.named("a long id", func() {
		id := strings.Repeat("Ä", 100)
		require.NoError(y.t, y.ClaimEpoch(ctx, id, 1, "o"))
		y.session(session.Header{ID: id}, y.append(id, 1, store.Head{}, storetest.Conversation(1, 2)))
	})
}

func (y *yard) effect(key, result string) {
	first, err := y.Started(y.t.Context(), key)
	require.NoError(y.t, err)
	require.True(y.t, first)
	require.NoError(y.t, y.Done(y.t.Context(), key, []byte(result)))
}

func TestCollectionTakesWhatNothingReaches(t *testing.T) {
	t.Parallel()
	for name, location := range locations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, location(t))
			y.fill()
			y.collect(y.late())
			for _, name := range slices.Sorted(maps.Keys(y.keys)) {
				require.Equal(t, !strings.HasPrefix(name, "gone: "), y.left(name), name)
			}
			require.Empty(t, y.collect(y.late()), "a second collection finds nothing")
		})
	}
}

func TestWhatIsYoungStays(t *testing.T) {
	t.Parallel()
	y := newYard(t, "mem://")
	y.fill()
	before := y.all()
	require.Empty(t, y.collect(store.GarbageOptions{Grace: time.Hour}), "though nobody remembers anything")
	require.Equal(t, before, y.all())
}

func TestOnlyWhatIsOldGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	y := newYard(t, dir)
	old, again, young := y.blob("old"), y.blob("again"), y.blob("young")
	age(t, dir, old.SHA256)
	age(t, dir, again.SHA256)
	y.blob("again") // whoever stores it again is about to name it
	require.Equal(t, []store.Count{{Kind: "blobs", Objects: 1, Bytes: 3}}, y.collect(store.GarbageOptions{Grace: time.Hour}))
	_, err := y.Blob(t.Context(), old.SHA256)
	require.ErrorIs(t, err, store.ErrNotFound)
	for _, ref := range []session.Artifact{again, young} {
		_, err = y.Blob(t.Context(), ref.SHA256)
		require.NoError(t, err)
	}
}

// age makes an object of a folder two days old.
func age(t *testing.T, dir, hash string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", hash[:2], hash))
	require.NoError(t, err)
	require.Len(t, found, 1)
	then := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(found[0], then, then))
}

func TestWhatIsNamedAfterThePlanStays(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(y *yard, ref session.Artifact, head store.Head){
		"in a log":     func(y *yard, ref session.Artifact, head store.Head) { y.session(session.Header{ID: "new"}, head) },
		"in a journal": func(y *yard, ref session.Artifact, head store.Head) { y.journal("new", 1, 1, 1, head.Hash) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, "mem://")
			ref := y.blob("body")
			head := y.append("new", 1, store.Head{}, []session.Record{naming(0, ref)})
			plan, err := y.PlanCollect(t.Context(), y.late())
			require.NoError(t, err)
			require.Len(t, plan.Counts(), 2)
			act(y, ref, head)
			done, err := plan.Run(t.Context())
			require.NoError(t, err)
			require.Empty(t, done)
			require.NoError(t, firstError(y.Records(t.Context(), "new", head, 0)))
		})
	}
}

func TestWhatCannotBeReadStopsTheCollection(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, y *yard, head store.Head, ref session.Artifact){
		"a missing segment": func(t *testing.T, y *yard, head store.Head, _ session.Artifact) {
			require.NoError(t, y.objects.Delete(t.Context(), contentKey("segments", head.Hash)))
		},
		"a damaged segment": func(t *testing.T, y *yard, head store.Head, _ session.Artifact) {
			y.replace(contentKey("segments", head.Hash))
		},
		"a damaged body": func(t *testing.T, y *yard, _ store.Head, ref session.Artifact) {
			y.replace(contentKey("blobs", ref.SHA256))
		},
		"a damaged head": func(t *testing.T, y *yard, _ store.Head, _ session.Artifact) {
			y.replace(y.keys["head"][len(y.keys["head"])-1])
		},
		"a damaged journal": func(t *testing.T, y *yard, _ store.Head, _ session.Artifact) { y.replace(y.keys["journal"][0]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, "mem://")
			ref := y.blob("body")
			first := y.append("a", 1, store.Head{}, []session.Record{naming(0, ref)})
			head := y.append("a", 1, first, []session.Record{naming(1, ref)})
			y.named("head", func() { y.session(session.Header{ID: "a"}, head) })
			y.named("journal", func() { y.journal("a", 1, 1, 1, "x") })
			y.blob("orphan")
			damage(t, y, first, ref)
			before := y.all()
			_, err := y.PlanCollect(t.Context(), y.late())
			var corrupt *store.CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.ErrorContains(t, err, "nothing was deleted")
			require.Equal(t, before, y.all())
		})
	}
}

func contentKey(kind, hash string) string { return kind + "/" + hash[:2] + "/" + hash }

// replace damages an object.
func (y *yard) replace(key string) {
	y.t.Helper()
	require.NoError(y.t, y.objects.Delete(y.t.Context(), key))
	require.NoError(y.t, y.objects.Create(y.t.Context(), key, []byte("damaged")))
}

func TestWhatCannotBeAskedStopsTheCollection(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]store.Memory{
		"whether it is known": {},
		"what it holds":       {Known: true, Texts: func(yield func([]byte, error) bool) { yield(nil, errFire) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, "mem://")
			y.fill()
			o := y.late()
			o.Memory = func(context.Context, string) (store.Memory, error) {
				if m.Known {
					return m, nil
				}
				return m, errFire
			}
			_, err := y.PlanCollect(t.Context(), o)
			require.ErrorIs(t, err, errFire)
		})
	}
}

func TestNegativeGraceIsRefused(t *testing.T) {
	t.Parallel()
	y := newYard(t, "mem://")
	_, err := y.PlanCollect(t.Context(), store.GarbageOptions{Grace: -time.Second})
	require.ErrorContains(t, err, "negative")
	_, err = y.PlanErase(t.Context(), "a", store.GarbageOptions{Grace: -time.Second})
	require.ErrorContains(t, err, "negative")
}

func TestACollectionThatDiedIsTakenUp(t *testing.T) {
	t.Parallel()
	faults := storetest.NewFaults()
	y := newYard(t, "mem://")
	y.Store = open(t, "mem://", store.Options{Wrap: func(store.Objects) store.Objects { return faults.Wrap(y.objects) }})
	y.fill()
	deaths := 0
	faults.Fail(storetest.Match{Op: storetest.Delete, Prefix: "segments/"}, errFire, 2)
	faults.Fail(storetest.Match{Op: storetest.Delete, Prefix: "journal/"}, errFire, 2)
	for {
		plan, err := y.PlanCollect(t.Context(), y.late())
		require.NoError(t, err)
		before := len(y.all())
		done, err := plan.Run(t.Context())
		total := 0
		for _, c := range done {
			total += c.Objects
		}
		require.Equal(t, before-len(y.all()), total, "it says what it did")
		if err == nil {
			break
		}
		require.ErrorIs(t, err, errFire)
		deaths++
	}
	require.Equal(t, 4, deaths)
	for name := range y.keys {
		require.Equal(t, !strings.HasPrefix(name, "gone: "), y.left(name), name)
	}
}
