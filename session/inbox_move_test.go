package session

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func moved(t *testing.T, b Inbox, m *InboxMoved) Inbox {
	t.Helper()
	require.NotNil(t, m)
	require.NoError(t, b.ApplyMove(*m))
	return b
}

func TestPromoteMovesAPendingMessageToTheHeadOfAList(t *testing.T) {
	t.Parallel()
	m, ok, err := inbox().Promote("c", "")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"c", "a", "b"}, ids(moved(t, inbox(), m).NextTurn))

	m, _, err = inbox().Promote("b", NextStep)
	require.NoError(t, err)
	b := moved(t, inbox(), m)
	require.Equal(t, []string{"b", "s"}, ids(b.NextStep))
	require.Equal(t, []string{"a", "c"}, ids(b.NextTurn))

	m, ok, err = inbox().Promote("a", NextTurn)
	require.NoError(t, err)
	require.True(t, ok)
	require.Nil(t, m, "it stands there")
	m, ok, err = inbox().Promote("nobody", "")
	require.NoError(t, err)
	require.False(t, ok)
	require.Nil(t, m)
	_, _, err = inbox().Promote("a", "later")
	requireRule(t, err, RuleInboxTarget)
}

func TestReorderNamesOnlyWhatChangesItsPlace(t *testing.T) {
	t.Parallel()
	m, err := inbox().Reorder(NextTurn, []string{"a", "c", "b"})
	require.NoError(t, err)
	require.Equal(t, &InboxMoved{Target: NextTurn, Start: 1, IDs: []string{"c", "b"}}, m)
	require.Equal(t, []string{"a", "c", "b"}, ids(moved(t, inbox(), m).NextTurn))
	m, err = inbox().Reorder(NextTurn, []string{"a", "b", "c"})
	require.NoError(t, err)
	require.Nil(t, m, "it has the order")

	for rule, want := range map[string][]string{
		RuleInboxDuplicate: {"a", "b", "b"}, RuleInboxUnknown: {"a", "b", "s"}, RuleInboxRange: {"b", "a"},
	} {
		_, err := inbox().Reorder(NextTurn, want)
		requireRule(t, err, rule)
	}
	_, err = inbox().Reorder("later", nil)
	requireRule(t, err, RuleInboxTarget)
}

func TestMovesAreStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		move InboxMoved
		rule string
	}{
		"of nothing":            {InboxMoved{Target: NextTurn}, RuleInboxNothing},
		"to an unknown list":    {InboxMoved{Target: "later", IDs: []string{"a"}}, RuleInboxTarget},
		"before the beginning":  {InboxMoved{Target: NextTurn, Start: -1, IDs: []string{"a"}}, RuleInboxRange},
		"beyond the end":        {InboxMoved{Target: NextTurn, Start: 3, IDs: []string{"a"}}, RuleInboxRange},
		"of what is not there":  {InboxMoved{Target: NextTurn, IDs: []string{"x"}}, RuleInboxUnknown},
		"of one message twice":  {InboxMoved{Target: NextTurn, IDs: []string{"c", "c"}}, RuleInboxDuplicate},
		"to where it stands":    {InboxMoved{Target: NextTurn, Start: 1, IDs: []string{"b", "c"}}, RuleInboxNothing},
		"of an id that is none": {InboxMoved{Target: NextTurn, IDs: []string{""}}, RuleID},
	} {
		b := inbox()
		requireRule(t, b.ApplyMove(c.move), c.rule)
		require.Equal(t, inbox(), b, name)
	}
}

func TestAMoveChangesTheOrderOfClaims(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "IS+(next-turn:a,b,c) ISm(next-turn@0:c,b) ISm(next-step@0:a) TS1 IS-(next-step:1) IS-(next-turn:1)")
	require.Equal(t, []string{"b"}, ids(s.log.State().Inbox().NextTurn))
	require.Equal(t, "IS+(next-turn:a,b,c) ISm(next-turn@0:c,b) ISm(next-step@0:a) TS1 IS-(next-step:1) IS-(next-turn:1)", Trace(s.log.Records(), nil))
	require.False(t, s.log.State().Account().DroppedUnrun, "nothing was discarded")

	r := NewRecord(1, InboxMoved{Target: NextTurn, IDs: []string{"b"}})
	r.Seq = s.log.State().Count()
	err := s.log.State().Clone().Apply(r)
	requireRule(t, err, RuleInboxNothing)
	require.ErrorContains(t, err, "event 6", "it names its place in the log")
}

func TestAMoveOfTheSeedIsNotInherited(t *testing.T) {
	t.Parallel()
	records := newScribe(t, "IS+(next-turn:a,b) ISm(next-turn@0:b)").log.Records()
	s, err := Fold(2, records)
	require.NoError(t, err)
	require.True(t, s.Inbox().Empty())
	_, err = Fold(1, records)
	requireRule(t, err, RuleInboxUnknown)
}

// A reader that skipped a move would take other messages for claimed.
func TestAMoveIsNotIgnorable(t *testing.T) {
	t.Parallel()
	require.False(t, NewRecord(1, InboxMoved{}).Ignorable)
}
