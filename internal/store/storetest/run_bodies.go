package storetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

func blobs(t *testing.T, s *store.Store) {
	for _, data := range [][]byte{{}, []byte("x"), bytes.Repeat([]byte("0123456789"), 300_000)} {
		a, err := s.PutBlob(t.Context(), data, "text/plain")
		require.NoError(t, err)
		again, err := s.PutBlob(t.Context(), data, "text/plain")
		require.NoError(t, err)
		require.Equal(t, a, again)
		require.Equal(t, session.Artifact{SHA256: a.SHA256, Bytes: int64(len(data)), MediaType: "text/plain"}, a)
		got, err := s.Blob(t.Context(), a.SHA256)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
	}
	_, err := s.Blob(t.Context(), "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = s.Blob(t.Context(), "../../etc/passwd")
	require.ErrorContains(t, err, "SHA-256")
}

func journals(t *testing.T, s *store.Store) {
	j := s.Journal("s/1", 2, 3, 1, 0)
	empty, err := j.Executions(t.Context())
	require.NoError(t, err)
	require.Empty(t, empty)
	put := func(j *store.Journal, execution, n int, data string) {
		t.Helper()
		require.NoError(t, j.Put(t.Context(), execution, n, []byte(data)))
	}
	put(j, 1, 0, "head")
	put(j, 1, 1, "one")
	put(j, 1, 1, "one")
	put(j.Flat(), 2, 0, "")
	put(j, 1, 10, "ten")
	put(j.Flat(), 1, 2, "two\nlines")
	for _, other := range []*store.Journal{
		s.Journal("s/1", 2, 3, 2, 0), s.Journal("s/1", 2, 3, 1, 1), s.Journal("s/1", 2, 30, 1, 0), s.Journal("s", 2, 3, 1, 0),
	} { // another attempt, epoch, step, session
		put(other, 1, 0, "another")
		put(other.Flat(), 1, 1, "another")
	}
	require.ErrorIs(t, j.Put(t.Context(), 1, 1, []byte("other")), store.ErrExists)
	require.ErrorIs(t, j.Flat().Put(t.Context(), 1, 2, []byte("other")), store.ErrExists)
	require.Error(t, j.Put(t.Context(), 1, -1, nil))

	got, err := j.Executions(t.Context())
	require.NoError(t, err)
	require.Equal(t, []store.JournalExecution{
		{Execution: 1, Parts: []store.JournalPart{
			{Execution: 1, N: 0, Data: []byte("head")},
			{Execution: 1, N: 1, Data: []byte("one")},
			{Execution: 1, N: 2, Data: []byte("two\nlines")},
			{Execution: 1, N: 10, Data: []byte("ten")},
		}},
		{Execution: 2, Parts: []store.JournalPart{{Execution: 2, N: 0, Data: []byte{}}}},
	}, got)
}

func journalTail(t *testing.T, s *store.Store) {
	j, other := s.Journal("s", 1, 1, 1, 0), s.Journal("s", 1, 1, 2, 0)
	for execution := 1; execution <= 2; execution++ {
		for n := range 3 {
			to := j
			if n == 1 {
				to = j.Flat()
			}
			require.NoError(t, to.Put(t.Context(), execution, n, []byte{byte(execution), byte(n)}))
		}
	}
	require.NoError(t, other.Flat().Put(t.Context(), 1, 0, nil))
	for _, c := range []struct{ execution, n, want int }{{0, -1, 6}, {1, -1, 6}, {1, 0, 5}, {1, 2, 3}, {1, 99, 3}, {2, 1, 1}, {2, 2, 0}} {
		parts, err := j.Tail(t.Context(), c.execution, c.n)
		require.NoError(t, err)
		require.Len(t, parts, c.want)
	}
	require.NoError(t, j.Drop(t.Context()))
	require.NoError(t, j.Drop(t.Context()))
	parts, err := j.Tail(t.Context(), 0, -1)
	require.NoError(t, err)
	require.Empty(t, parts)
	parts, err = other.Tail(t.Context(), 0, -1)
	require.NoError(t, err)
	require.Len(t, parts, 1)
}

func effects(t *testing.T, s *store.Store) {
	key := "session/0/1.1/call 1"
	entry, err := s.Effect(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, store.EffectEntry{State: store.EffectNone}, entry)
	for i := range 3 {
		first, err := s.Started(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, i == 0, first)
	}
	entry, err = s.Effect(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, store.EffectEntry{State: store.EffectStarted}, entry)
	require.NoError(t, s.Done(t.Context(), key, []byte("result")))
	require.NoError(t, s.Done(t.Context(), key, []byte("result")))
	require.ErrorIs(t, s.Done(t.Context(), key, []byte("other")), store.ErrExists)
	entry, err = s.Effect(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, store.EffectEntry{State: store.EffectDone, Result: []byte("result")}, entry)
	entry, err = s.Effect(t.Context(), key+"0")
	require.NoError(t, err)
	require.Equal(t, store.EffectNone, entry.State)
	_, err = s.Started(t.Context(), "")
	require.Error(t, err)
}

func effectRace(t *testing.T, s *store.Store) {
	won := race(t, 16, func(int) bool {
		first, err := s.Started(t.Context(), "k")
		if err != nil {
			t.Error(err)
		}
		return first
	})
	require.Len(t, won, 1)
}
