package session

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func spanOf(start, end int64) string { return fmt.Sprintf("~%d-%d", start, end) }

// long touches everything a state remembers.
const long = "IS+(next-turn:a,b) TS1 IS-(next-turn:1) SS1.1 SYS(p) UM(a) RH(initial) RC CH×2 AM[c1,c2] TC(c1) TR(c1) TC(c2)"

func TestACloneAndItsOriginalNeverSeeEachOthersAppends(t *testing.T) {
	t.Parallel()
	const one = "TR(c2) SE SS1.2 UM~5-5(s) IS+(next-step:x) CH×1 AM SE TE(completed)"
	const two = "IS+(next-turn:c) TC(c3) TR!(c3,X) UM~4-5(s2) TR!(c2,Y) AA SE TE(aborted user) IS-(next-turn:1)"
	want := func(scripts ...string) map[string]any { return snapshot(newScribe(t, scripts...).log.State()) }
	for _, order := range []bool{true, false} {
		s := newScribe(t, long)
		clone := &scribe{t: t, log: &Log{records: s.log.Records(), state: s.log.State().Clone()}, attempt: s.attempt}
		first, second := s, clone
		if order {
			first, second = clone, s
		}
		first.write(one)
		second.write(two)
		require.Equal(t, want(long, one), snapshot(first.log.State()))
		require.Equal(t, want(long, two), snapshot(second.log.State()))
	}
}

// Slices grow by doubling, so every length is tried: with and without spare capacity behind it.
func TestAppendsAfterACloneNeverOverwriteEachOther(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		s := newScribe(t, opened)
		for i := range n {
			s.write(fmt.Sprintf("UM(u%d) IS+(next-turn:t%d) IS+(next-step:s%d) AM[c%d]", i, i, i, i))
		}
		clone := &scribe{t: t, log: &Log{records: s.log.Records(), state: s.log.State().Clone()}}
		s.write("UM(left) IS+(next-turn:left) IS+(next-step:l) AM[left]")
		clone.write("UM(right) IS+(next-turn:right) IS+(next-step:r) AM[right]")
		for _, c := range []struct {
			state *State
			turn  string
			step  string
		}{{s.log.State(), "left", "l"}, {clone.log.State(), "right", "r"}} {
			require.Equal(t, c.turn, c.state.Surface()[2*n].Event.(UserMessage).ID)
			require.Equal(t, c.turn, c.state.Inbox().NextTurn[n].ID)
			require.Equal(t, c.step, c.state.Inbox().NextStep[n].ID)
			require.Contains(t, Trace(Repair(c.state), nil), "TR!("+c.turn+",")
		}
	}
}

func TestClonesMayBeTakenAndUsedAtOnce(t *testing.T) {
	t.Parallel()
	base := newScribe(t, long).log.State()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c := base.Clone()
			r := um(c)
			r.Surface, r.Sources = ReplaceOp(4, 5), []int64{4, 5}
			if err := c.Apply(r); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []int64{4, 5, 10, 12}, seqs(base))
}

func TestAccessorsFollowTheLog(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "TS1 SS1.1")
	turn, open := s.log.State().Turn()
	require.Equal(t, 1, turn)
	require.True(t, open)
	s.write("SE TE(completed)")
	step, open := s.log.State().Step()
	require.Equal(t, 1, step)
	require.False(t, open)
	require.Nil(t, s.log.State().LastHeader())
	require.False(t, s.log.State().HeaderSinceAttach())
	s.write("TS2 SS2.1 RH(initial) RC")
	require.Equal(t, HeaderInitial, s.log.State().LastHeader().Reason)
	require.True(t, s.log.State().HeaderSinceAttach())
	require.Equal(t, "m", s.log.State().LastContext().Model)
	s.write("SE TE(completed) ES")
	require.False(t, s.log.State().HeaderSinceAttach(), "a new incarnation has logged none")
	require.NotNil(t, s.log.State().LastHeader())
}

// See spec §9.1, §9.2.
func TestHistorySkipsMessagesWithoutContent(t *testing.T) {
	t.Parallel()
	s := newScribe(t, opened, "SYS() SYS(p) UM(a) AM∅ AM AA TC(c1) TR(c1)")
	var ids []string
	for _, m := range s.log.State().Messages() {
		ids = append(ids, m.ID)
	}
	require.Equal(t, []string{"sys-3", "a", "am-6", "tr-c1"}, ids)
	require.Len(t, s.log.State().Surface(), 6)
}

// C-339
func TestDerivedHistoryIsTheSameTwiceAndLaterAppendsDoNotChangeIt(t *testing.T) {
	t.Parallel()
	s := newScribe(t, goldenTurn1)
	first := s.log.State().Messages()
	require.Equal(t, first, s.log.State().Messages())
	kept := append([]Message(nil), first...)
	s.write(goldenTurn2).write("UM~4-4(s)")
	require.Equal(t, kept, first)
}

// C-340
func TestLogOnlyEventsNeverInfluenceHistory(t *testing.T) {
	t.Parallel()
	want := newScribe(t, "UM(a) UM(b) UM(c)").log.State().Messages()
	noise := []string{"IS+(next-step:x)", "IS-(next-step:1)", "TS1", "SS1.1", "RH(initial)", "RC", "CH×3", "AA", "LR(1)", "LRS(1)",
		"CH×1", "AM∅", "TC(c9)", "SE", "TE(completed)", "ES", "CR(user)"}
	for at := range len(noise) {
		got := newScribe(t, "UM(a)", strings.Join(noise[:at], " "), "UM(b)", strings.Join(noise[at:], " "), "UM(c)")
		require.Equal(t, want, got.log.State().Messages(), "b after %d", at)
	}
}

// See spec §8.5.
func TestRewritten(t *testing.T) {
	t.Parallel()
	const request = "TS1 SS1.1 UM(a) CH×1 AM SE " // seqs 0–5
	for _, c := range []struct {
		name, script string
		want         bool
	}{
		{"nothing was replaced", request, false},
		{"a sent node was replaced", request + "UM~2-2(s)", true},
		{"the answer itself was not sent yet", request + "UM~4-4(s)", false},
		{"a span that begins with a sent node", request + "UM~2-4(s)", true},
		{"a node no request has carried", request + "UM(b) UM~6-6(s)", false},
		{"a fresh tool result is projected (C-182)", "TS1 SS1.1 UM(a) CH×1 AM[c1] TC(c1) TR(c1) TR~6-6(c1) SE", false},
		{"a projection after the result was sent", "TS1 SS1.1 UM(a) CH×1 AM[c1] TC(c1) TR(c1) SE SS1.2 CH×1 AM SE TR~6-6(c1)", true},
		{"a chunk of the next request ends it", request + "UM~2-2(s) SS1.2 CH×1", false},
		{"a message without chunks ends it", request + "UM~2-2(s) SS1.2 AM∅", false},
		{"an attempt without chunks ends it", request + "UM~2-2(s) SS1.2 AA", false},
		{"a step without a request does not end it", request + "UM~2-2(s) SS1.2 SE", true},
		{"a replacement while the answer streams", "TS1 SS1.1 UM(a) CH×1 UM~2-2(s) CH×1 AM", true},
		{"a retry after that is a new request", "TS1 SS1.1 UM(a) CH×1 UM~2-2(s) AA CH×1", false},
		{"a crash in mid stream does not hide the next request", "TS1 SS1.1 UM(a) CH×1 SE UM~2-2(s) SS1.2 CH×1", false},
		{"before any request there is nothing to rewrite", "UM(a) UM~0-0(s)", false},
		{"attach counts everything present as sent", "UM(a) ES UM~0-0(s)", true},
		{"attach forgets what was rewritten before", request + "UM~2-2(s) TE(completed) ES", false},
		{"what comes after attach is not sent", "ES UM(a) UM~1-1(s)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, newScribe(t, c.script).log.State().Rewritten())
		})
	}
}

// C-350 to C-355. Turn 0 means that there is no account.
func TestAccountOfConsumedWork(t *testing.T) {
	t.Parallel()
	const stepped, claim = "TS1 SS1.1 SE TE(completed) ", "IS+(next-turn:a,b) TS1 IS-(next-turn:1) "
	for _, c := range []struct {
		name, script string
		turn         int
		dropped      bool
	}{
		{"an empty log", "", 0, false},
		{"nothing was consumed", "IS+(next-turn:a)", 0, false},
		{"a turn with a step", stepped, 1, false},
		{"the latest turn with a step", stepped + "TS2 SS2.1 SE TE(error X)", 2, false},
		{"a claim that ended in an error", claim + "TE(error X)", 1, false},
		{"a claim that was aborted", claim + "TE(aborted user)", 1, false},
		{"a claim that was blocked", claim + "TE(blocked)", 1, false},
		{"no claim, aborted: the previous account stays", stepped + "TS2 TE(aborted user)", 1, false},
		{"no claim, blocked: the previous account stays", stepped + "TS2 TE(blocked)", 1, false},
		{"a claim emptied, completed: the previous account stays", stepped + "IS+(next-turn:a) TS2 IS-(next-turn:1) TE(completed)", 1, false},
		{"a discard is no claim", "IS+(next-turn:a) TS1 ISx(next-turn:1) TE(aborted user)", 0, true},
		{"discarded after the account", claim + "SS1.1 SE TE(completed) ISx(next-turn:1)", 1, true},
		{"replaced after the account", claim + "SS1.1 SE TE(completed) ISr(next-turn:b→c)", 1, false},
		{"a later account resets", claim + "SS1.1 SE TE(completed) ISx(next-turn:1) TS2 SS2.1 SE TE(completed)", 2, false},
		{"an unaccounted turn does not reset", claim + "SS1.1 SE TE(completed) ISx(next-turn:1) TS2 TE(completed)", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := newScribe(t, c.script).log.State().Account()
			require.Equal(t, c.dropped, got.DroppedUnrun)
			if c.turn == 0 {
				require.Nil(t, got.Last)
				return
			}
			require.Equal(t, c.turn, got.Last.Turn)
		})
	}
}

// See spec §2.4.1, C-320.
func TestInheritedSplicesDoNotFillTheInbox(t *testing.T) {
	t.Parallel()
	parent := newScribe(t, "IS+(next-turn:a,b) IS+(next-step:x)").log.Records()
	s, err := Fold(2, parent)
	require.NoError(t, err)
	require.True(t, s.Inbox().NextTurn == nil && s.Inbox().NextStep == nil)
	own, err := Fold(1, parent)
	require.NoError(t, err)
	require.Len(t, own.Inbox().NextStep, 1)
}

func TestFoldStopsAtTheFirstRefusal(t *testing.T) {
	t.Parallel()
	records := newScribe(t, goldenTurn1).log.Records()
	records[12].Event = TurnStart{Turn: 2}
	_, err := Fold(0, records)
	requireRule(t, err, "§2.4.3.1")
}

func TestLogRecordsDoNotGrowAfterwards(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "UM(a)")
	records := s.log.Records()
	s.write("UM(b)")
	require.Len(t, records, 1)
	_ = append(records, Record{})
	require.Equal(t, "UM(a) UM(b)", Trace(s.log.Records(), nil))
	require.Equal(t, "s", s.log.Header().ID)
}

// C-315
func TestHeadersThatCannotBeServed(t *testing.T) {
	t.Parallel()
	require.NoError(t, Header{Version: 1, ID: "s", ParentSession: "p", SeedLength: 3}.Validate())
	for _, h := range []Header{{Version: 2, ID: "s"}, {ID: "s"}, {Version: 1}, {Version: 1, ID: "s", SeedLength: -1},
		{Version: 1, ID: "s", ParentSession: "\n"}} {
		require.Error(t, h.Validate())
	}
}
