package storetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
)

var errTest = errors.New("test")

func open(t *testing.T) (*store.Store, *storetest.Faults) {
	t.Helper()
	faults := storetest.NewFaults()
	s, err := store.Open(t.Context(), "mem://", store.Options{Wrap: faults.Wrap})
	require.NoError(t, err)
	faults.Forget()
	return s, faults
}

// put is one create under blobs/.
func put(ctx context.Context, s *store.Store, body string) error {
	_, err := s.PutBlob(ctx, []byte(body), "text/plain")
	return err
}

func TestFailHitsWhatMatchesAsOftenAsAsked(t *testing.T) {
	t.Parallel()
	s, faults := open(t)
	faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "segments/"}, errTest, 2)
	faults.Fail(storetest.Match{Prefix: "blobs/"}, errTest, 0)
	require.NoError(t, put(t.Context(), s, "a"))
	for range 2 {
		_, err := s.Append(t.Context(), "s", 0, store.Head{}, storetest.Conversation(1, 1))
		require.ErrorIs(t, err, errTest)
	}
	_, err := s.Append(t.Context(), "s", 0, store.Head{}, storetest.Conversation(1, 1))
	require.NoError(t, err)
	require.Len(t, faults.Calls(storetest.Match{Op: storetest.Create, Prefix: "segments/"}), 3)
	require.Len(t, faults.Calls(storetest.Match{Op: storetest.Create, Prefix: "blobs/"}), 1)
}

func TestFaultsAreTriedInOrder(t *testing.T) {
	t.Parallel()
	s, faults := open(t)
	other := errors.New("other")
	faults.Fail(storetest.Match{Op: storetest.Create}, errTest, 1)
	faults.Fail(storetest.Match{Op: storetest.Create}, other, 1)
	require.ErrorIs(t, put(t.Context(), s, "a"), errTest)
	require.ErrorIs(t, put(t.Context(), s, "a"), other)
	require.NoError(t, put(t.Context(), s, "a"))
}

func TestFailAfterLeavesTheObject(t *testing.T) {
	t.Parallel()
	s, faults := open(t)
	faults.FailAfter(storetest.Match{Op: storetest.Create}, errTest, 1)
	a, err := s.PutBlob(t.Context(), []byte("a"), "text/plain")
	require.ErrorIs(t, err, errTest)
	require.Empty(t, a)
	require.NoError(t, put(t.Context(), s, "a"))
	require.Len(t, faults.Calls(storetest.Match{Op: storetest.Get, Prefix: "blobs/"}), 1, "the second create found it")
}

func TestCorruptDamagesOneRead(t *testing.T) {
	t.Parallel()
	s, faults := open(t)
	a, err := s.PutBlob(t.Context(), []byte("a"), "text/plain")
	require.NoError(t, err)
	faults.Corrupt(storetest.Match{Prefix: "blobs/"}, 1)
	_, err = s.Blob(t.Context(), a.SHA256)
	var corrupt *store.CorruptError
	require.ErrorAs(t, err, &corrupt)
	got, err := s.Blob(t.Context(), a.SHA256)
	require.NoError(t, err)
	require.Equal(t, "a", string(got))
}

func TestBlockHoldsUntilReleased(t *testing.T) {
	t.Parallel()
	s, faults := open(t)
	gate := faults.Block(storetest.Match{Op: storetest.Create, Prefix: "blobs/"})
	done := make(chan error, 1)
	go func() { done <- put(context.Background(), s, "a") }()
	<-gate.Arrived()
	require.Empty(t, done)
	gate.Release()
	gate.Release()
	require.NoError(t, <-done)
	require.NoError(t, put(t.Context(), s, "b"))
}

func TestBlockObeysTheContext(t *testing.T) {
	t.Parallel()
	s, faults := open(t)
	gate := faults.Block(storetest.Match{Op: storetest.Create})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- put(ctx, s, "a") }()
	<-gate.Arrived()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestSlowTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, faults := open(t)
		faults.Slow(storetest.Match{Op: storetest.Create}, time.Hour, 2)
		begin := time.Now()
		require.NoError(t, put(t.Context(), s, "a"))
		require.Equal(t, time.Hour, time.Since(begin))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, put(ctx, s, "b"), context.DeadlineExceeded)
		require.Equal(t, time.Hour+time.Minute, time.Since(begin))
	})
}

func TestAppendWorksInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := open(t)
		head, err := s.Append(t.Context(), "s", 0, store.Head{}, storetest.Conversation(2, 3))
		require.NoError(t, err)
		for _, err := range s.Records(t.Context(), "s", head, 0) {
			require.NoError(t, err)
		}
	})
}

func TestDownUntilUp(t *testing.T) {
	t.Parallel()
	s, faults := open(t)
	faults.Fail(storetest.Match{Op: storetest.Create}, errTest, 1)
	faults.Down(nil)
	for range 3 {
		require.ErrorIs(t, put(t.Context(), s, "a"), storetest.ErrDown)
	}
	faults.Up()
	require.ErrorIs(t, put(t.Context(), s, "a"), errTest)
	require.NoError(t, put(t.Context(), s, "a"))
	faults.Down(errTest)
	faults.Clear()
	require.NoError(t, put(t.Context(), s, "b"))
}
