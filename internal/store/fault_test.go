package store_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
)

var errFire = errors.New("disk on fire")

func faulty(t *testing.T) (*store.Store, *storetest.Faults) {
	t.Helper()
	faults := storetest.NewFaults()
	return open(t, "mem://", store.Options{Wrap: faults.Wrap}), faults
}

func TestAppendSurvivesFaults(t *testing.T) {
	t.Parallel()
	segments := storetest.Match{Op: storetest.Create, Prefix: "segments/"}
	for name, set := range map[string]func(*storetest.Faults){
		"nothing was written":        func(f *storetest.Faults) { f.Fail(segments, errFire, 2) },
		"the answer was lost":        func(f *storetest.Faults) { f.FailAfter(segments, errFire, 2) },
		"a part was written":         func(f *storetest.Faults) { f.Torn(segments, 30, errFire, 1) },
		"nothing at all got through": func(f *storetest.Faults) { f.Torn(segments, 0, errFire, 1) },
		"the epochs were unreadable": func(f *storetest.Faults) {
			f.Fail(storetest.Match{Op: storetest.List, Prefix: "epochs/"}, errFire, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, faults := faulty(t)
			set(faults)
			records := storetest.Conversation(1, 3)
			var head store.Head
			err := errFire
			tries := 0
			for ; err != nil; tries++ {
				require.ErrorIs(t, err, errFire)
				head, err = s.Append(t.Context(), "s", 0, store.Head{}, records)
			}
			require.Greater(t, tries, 1)
			require.NoError(t, firstError(s.Records(t.Context(), "s", head, 0)))
			require.EqualValues(t, len(records), head.Count)
		})
	}
}

func TestFencedAppendWritesNothing(t *testing.T) {
	t.Parallel()
	s, faults := faulty(t)
	require.NoError(t, s.ClaimEpoch(t.Context(), "s", 1, "o"))
	faults.Forget()
	_, err := s.Append(t.Context(), "s", 0, store.Head{}, storetest.Conversation(1, 1))
	require.ErrorIs(t, err, store.ErrFenced)
	require.Empty(t, faults.Calls(storetest.Match{Op: storetest.Create}))
}

func TestWarmStateReadsNothing(t *testing.T) {
	t.Parallel()
	s, faults := faulty(t)
	records := storetest.Conversation(10, 3)
	var head store.Head
	segments := storetest.Match{Op: storetest.Get, Prefix: "segments/"}
	for len(records) > 0 {
		n := min(7, len(records))
		var err error
		head, err = s.Append(t.Context(), "s", 0, head, records[:n])
		require.NoError(t, err)
		st, err := s.State(t.Context(), "s", head)
		require.NoError(t, err)
		require.Equal(t, head.Count, st.Count())
		records = records[n:]
	}
	require.Empty(t, faults.Calls(segments))
}

func TestStateReadsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writer := open(t, dir, store.Options{})
	faults := storetest.NewFaults()
	reader := open(t, dir, store.Options{Wrap: faults.Wrap})
	records := storetest.Conversation(10, 3)
	var head store.Head
	for len(records) > 0 {
		n := min(7, len(records))
		var err error
		head, err = writer.Append(t.Context(), "s", 0, head, records[:n])
		require.NoError(t, err)
		faults.Forget()
		st, err := reader.State(t.Context(), "s", head)
		require.NoError(t, err)
		require.Equal(t, head.Count, st.Count())
		require.Len(t, faults.Calls(storetest.Match{Op: storetest.Get, Prefix: "segments/"}), 1)
		records = records[n:]
	}
}

func TestDownStoreAnswersWithItsError(t *testing.T) {
	t.Parallel()
	s, faults := faulty(t)
	head, err := s.Append(t.Context(), "s", 0, store.Head{}, storetest.Conversation(1, 1))
	require.NoError(t, err)
	faults.Down(nil)
	_, err = s.Append(t.Context(), "s", 0, head, nil)
	require.ErrorIs(t, err, storetest.ErrDown)
	require.ErrorIs(t, s.PublishHead(t.Context(), "s", 0, head), storetest.ErrDown)
	_, err = s.Effect(t.Context(), "k")
	require.ErrorIs(t, err, storetest.ErrDown)
	require.ErrorIs(t, firstError(s.Sessions(t.Context())), storetest.ErrDown)
	faults.Up()
	require.NoError(t, s.PublishHead(t.Context(), "s", 0, head))
}

func TestSweepFailuresDoNotMatter(t *testing.T) {
	t.Parallel()
	s, faults := faulty(t)
	faults.Fail(storetest.Match{Op: storetest.Delete, Prefix: "heads/"}, errFire, storetest.Always)
	records := storetest.Conversation(20, 1)
	var head store.Head
	for len(records) > 0 {
		var err error
		n := min(3, len(records))
		head, err = s.Append(t.Context(), "s", 0, head, records[:n])
		require.NoError(t, err)
		require.NoError(t, s.PublishHead(t.Context(), "s", 0, head))
		records = records[n:]
	}
	_, latest, err := s.LatestHead(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, head, latest)
}

func TestLostAnswerOfStartedIsNotFirst(t *testing.T) {
	t.Parallel()
	s, faults := faulty(t)
	faults.FailAfter(storetest.Match{Op: storetest.Create, Prefix: "effects/"}, errFire, 1)
	_, err := s.Started(t.Context(), "k")
	require.ErrorIs(t, err, errFire)
	first, err := s.Started(t.Context(), "k")
	require.NoError(t, err)
	require.False(t, first)
}
