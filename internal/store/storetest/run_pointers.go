package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

func epochFence(t *testing.T, s *store.Store) {
	records := Conversation(1, 2)
	require.NoError(t, s.CheckEpoch(t.Context(), "s", 0))
	require.NoError(t, s.ClaimEpoch(t.Context(), "s", 1, "run-1"))
	head, err := s.Append(t.Context(), "s", 1, store.Head{}, records[:2])
	require.NoError(t, err)
	require.NoError(t, s.ClaimEpoch(t.Context(), "s", 12, "run-2"))

	_, err = s.Append(t.Context(), "s", 1, head, records[2:])
	var fenced *store.FencedError
	require.ErrorAs(t, err, &fenced)
	require.ErrorIs(t, err, store.ErrFenced)
	require.Equal(t, store.FencedError{Session: "s", Epoch: 1, Claimed: 12, Owner: "run-2"}, *fenced)
	require.ErrorIs(t, s.CheckEpoch(t.Context(), "s", 11), store.ErrFenced)
	require.ErrorIs(t, s.ClaimEpoch(t.Context(), "s", 1, "run-1"), store.ErrFenced)
	require.NoError(t, s.CheckEpoch(t.Context(), "s", 12))
	require.NoError(t, s.CheckEpoch(t.Context(), "other", 0))
	_, err = s.Append(t.Context(), "s", 12, head, records[2:])
	require.NoError(t, err)
}

func epochOwner(t *testing.T, s *store.Store) {
	_, err := s.HighestEpoch(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NoError(t, s.ClaimEpoch(t.Context(), "s", 3, "a"))
	require.NoError(t, s.ClaimEpoch(t.Context(), "s", 3, "a"))
	require.ErrorIs(t, s.ClaimEpoch(t.Context(), "s", 3, "b"), store.ErrFenced)
	require.Error(t, s.ClaimEpoch(t.Context(), "s", -1, "b"))
	highest, err := s.HighestEpoch(t.Context(), "s")
	require.NoError(t, err)
	require.EqualValues(t, 3, highest)
}

func epochRace(t *testing.T, s *store.Store) {
	won := race(t, 16, func(i int) bool {
		err := s.ClaimEpoch(t.Context(), "s", 7, fmt.Sprint(i))
		if err != nil && !errors.Is(err, store.ErrFenced) {
			t.Error(err)
		}
		return err == nil
	})
	require.Len(t, won, 1)
}

func headsWin(t *testing.T, s *store.Store) {
	heads := appendAll(t, s, "s", store.Head{}, Conversation(2, 2), 3)
	_, _, err := s.LatestHead(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
	for _, step := range []struct {
		epoch       int64
		head        store.Head
		wantEpoch   int64
		want        store.Head
		description string
	}{
		{0, heads[0], 0, heads[0], "an empty log has a head"},
		{0, heads[3], 0, heads[3], "more events win"},
		{0, heads[2], 0, heads[3], "a late publication does no harm"},
		{0, heads[3], 0, heads[3], "the same again is fine"},
		{2, heads[1], 2, heads[1], "a higher epoch wins with fewer events"},
		{0, heads[4], 2, heads[1], "a lower epoch never wins"},
		{10, heads[2], 10, heads[2], "epochs are numbers, not texts"},
	} {
		require.NoError(t, s.PublishHead(t.Context(), "s", step.epoch, step.head), step.description)
		epoch, head, err := s.LatestHead(t.Context(), "s")
		require.NoError(t, err, step.description)
		require.Equal(t, step.wantEpoch, epoch, step.description)
		require.Equal(t, step.want, head, step.description)
	}
}

func headConflict(t *testing.T, s *store.Store) {
	one := last(appendAll(t, s, "s", store.Head{}, Conversation(1, 2), 100))
	two := last(appendAll(t, s, "s", store.Head{}, Conversation(1, 2), 2))
	require.NoError(t, s.PublishHead(t.Context(), "s", 0, one))
	require.NoError(t, s.PublishHead(t.Context(), "s", 0, two), "of the same count the last one wins")
	_, latest, err := s.LatestHead(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, two, latest)
	require.Error(t, s.PublishHead(t.Context(), "s", -1, one))
	require.Error(t, s.PublishHead(t.Context(), "s", 0, store.Head{Hash: "nonsense", Count: 1}))
}

func headMoves(t *testing.T, s *store.Store) {
	heads := appendAll(t, s, "s", store.Head{}, Conversation(6, 2), 1)
	require.NoError(t, s.PublishHead(t.Context(), "s", 0, heads[0]))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for count := int64(0); count < last(heads).Count; {
				_, h, err := s.LatestHead(t.Context(), "s")
				if err != nil || h.Count < count {
					t.Errorf("head %d after %d: %v", h.Count, count, err)
					return
				}
				count = h.Count
			}
		})
	}
	for _, h := range heads[1:] {
		require.NoError(t, s.PublishHead(t.Context(), "s", 0, h))
	}
	wg.Wait()
}

// oddSessions are ids that are hard on keys and file names.
var oddSessions = []string{
	"plain", "Plain", "PLAIN", "with space", "a/b", "a", "a/../b", "..", ".", ".hidden", "con", "ümläut 你好", "=41", "%2f",
	"a\\b:c*?\"<>|", "trailing.", "~", strings.Repeat("x", 200), strings.Repeat("X", 200), strings.Repeat("你", 200),
}

func sessionsListed(t *testing.T, s *store.Store) {
	for i, id := range oddSessions {
		if i%3 != 0 {
			require.NoError(t, s.PutHeader(t.Context(), session.Header{Version: 1, ID: id, CreatedAt: int64(i)}))
		}
		if i%3 != 1 {
			head := last(appendAll(t, s, id, store.Head{}, Conversation(1, 1), 4))
			require.NoError(t, s.PublishHead(t.Context(), id, 0, store.Head{}))
			require.NoError(t, s.PublishHead(t.Context(), id, 3, head))
			_, got, err := s.LatestHead(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, head, got)
		}
	}
	var got []string
	for id, err := range s.Sessions(t.Context()) {
		require.NoError(t, err)
		got = append(got, id)
	}
	require.ElementsMatch(t, oddSessions, got)
	for id, err := range s.Sessions(t.Context()) {
		require.NoError(t, err)
		require.Contains(t, oddSessions, id)
		break
	}
}

func headerOnce(t *testing.T, s *store.Store) {
	h := session.Header{Version: 1, ID: "s", CreatedAt: 5, CWD: "/w", Origin: "subagent"}
	_, err := s.Header(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NoError(t, s.PutHeader(t.Context(), h))
	require.NoError(t, s.PutHeader(t.Context(), h))
	got, err := s.Header(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, h, got)
	other := h
	other.CWD = "/x"
	require.ErrorIs(t, s.PutHeader(t.Context(), other), store.ErrExists)
	other.ID = "t"
	require.NoError(t, s.PutHeader(t.Context(), other))
}

func badSessions(t *testing.T, s *store.Store) {
	for _, id := range []string{"", "a\nb", "\x00", "\xff", strings.Repeat("x", 201)} {
		_, err := s.Append(t.Context(), id, 0, store.Head{}, Conversation(1, 1))
		require.Error(t, err, "%q", id)
		require.Error(t, s.PublishHead(t.Context(), id, 0, store.Head{}), "%q", id)
		require.Error(t, s.PutHeader(t.Context(), session.Header{ID: id}), "%q", id)
		require.Error(t, s.ClaimEpoch(t.Context(), id, 0, "o"), "%q", id)
		require.Error(t, s.Journal(id, 1, 1, 1, 0).Put(t.Context(), 1, 0, nil), "%q", id)
		_, _, err = s.LatestHead(t.Context(), id)
		require.Error(t, err, "%q", id)
	}
	sessions := slices.Collect(func(yield func(string) bool) {
		for id := range s.Sessions(t.Context()) {
			yield(id)
		}
	})
	require.Empty(t, sessions)
}
