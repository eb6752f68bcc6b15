package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
)

func TestStartedEffectsAreFoundByTheBeginningOfTheirKey(t *testing.T) {
	t.Parallel()
	s := open(t, "mem://", store.Options{})
	ctx := t.Context()
	for key, note := range map[string]string{"a/1/1.1/c1": "x {}", "a/1/2.1/c/2": "y", "a/10/1.1/c1": "other epoch", "b/1/1.1/c1": "other session"} {
		first, err := s.StartedAs(ctx, key, []byte(note))
		require.NoError(t, err)
		require.True(t, first)
	}

	got, err := s.StartedEffects(ctx, "a/1/")
	require.NoError(t, err)
	require.Equal(t, []store.StartedEffect{{Key: "a/1/1.1/c1", Note: []byte("x {}")}, {Key: "a/1/2.1/c/2", Note: []byte("y")}}, got)

	note, started, err := s.StartNote(ctx, "b/1/1.1/c1")
	require.NoError(t, err)
	require.True(t, started)
	require.Equal(t, "other session", string(note))
	_, started, err = s.StartNote(ctx, "b/1/1.1/c2")
	require.NoError(t, err)
	require.False(t, started)
}
