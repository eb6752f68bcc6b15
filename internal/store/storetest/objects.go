package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
)

// RunObjects proves that a driver keeps the contract of [store.Objects]. open returns an empty one.
func RunObjects(t *testing.T, open func(t *testing.T) store.Objects) {
	for name, test := range map[string]func(*testing.T, store.Objects){
		"what was created can be read":           objectsReadBack,
		"a key is created once":                  objectsCreateOnce,
		"of many creators exactly one wins":      objectsOneWinner,
		"keys are listed by prefix and in order": objectsList,
		"a loop over keys can be left":           objectsListBreak,
		"delete is idempotent":                   objectsDelete,
		"objects have a size and an age":         objectsStats,
		"what is touched is there, or it is not": objectsTouch,
		"only what is older is deleted":          objectsDeleteBefore,
		"bad keys are refused":                   objectsBadKeys,
		"a cancelled context is obeyed":          objectsCancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func objectsReadBack(t *testing.T, o store.Objects) {
	big := make([]byte, 3<<20)
	for key, data := range map[string][]byte{"a": {}, "a1/b/c": []byte("x"), "big": big, "b=41/_-.0": []byte("\x00\xff\n")} {
		require.NoError(t, o.Create(t.Context(), key, data))
		got, err := o.Get(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, len(data), len(got))
		require.Equal(t, string(data), string(got))
	}
	_, err := o.Get(t.Context(), "absent/key")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func objectsCreateOnce(t *testing.T, o store.Objects) {
	require.NoError(t, o.Create(t.Context(), "x/y", []byte("first")))
	require.ErrorIs(t, o.Create(t.Context(), "x/y", []byte("second")), store.ErrExists)
	require.ErrorIs(t, o.Create(t.Context(), "x/y", []byte("first")), store.ErrExists)
	got, err := o.Get(t.Context(), "x/y")
	require.NoError(t, err)
	require.Equal(t, "first", string(got))
}

func objectsOneWinner(t *testing.T, o store.Objects) {
	won := race(t, 16, func(i int) bool {
		err := o.Create(t.Context(), "race/key", []byte{byte(i)})
		if err != nil && !errors.Is(err, store.ErrExists) {
			t.Error(err)
		}
		return err == nil
	})
	require.Len(t, won, 1)
	got, err := o.Get(t.Context(), "race/key")
	require.NoError(t, err)
	require.Equal(t, []byte{byte(won[0])}, got)
}

func objectsList(t *testing.T, o store.Objects) {
	keys := []string{"b/1", "a", "b/10", "b.c", "b/2/x", "b0", "c/d/e/f", "b/2-y"}
	for _, key := range keys {
		require.NoError(t, o.Create(t.Context(), key, nil))
	}
	slices.Sort(keys)
	for prefix, want := range map[string][]string{
		"":      keys,
		"b":     {"b.c", "b/1", "b/10", "b/2-y", "b/2/x", "b0"},
		"b/":    {"b/1", "b/10", "b/2-y", "b/2/x"},
		"b/1":   {"b/1", "b/10"},
		"b/2/":  {"b/2/x"},
		"c/d/e": {"c/d/e/f"},
		"zzz/":  nil,
	} {
		require.Equal(t, want, list(t, o, prefix), "prefix %q", prefix)
	}
}

func objectsListBreak(t *testing.T, o store.Objects) {
	for _, key := range []string{"a/1", "a/2", "b"} {
		require.NoError(t, o.Create(t.Context(), key, nil))
	}
	for key, err := range o.List(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, "a/1", key)
		break
	}
}

func objectsDelete(t *testing.T, o store.Objects) {
	require.NoError(t, o.Create(t.Context(), "d/e/f", []byte("1")))
	require.NoError(t, o.Delete(t.Context(), "d/e/f"))
	require.NoError(t, o.Delete(t.Context(), "d/e/f"))
	require.NoError(t, o.Delete(t.Context(), "never/there"))
	require.Empty(t, list(t, o, ""))
	require.NoError(t, o.Create(t.Context(), "d/e/f", []byte("2")))
	got, err := o.Get(t.Context(), "d/e/f")
	require.NoError(t, err)
	require.Equal(t, "2", string(got))
}

func objectsBadKeys(t *testing.T, o store.Objects) {
	for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", ".tmp/x", "A", "a b", "a\x00"} {
		require.Error(t, o.Create(t.Context(), key, nil), "key %q", key)
	}
	require.Empty(t, list(t, o, ""))
}

func objectsCancelled(t *testing.T, o store.Objects) {
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, o.Create(ctx, "a/b", nil))
	cancel()
	require.Error(t, o.Create(ctx, "a/c", nil))
	_, err := o.Get(ctx, "a/b")
	require.Error(t, err)
	require.Error(t, o.Delete(ctx, "a/b"))
	require.Equal(t, []string{"a/b"}, list(t, o, ""))
}

func list(t *testing.T, o store.Objects, prefix string) []string {
	t.Helper()
	var keys []string
	for key, err := range o.List(t.Context(), prefix) {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	return keys
}

// race runs do n times at once and returns for which it was true.
func race(t *testing.T, n int, do func(i int) bool) []int {
	t.Helper()
	var mu sync.Mutex
	var won []int
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			if do(i) {
				mu.Lock()
				defer mu.Unlock()
				won = append(won, i)
			}
		})
	}
	close(start)
	wg.Wait()
	return won
}

// slack is how far the clock of a driver may be from this program's.
const slack = time.Minute

func objectsStats(t *testing.T, o store.Objects) {
	require.NoError(t, o.Create(t.Context(), "s/a", []byte("123")))
	require.NoError(t, o.Create(t.Context(), "s/b/c", nil))
	require.NoError(t, o.Create(t.Context(), "other", nil))
	var keys []string
	var size int64
	for obj, err := range o.Stats(t.Context(), "s/") {
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), obj.Made, slack)
		keys, size = append(keys, obj.Key), size+obj.Bytes
	}
	require.Equal(t, []string{"s/a", "s/b/c"}, keys)
	require.EqualValues(t, 3, size)
}

func objectsTouch(t *testing.T, o store.Objects) {
	require.ErrorIs(t, o.Touch(t.Context(), "t/x"), store.ErrNotFound)
	require.NoError(t, o.Create(t.Context(), "t/x", []byte("x")))
	require.NoError(t, o.Touch(t.Context(), "t/x"))
	data, err := o.Get(t.Context(), "t/x")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}

func objectsDeleteBefore(t *testing.T, o store.Objects) {
	require.NoError(t, o.Create(t.Context(), "d/x", []byte("x")))
	gone, err := o.DeleteBefore(t.Context(), "d/x", time.Now().Add(-slack))
	require.NoError(t, err)
	require.False(t, gone)
	_, err = o.Get(t.Context(), "d/x")
	require.NoError(t, err)
	for range 2 {
		gone, err = o.DeleteBefore(t.Context(), "d/x", time.Now().Add(slack))
		require.NoError(t, err)
		require.True(t, gone)
		_, err = o.Get(t.Context(), "d/x")
		require.ErrorIs(t, err, store.ErrNotFound)
	}
}
