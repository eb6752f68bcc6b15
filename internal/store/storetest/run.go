package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

// Run proves that a store keeps its promises. open returns an empty store.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"it has an identity":                       identity,
		"a log reads back as it was written":       logReadsBack,
		"a log can be read from any event":         logFrom,
		"facts leave chunks out":                   logFacts,
		"appending twice is the same as once":      appendTwice,
		"appending nothing keeps the head":         appendNothing,
		"a gap in the seqs is refused":             appendGap,
		"an event against the rules is refused":    appendAgainstRules,
		"an unknown base is refused":               appendUnknownBase,
		"set-aside arguments are put back":         appendArguments,
		"a state may be changed by its caller":     stateIsACopy,
		"a log can be cut anywhere":                cutAnywhere,
		"a fork goes on from a cut":                forkFromCut,
		"an old epoch is fenced":                   epochFence,
		"an epoch has one owner":                   epochOwner,
		"of many claimers exactly one wins":        epochRace,
		"the highest epoch and count win":          headsWin,
		"a head is not published twice":            headConflict,
		"readers find a head while it moves":       headMoves,
		"sessions are listed once":                 sessionsListed,
		"a header is written once":                 headerOnce,
		"session ids are checked":                  badSessions,
		"a blob reads back":                        blobs,
		"a journal keeps executions apart":         journals,
		"a journal can be followed and dropped":    journalTail,
		"what waits is listed until it ends":       waits,
		"the end of a wait may come first":         waitsEndFirst,
		"a wait counts in the highest epoch alone": waitsInEpoch,
		"an effect starts once":                    effects,
		"of many starters exactly one is first":    effectRace,
		"writers of one log agree on its segments": appendRace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			test(t, s)
		})
	}
}

func identity(t *testing.T, s *store.Store) {
	require.NotEmpty(t, s.ID())
}

// appendAll appends records in segments of the given length and returns every head on the way.
func appendAll(t *testing.T, s *store.Store, id string, base store.Head, records []session.Record, per int) []store.Head {
	t.Helper()
	heads := []store.Head{base}
	for len(records) > 0 {
		n := min(per, len(records))
		next, err := s.Append(t.Context(), id, 0, heads[len(heads)-1], records[:n])
		require.NoError(t, err)
		require.Equal(t, heads[len(heads)-1].Count+int64(n), next.Count)
		heads, records = append(heads, next), records[n:]
	}
	return heads
}

func last(heads []store.Head) store.Head { return heads[len(heads)-1] }

// lines reads a log as its exported lines.
func lines(t *testing.T, s *store.Store, id string, head store.Head, from int64) []string {
	t.Helper()
	var out []session.Record
	for r, err := range s.Records(t.Context(), id, head, from) {
		require.NoError(t, err)
		out = append(out, r)
	}
	return marshal(t, out)
}

func marshal(t *testing.T, records []session.Record) []string {
	t.Helper()
	out := []string{}
	for _, r := range records {
		line, err := r.MarshalJSON()
		require.NoError(t, err)
		out = append(out, string(line))
	}
	return out
}

// summary is what of a state a test can compare.
type summary struct {
	count   int64
	turn    int
	surface []string
	repair  []string // carries the time of the last event
	inbox   session.Inbox
}

func summarize(t *testing.T, st *session.State) summary {
	t.Helper()
	turn, _ := st.Turn()
	return summary{st.Count(), turn, marshal(t, st.Surface()), marshal(t, session.Repair(st)), st.Inbox()}
}

func requireFold(t *testing.T, s *store.Store, id string, head store.Head, seed int64, records []session.Record) {
	t.Helper()
	got, err := s.State(t.Context(), id, head)
	require.NoError(t, err)
	want, err := session.Fold(seed, records)
	require.NoError(t, err)
	require.Equal(t, summarize(t, want), summarize(t, got))
}
