package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestABucketTouchesByWritingAgain(t *testing.T) {
	t.Parallel()
	objects, err := openBucket(t.Context(), "mem://")
	require.NoError(t, err)
	b := objects.(bucket)
	require.NoError(t, b.Create(t.Context(), "k", []byte("x")))
	made := func() (at time.Time) {
		for obj, err := range b.Stats(t.Context(), "k") {
			require.NoError(t, err)
			at = obj.Made
		}
		return at
	}
	first := made()
	require.NoError(t, b.rewrite(t.Context(), "k", time.Hour))
	require.Equal(t, first, made(), "it is young enough")
	require.NoError(t, b.rewrite(t.Context(), "k", 0))
	require.True(t, made().After(first))
	data, err := b.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}

func TestAFileThatWasTouchedOnItsWayOutIsPutBack(t *testing.T) {
	t.Parallel()
	f, err := openFiles(t.TempDir(), false)
	require.NoError(t, err)
	require.NoError(t, f.Create(t.Context(), "a/k", []byte("x")))
	path, err := f.path("a/k")
	require.NoError(t, err)
	taken := f.root + "/.tmp/d1"
	require.NoError(t, f.Create(t.Context(), "a/other", nil))
	for name, remade := range map[string]bool{"made anew meanwhile": true, "still away": false} {
		data, err := f.Get(t.Context(), "a/k")
		require.NoError(t, err, name)
		require.NoError(t, f.place(path, taken), name)
		if !remade {
			require.NoError(t, f.Delete(t.Context(), "a/k"))
		}
		require.NoError(t, f.putBack(taken, path), name)
		require.NoFileExists(t, taken)
		again, err := f.Get(t.Context(), "a/k")
		require.NoError(t, err, name)
		require.Equal(t, data, again)
	}
}
