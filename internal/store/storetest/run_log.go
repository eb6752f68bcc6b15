package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

func logReadsBack(t *testing.T, s *store.Store) {
	records := Conversation(3, 5)
	for _, per := range []int{1, 4, len(records)} {
		head := last(appendAll(t, s, "s", store.Head{}, records, per))
		require.Equal(t, marshal(t, records), lines(t, s, "s", head, 0))
		requireFold(t, s, "s", head, 0, records)
	}
}

func logFrom(t *testing.T, s *store.Store) {
	records := Conversation(2, 3)
	head := last(appendAll(t, s, "s", store.Head{}, records, 4))
	all := marshal(t, records)
	for from := range all {
		require.Equal(t, all[from:], lines(t, s, "s", head, int64(from)))
	}
	require.Empty(t, lines(t, s, "s", head, head.Count))
	require.Empty(t, lines(t, s, "s", head, head.Count+7))
	for r, err := range s.Records(t.Context(), "s", head, 2) {
		require.NoError(t, err)
		require.EqualValues(t, 2, r.Seq)
		break
	}
}

func logFacts(t *testing.T, s *store.Store) {
	records := Conversation(2, 3)
	head := last(appendAll(t, s, "s", store.Head{}, records, 5))
	var want, got []session.Record
	for _, r := range records {
		if _, chunk := r.Event.(session.AssistantChunk); !chunk {
			want = append(want, r)
		}
	}
	for r, err := range s.Facts(t.Context(), "s", head, 0) {
		require.NoError(t, err)
		got = append(got, r)
	}
	require.Equal(t, marshal(t, want), marshal(t, got))
}

func appendTwice(t *testing.T, s *store.Store) {
	records := Conversation(1, 2)
	one := last(appendAll(t, s, "s", store.Head{}, records, 3))
	two := last(appendAll(t, s, "s", store.Head{}, records, 3))
	require.Equal(t, one, two)
}

func appendNothing(t *testing.T, s *store.Store) {
	head := last(appendAll(t, s, "s", store.Head{}, Conversation(1, 2), 3))
	same, err := s.Append(t.Context(), "s", 0, head, nil)
	require.NoError(t, err)
	require.Equal(t, head, same)
	empty, err := s.Append(t.Context(), "s", 0, store.Head{}, nil)
	require.NoError(t, err)
	require.Equal(t, store.Head{}, empty)
	st, err := s.State(t.Context(), "s", empty)
	require.NoError(t, err)
	require.Zero(t, st.Count())
}

func appendGap(t *testing.T, s *store.Store) {
	records := Conversation(1, 2)
	head := last(appendAll(t, s, "s", store.Head{}, records[:3], 3))
	for _, bad := range [][]session.Record{records[4:], records[2:], {records[3], records[5]}} {
		_, err := s.Append(t.Context(), "s", 0, head, bad)
		require.ErrorContains(t, err, "seq")
	}
	_, err := s.Append(t.Context(), "s", 0, store.Head{Hash: head.Hash, Count: 4}, records[4:])
	require.ErrorContains(t, err, "ends at event 2")
	_, err = s.Append(t.Context(), "s", 0, store.Head{Count: 4}, records[4:])
	require.ErrorContains(t, err, "malformed")
}

func appendAgainstRules(t *testing.T, s *store.Store) {
	r := session.NewRecord(1, session.TurnEnd{Turn: 1, Reason: session.TurnReason{Kind: session.TurnCompleted}})
	_, err := s.Append(t.Context(), "s", 0, store.Head{}, []session.Record{r})
	var rule *session.RuleError
	require.ErrorAs(t, err, &rule)
}

func appendUnknownBase(t *testing.T, s *store.Store) {
	records := Conversation(1, 2)
	unknown := store.Head{Hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Count: 3}
	_, err := s.Append(t.Context(), "s", 0, unknown, records[3:])
	requireCorrupt(t, err, unknown.Hash)
	_, err = s.State(t.Context(), "s", unknown)
	requireCorrupt(t, err, unknown.Hash)
}

func requireCorrupt(t *testing.T, err error, hash string) {
	t.Helper()
	var corrupt *store.CorruptError
	require.ErrorAs(t, err, &corrupt)
	require.Equal(t, hash, corrupt.Hash)
	require.Equal(t, "s", corrupt.Session)
	require.ErrorContains(t, err, hash)
}

func appendArguments(t *testing.T, s *store.Store) {
	text := `{"path":"large"}`
	set, err := s.PutBlob(t.Context(), []byte(text), "text/plain")
	require.NoError(t, err)
	events := []session.Event{session.TurnStart{Turn: 1}, session.StepStart{Turn: 1, Step: 1},
		session.ToolCall{Turn: 1, Step: 1, CallID: "c", Name: "n", ArgumentsBlob: &set}}
	var records []session.Record
	for i, e := range events {
		r := session.NewRecord(1, e)
		r.Seq = int64(i)
		records = append(records, r)
	}
	head, err := s.Append(t.Context(), "s", 0, store.Head{}, records)
	require.NoError(t, err)
	for r, err := range s.Records(t.Context(), "s", head, 2) {
		require.NoError(t, err)
		require.Equal(t, session.ToolCall{Turn: 1, Step: 1, CallID: "c", Name: "n", Arguments: text}, r.Event)
	}
}

func stateIsACopy(t *testing.T, s *store.Store) {
	records := Conversation(2, 2)
	half := len(records) / 2
	head := last(appendAll(t, s, "s", store.Head{}, records[:half], half))
	st, err := s.State(t.Context(), "s", head)
	require.NoError(t, err)
	for _, r := range records[half:] {
		require.NoError(t, st.Apply(r))
	}
	requireFold(t, s, "s", head, 0, records[:half])
}

func cutAnywhere(t *testing.T, s *store.Store) {
	records := Conversation(2, 3)
	head := last(appendAll(t, s, "s", store.Head{}, records, 4))
	all := marshal(t, records)
	for n := range len(all) + 1 {
		cut, err := s.Cut(t.Context(), "s", head, int64(n))
		require.NoError(t, err)
		for _, h := range []store.Head{cut, {Hash: head.Hash, Count: int64(n)}} {
			require.Equal(t, all[:n], lines(t, s, "s", h, 0))
			requireFold(t, s, "s", h, 0, records[:n])
		}
	}
	_, err := s.Cut(t.Context(), "s", head, head.Count+1)
	require.Error(t, err)
	_, err = s.Cut(t.Context(), "s", head, -1)
	require.Error(t, err)
}

func forkFromCut(t *testing.T, s *store.Store) {
	records := Conversation(2, 3)
	parent := last(appendAll(t, s, "parent", store.Head{}, records, 4))
	boundary := int64(len(Conversation(1, 3)))
	h := session.Header{Version: session.FormatVersion, ID: "child", ParentSession: "parent", SeedLength: boundary}
	require.NoError(t, s.PutHeader(t.Context(), h))

	end := session.NewRecord(5, session.EndSeed{})
	end.Seq = boundary
	head, err := s.Append(t.Context(), "child", 0, store.Head{Hash: parent.Hash, Count: boundary}, []session.Record{end})
	require.NoError(t, err)
	log := append(records[:boundary:boundary], end)
	require.Equal(t, marshal(t, log), lines(t, s, "child", head, 0))
	requireFold(t, s, "child", head, boundary, log)
	require.Equal(t, marshal(t, records), lines(t, s, "parent", parent, 0))
}

func appendRace(t *testing.T, s *store.Store) {
	records := Conversation(1, 20)
	heads := make([]store.Head, 8)
	race(t, len(heads), func(i int) bool {
		h, err := s.Append(t.Context(), "s", 0, store.Head{}, records)
		if err != nil {
			t.Error(err)
		}
		heads[i] = h
		_, err = s.State(t.Context(), "s", h)
		return err == nil
	})
	for _, h := range heads {
		require.Equal(t, heads[0], h)
	}
	require.Equal(t, marshal(t, records), lines(t, s, "s", heads[0], 0))
}
