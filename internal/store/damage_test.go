package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/session"
)

// damaged makes a store in a folder with three segments, lets a test damage the files, and opens it again.
type hurt struct {
	*store.Store
	dir   string
	heads []store.Head
}

func newHurt(t *testing.T, damage func(d *hurt)) *hurt {
	t.Helper()
	d := &hurt{dir: t.TempDir()}
	s := open(t, d.dir, store.Options{})
	records := storetest.Conversation(3, 4)
	third := len(records) / 3
	head := store.Head{}
	for i := range 3 {
		var err error
		head, err = s.Append(t.Context(), "s", 0, head, records[i*third:(i+1)*third])
		require.NoError(t, err)
		d.heads = append(d.heads, head)
	}
	damage(d)
	d.Store = open(t, d.dir, store.Options{})
	return d
}

func (d *hurt) file(segment int) string {
	hash := d.heads[segment].Hash
	return filepath.Join(d.dir, "segments", hash[:2], hash)
}

func (d *hurt) rewrite(t *testing.T, segment int, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(d.file(segment))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.file(segment), change(data), 0o600))
}

func TestDamagedSegmentsAreNamed(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*testing.T, *hurt){
		"missing":   func(t *testing.T, d *hurt) { require.NoError(t, os.Remove(d.file(1))) },
		"empty":     func(t *testing.T, d *hurt) { d.rewrite(t, 1, func([]byte) []byte { return nil }) },
		"torn":      func(t *testing.T, d *hurt) { d.rewrite(t, 1, func(b []byte) []byte { return b[:len(b)-1] }) },
		"longer":    func(t *testing.T, d *hurt) { d.rewrite(t, 1, func(b []byte) []byte { return append(b, 0) }) },
		"a bit off": func(t *testing.T, d *hurt) { d.rewrite(t, 1, flip) },
		"another segment": func(t *testing.T, d *hurt) {
			other, err := os.ReadFile(d.file(2))
			require.NoError(t, err)
			d.rewrite(t, 1, func([]byte) []byte { return other })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newHurt(t, func(d *hurt) { damage(t, d) })
			_, err := d.State(t.Context(), "s", d.heads[2])
			d.requireLost(t, err)
			d.requireLost(t, firstError(d.Records(t.Context(), "s", d.heads[2], 0)))
			require.NoError(t, firstError(d.Records(t.Context(), "s", d.heads[2], d.heads[1].Count)), "what lies after is readable")
			_, err = d.State(t.Context(), "s", d.heads[0])
			require.NoError(t, err, "what lies before is readable")
		})
	}
}

func flip(b []byte) []byte {
	b[len(b)/2] ^= 1
	return b
}

func (d *hurt) requireLost(t *testing.T, err error) {
	t.Helper()
	var corrupt *store.CorruptError
	require.ErrorAs(t, err, &corrupt)
	require.Equal(t, "s", corrupt.Session)
	require.Equal(t, d.heads[1].Hash, corrupt.Hash)
	require.Equal(t, d.heads[0].Count, corrupt.FirstSeq)
	require.Equal(t, d.heads[1].Count-1, corrupt.LastSeq)
	require.ErrorContains(t, err, "restore")
	require.ErrorContains(t, err, "fork the session")
}

func firstError[T any](seq func(func(T, error) bool)) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestDamagedSegmentIsHealedByItsWriter(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*testing.T, *hurt){
		"torn":    func(t *testing.T, d *hurt) { d.rewrite(t, 0, func(b []byte) []byte { return b[:9] }) },
		"missing": func(t *testing.T, d *hurt) { require.NoError(t, os.Remove(d.file(0))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newHurt(t, func(d *hurt) { damage(t, d) })
			records := storetest.Conversation(3, 4)
			head, err := d.Append(t.Context(), "s", 0, store.Head{}, records[:len(records)/3])
			require.NoError(t, err)
			require.Equal(t, d.heads[0], head)
			require.NoError(t, firstError(d.Records(t.Context(), "s", d.heads[2], 0)))
		})
	}
}

func TestDamagedPointersAndBodiesAreNamed(t *testing.T) {
	t.Parallel()
	faults := storetest.NewFaults()
	s := open(t, "mem://", store.Options{Wrap: faults.Wrap})
	ctx := t.Context()
	j := s.Journal("s", 1, 1, 1, 0)
	a, err := s.PutBlob(ctx, []byte("body"), "text/plain")
	require.NoError(t, err)
	require.NoError(t, errors.Join(
		s.PublishHead(ctx, "s", 0, store.Head{}),
		s.PutHeader(ctx, session.Header{Version: 1, ID: "s"}),
		s.ClaimEpoch(ctx, "s", 2, "o"),
		s.Done(ctx, "k", []byte("result")),
		j.Put(ctx, 1, 0, []byte("part")),
	))
	for prefix, read := range map[string]func(context.Context) error{
		"heads/":   func(ctx context.Context) error { _, _, err := s.LatestHead(ctx, "s"); return err },
		"headers/": func(ctx context.Context) error { _, err := s.Header(ctx, "s"); return err },
		"blobs/":   func(ctx context.Context) error { _, err := s.Blob(ctx, a.SHA256); return err },
		"journal/": func(ctx context.Context) error { _, err := j.Tail(ctx, 0, -1); return err },
	} {
		faults.Corrupt(storetest.Match{Prefix: prefix}, 1)
		err := read(ctx)
		var corrupt *store.CorruptError
		require.ErrorAs(t, err, &corrupt, prefix)
		require.Contains(t, corrupt.Key, prefix)
		require.NoError(t, read(ctx), prefix)
	}
}

// What a successor of a dead worker goes by may be damaged by the same power failure: it must not stand in its way.
func TestDamagedEvidenceCountsAsMissing(t *testing.T) {
	t.Parallel()
	faults := storetest.NewFaults()
	s := open(t, "mem://", store.Options{Wrap: faults.Wrap})
	ctx := t.Context()
	require.NoError(t, s.Done(ctx, "k", []byte("result")))
	faults.Corrupt(storetest.Match{Prefix: "effects/done"}, 1)
	e, err := s.Effect(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, store.EffectEntry{State: store.EffectStarted}, e, "that there is a result says that it was started")

	j := s.Journal("s", 1, 1, 1, 0)
	for execution := 1; execution <= 2; execution++ {
		for n := range 3 {
			require.NoError(t, j.Put(ctx, execution, n, []byte("part")))
		}
	}
	faults.Fail(storetest.Match{Op: storetest.Get, Prefix: "journal/"}, storetest.ErrDown, 1)
	_, err = j.Executions(ctx)
	require.ErrorIs(t, err, storetest.ErrDown, "a store that fails is another matter")
	faults.Corrupt(storetest.Match{Prefix: "journal/s/0000000000000000000/0000000001.0000000001/0000000001/0000000001/0000000001"}, 1)
	got, err := j.Executions(ctx)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Len(t, got[0].Parts, 1)
	var corrupt *store.CorruptError
	require.ErrorAs(t, got[0].Damage, &corrupt)
	require.Len(t, got[1].Parts, 3)
	require.NoError(t, got[1].Damage)
}
