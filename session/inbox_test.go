package session

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func inbox() Inbox {
	return Inbox{NextTurn: []Message{user("a"), user("b"), user("c")}, NextStep: []Message{user("s")}}
}

func apply(t *testing.T, b Inbox, splices ...InboxSpliced) Inbox {
	t.Helper()
	for _, s := range splices {
		require.NoError(t, b.Apply(s))
	}
	return b
}

func ids(messages []Message) []string {
	out := []string{}
	for _, m := range messages {
		out = append(out, m.ID)
	}
	return out
}

// C-034
func TestRemoveDiscardsAPendingMessage(t *testing.T) {
	t.Parallel()
	s, ok := inbox().Remove("b")
	require.True(t, ok)
	require.Equal(t, &InboxSpliced{Target: NextTurn, Start: 1, RemovedCount: 1, Inserted: []Message{}, Outcome: OutcomeCanceled}, s)
	require.Equal(t, []string{"a", "c"}, ids(apply(t, inbox(), *s).NextTurn))
}

// C-035
func TestClearDiscardsNextStepFirstAndTheSecondTimeNothing(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "IS+(next-turn:a) IS+(next-step:s)")
	for _, e := range s.log.State().Inbox().Clear() {
		_, err := s.log.Append(NewRecord(1, e))
		require.NoError(t, err)
	}
	require.Equal(t, "ISx(next-step:1) ISx(next-turn:1)", Trace(s.log.Records()[2:], nil))
	require.Empty(t, s.log.State().Inbox().Clear())
	require.True(t, s.log.State().Inbox().Empty())
}

// C-036
func TestReplaceKeepsThePlaceInOneSplice(t *testing.T) {
	t.Parallel()
	s, ok, err := inbox().Replace("b", user("b2"))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, &InboxSpliced{Target: NextTurn, Start: 1, RemovedCount: 1, Inserted: []Message{user("b2")}, Outcome: OutcomeCanceled}, s)
	require.Equal(t, []string{"a", "b2", "c"}, ids(apply(t, inbox(), *s).NextTurn))
}

// C-037
func TestRemoveAndReplaceOfAnUnknownIDReportFalse(t *testing.T) {
	t.Parallel()
	s, ok := inbox().Remove("z")
	require.False(t, ok)
	require.Nil(t, s)
	s, ok, err := inbox().Replace("z", user("y"))
	require.NoError(t, err)
	require.False(t, ok)
	require.Nil(t, s)
}

// C-038, C-039
func TestInsertRefuses(t *testing.T) {
	t.Parallel()
	anonymous, wrong := user(""), user("x")
	wrong.Role = RoleSystem
	bad := user("x")
	bad.Content = TextContent("\xff")
	for _, c := range []struct {
		name, list string
		m          Message
		rule       string
	}{
		{"an id pending in the same list", NextTurn, user("a"), RuleInboxDuplicate},
		{"an id pending in the other list", NextStep, user("a"), RuleInboxDuplicate},
		{"an unknown list", "later", user("x"), RuleInboxTarget},
		{"a message without id", NextTurn, anonymous, RuleID},
		{"a message of the system", NextTurn, wrong, RuleMessage},
		{"a message that is not JSON", NextTurn, bad, RuleData},
	} {
		_, err := inbox().Insert(c.list, c.m)
		requireRule(t, err, c.rule)
	}
	_, ok, err := inbox().Replace("a", user("s"))
	require.True(t, ok)
	requireRule(t, err, RuleInboxDuplicate)
}

func TestInsertJoinsTheTail(t *testing.T) {
	t.Parallel()
	s, err := inbox().Insert(NextTurn, user("d"))
	require.NoError(t, err)
	require.Equal(t, InboxSpliced{Target: NextTurn, Start: 3, Inserted: []Message{user("d")}}, s)
	require.Equal(t, []string{"a", "b", "c", "d"}, ids(apply(t, inbox(), s).NextTurn))
}

// See spec §4.3.
func TestClaimsTakeAllOfNextStepAndTheHeadOfNextTurn(t *testing.T) {
	t.Parallel()
	b := inbox()
	require.Equal(t, &InboxSpliced{Target: NextStep, RemovedCount: 1, Inserted: []Message{}}, b.ClaimStep())
	require.Equal(t, &InboxSpliced{Target: NextTurn, RemovedCount: 1, Inserted: []Message{}}, b.ClaimTurn())
	left := apply(t, b, *b.ClaimStep(), *b.ClaimTurn())
	require.Equal(t, []string{"b", "c"}, ids(left.NextTurn))
	require.Nil(t, left.ClaimStep())
	require.Nil(t, Inbox{}.ClaimTurn())
	require.Equal(t, inbox(), b, "the inbox itself is unchanged")
}

// See spec §2.4.1: coordinates are clamped like a normal list splice before they are logged.
func TestSpliceClampsItsCoordinates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		start, remove int
		insert        []Message
		want          *InboxSpliced
		left          []string
	}{
		{"in range", 1, 1, nil, &InboxSpliced{Target: NextTurn, Start: 1, RemovedCount: 1, Inserted: []Message{}, Outcome: OutcomeCanceled}, []string{"a", "c"}},
		{"from the end", -1, 1, nil, &InboxSpliced{Target: NextTurn, Start: 2, RemovedCount: 1, Inserted: []Message{}, Outcome: OutcomeCanceled}, []string{"a", "b"}},
		{"before the beginning", -9, 1, nil, &InboxSpliced{Target: NextTurn, Start: 0, RemovedCount: 1, Inserted: []Message{}, Outcome: OutcomeCanceled}, []string{"b", "c"}},
		{"beyond the end", 9, 9, []Message{user("d")}, &InboxSpliced{Target: NextTurn, Start: 3, Inserted: []Message{user("d")}}, []string{"a", "b", "c", "d"}},
		{"too many", 1, 9, nil, &InboxSpliced{Target: NextTurn, Start: 1, RemovedCount: 2, Inserted: []Message{}, Outcome: OutcomeCanceled}, []string{"a"}},
		{"a negative count", 1, -1, nil, nil, []string{"a", "b", "c"}},
		{"nothing at all", 9, 9, nil, nil, []string{"a", "b", "c"}},
		{"a prepend", 0, 0, []Message{user("d"), user("e")}, &InboxSpliced{Target: NextTurn, Inserted: []Message{user("d"), user("e")}}, []string{"d", "e", "a", "b", "c"}},
		{"an exchange", 0, 2, []Message{user("b"), user("d")}, &InboxSpliced{Target: NextTurn, RemovedCount: 2, Inserted: []Message{user("b"), user("d")}, Outcome: OutcomeCanceled}, []string{"b", "d", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := inbox().Splice(NextTurn, c.start, c.remove, c.insert...)
			require.NoError(t, err)
			require.Equal(t, c.want, s)
			b := inbox()
			if s != nil {
				b = apply(t, b, *s)
			}
			require.Equal(t, c.left, ids(b.NextTurn))
		})
	}
	_, err := inbox().Splice("later", 0, 0)
	requireRule(t, err, RuleInboxTarget)
	_, err = inbox().Splice(NextTurn, 0, 0, user("s"))
	requireRule(t, err, RuleInboxDuplicate)
}

// C-041
func TestApplyIsStrict(t *testing.T) {
	t.Parallel()
	x := []Message{user("x")}
	for _, c := range []struct {
		name string
		s    InboxSpliced
		rule string
	}{
		{"a start beyond the end", InboxSpliced{Target: NextTurn, Start: 4, Inserted: x}, RuleInboxRange},
		{"a negative start", InboxSpliced{Target: NextTurn, Start: -1, Inserted: x}, RuleInboxRange},
		{"a negative count", InboxSpliced{Target: NextTurn, RemovedCount: -1, Inserted: x}, RuleInboxRange},
		{"more than there is", InboxSpliced{Target: NextTurn, Start: 1, RemovedCount: 3}, RuleInboxRange},
		{"an overflowing count", InboxSpliced{Target: NextTurn, Start: 1, RemovedCount: int(^uint(0) >> 1)}, RuleInboxRange},
		{"nothing", InboxSpliced{Target: NextTurn}, RuleInboxNothing},
		{"an unknown outcome", InboxSpliced{Target: NextTurn, RemovedCount: 1, Outcome: "lost"}, RuleInboxOutcome},
		{"a cancelled insert", InboxSpliced{Target: NextTurn, Inserted: x, Outcome: OutcomeCanceled}, RuleInboxOutcome},
		{"a claim that inserts", InboxSpliced{Target: NextTurn, RemovedCount: 1, Inserted: x}, RuleInboxOutcome},
		{"a duplicate outside the removed span", InboxSpliced{Target: NextTurn, RemovedCount: 1, Inserted: []Message{user("b")}, Outcome: OutcomeCanceled}, RuleInboxDuplicate},
	} {
		b := inbox()
		requireRule(t, b.Apply(c.s), c.rule)
		require.Equal(t, inbox(), b, c.name)
	}
}

func TestCopiesOfAnInboxDoNotShareAppends(t *testing.T) {
	t.Parallel()
	one := Inbox{NextTurn: append(make([]Message, 0, 8), user("a"))}
	two := one
	one = apply(t, one, InboxSpliced{Target: NextTurn, Start: 1, Inserted: []Message{user("b")}})
	two = apply(t, two, InboxSpliced{Target: NextTurn, Start: 1, Inserted: []Message{user("c")}})
	require.Equal(t, []string{"a", "b"}, ids(one.NextTurn))
	require.Equal(t, []string{"a", "c"}, ids(two.NextTurn))
}

// C-047
func TestPendingListsAreReadableFromTheLogAlone(t *testing.T) {
	t.Parallel()
	records := newScribe(t, "IS+(next-turn:a,b) IS+(next-step:x) TS1 IS-(next-step:1) IS-(next-turn:1) TE(completed) IS+(next-step:y)").log.Records()
	s, err := Fold(0, records)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, ids(s.Inbox().NextTurn))
	require.Equal(t, []string{"y"}, ids(s.Inbox().NextStep))
	list, i, ok := s.Inbox().Find("b")
	require.Equal(t, []any{NextTurn, 0, true}, []any{list, i, ok})
}
