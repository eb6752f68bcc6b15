package storetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
)

// waitingOf lists the index: session, epoch and id.
func waitingOf(t *testing.T, s *store.Store) []string {
	t.Helper()
	out := []string{}
	for w, err := range s.Waiting(t.Context()) {
		require.NoError(t, err)
		out = append(out, w.Session+" "+w.ID+" "+w.Tool)
	}
	slices.Sort(out)
	return out
}

func claim(t *testing.T, s *store.Store, id string, epoch int64) {
	t.Helper()
	require.NoError(t, s.ClaimEpoch(t.Context(), id, epoch, "me"))
}

func waits(t *testing.T, s *store.Store) {
	claim(t, s, "a", 1)
	claim(t, s, "B b", 1)
	for _, w := range []store.Waiting{
		{Session: "a", Epoch: 1, ID: "1.1.c1", Tool: "rm"},
		{Session: "a", Epoch: 1, ID: "1.1.c1", Tool: "rm"}, // once more
		{Session: "a", Epoch: 1, ID: "1.1.C1", Tool: "mv"},
		{Session: "B b", Epoch: 1, ID: "1.1.c1", Tool: "rm"},
	} {
		require.NoError(t, s.Asked(t.Context(), w))
	}
	require.Equal(t, []string{"B b 1.1.c1 rm", "a 1.1.C1 mv", "a 1.1.c1 rm"}, waitingOf(t, s))
	for range 2 {
		require.NoError(t, s.WaitEnded(t.Context(), "a", 1, "1.1.c1"))
		require.Equal(t, []string{"B b 1.1.c1 rm", "a 1.1.C1 mv"}, waitingOf(t, s))
	}
	require.NoError(t, s.Asked(t.Context(), store.Waiting{Session: "gone", Epoch: 1, ID: "1.1.c1"}))
	require.NoError(t, s.WaitEnded(t.Context(), "gone", 1, "1.1.c1"))
	require.Len(t, waitingOf(t, s), 2, "a session that is not there waits for nothing")
}

func waitsEndFirst(t *testing.T, s *store.Store) {
	claim(t, s, "a", 1)
	require.NoError(t, s.WaitEnded(t.Context(), "a", 1, "1.1.c1"))
	require.NoError(t, s.Asked(t.Context(), store.Waiting{Session: "a", Epoch: 1, ID: "1.1.c1"}))
	require.Empty(t, waitingOf(t, s))
}

func waitsInEpoch(t *testing.T, s *store.Store) {
	claim(t, s, "a", 1)
	require.NoError(t, s.Asked(t.Context(), store.Waiting{Session: "a", Epoch: 1, ID: "1.1.c1", Tool: "rm"}))
	claim(t, s, "a", 2)
	require.Empty(t, waitingOf(t, s), "what the given-up epoch waited for")
	require.NoError(t, s.Asked(t.Context(), store.Waiting{Session: "a", Epoch: 1, ID: "1.1.c2"}))
	require.Empty(t, waitingOf(t, s), "a late word of it")
	require.NoError(t, s.Asked(t.Context(), store.Waiting{Session: "a", Epoch: 2, ID: "1.1.c1", Tool: "mv"}))
	require.Equal(t, []string{"a 1.1.c1 mv"}, waitingOf(t, s))
}
