package agents_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
)

// TestWaitingIsListedOldestFirst: from the store alone, with a bound.
func TestWaitingIsListedOldestFirst(t *testing.T) {
	t.Parallel()
	st, err := store.Open(t.Context(), "mem://", store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	c := &agents.Client{Config: agents.Config{Store: st}}
	list, more, err := c.Waiting(t.Context(), agents.WaitingOptions{})
	require.NoError(t, err)
	require.Empty(t, list)
	require.Zero(t, more)
	for i, since := range []int64{5000, 1000, 3000, 2000, 4000} {
		id := fmt.Sprint("a", i)
		require.NoError(t, st.ClaimEpoch(t.Context(), id, 1, "me"))
		kind, definition := "approval", "one"
		if i%2 == 1 {
			kind, definition = "question", "two"
		}
		require.NoError(t, st.Asked(t.Context(), store.Waiting{Session: id, Epoch: 1, ID: "1.1.c1", Kind: kind, Definition: definition, SinceMS: since, DueMS: since * 2}))
	}
	ids := func(o agents.WaitingOptions) (out []string, more int) {
		t.Helper()
		list, more, err := c.Waiting(t.Context(), o)
		require.NoError(t, err)
		for _, w := range list {
			out = append(out, w.Agent)
			require.Equal(t, w.Since.UnixMilli()*2, w.Due.UnixMilli())
			require.Equal(t, time.UTC, w.Since.Location())
		}
		return out, more
	}
	for _, tt := range []struct {
		o    agents.WaitingOptions
		want []string
		more int
	}{
		{agents.WaitingOptions{}, []string{"a1", "a3", "a2", "a4", "a0"}, 0},
		{agents.WaitingOptions{Limit: 2}, []string{"a1", "a3"}, 3},
		{agents.WaitingOptions{Definition: "two"}, []string{"a1", "a3"}, 0},
		{agents.WaitingOptions{Kind: "approval", Limit: 1}, []string{"a2"}, 2},
		{agents.WaitingOptions{Definition: "three"}, nil, 0},
	} {
		got, more := ids(tt.o)
		require.Equal(t, tt.want, got, "%+v", tt.o)
		require.Equal(t, tt.more, more, "%+v", tt.o)
	}
}
