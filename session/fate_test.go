package session

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// fateOf is what a log says of message m.
func fateOf(t *testing.T, seed int64, script string) Fate {
	t.Helper()
	track := Track("m", seed)
	for _, r := range newScribe(t, script).log.Records() {
		track.Add(r)
	}
	return track.Fate()
}

func TestALogSaysWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	claimed := "IS+(next-turn:m) TS1 IS-(next-turn:1) "
	for script, want := range map[string]Fate{
		"IS+(next-turn:a)":                      {},
		"IS+(next-step:m)":                      {State: FatePending, Target: NextStep},
		"IS+(next-turn:a,m) ISm(next-step@0:m)": {State: FatePending, Target: NextStep},
		"IS+(next-turn:a,m) ISr(next-turn:m→m)": {State: FatePending, Target: NextTurn, Edited: true},
		"IS+(next-turn:m,a) ISr(next-turn:a→a)": {State: FatePending, Target: NextTurn},
		claimed:                                           {State: FateClaimed, Turn: 1, Step: 1},
		claimed + "SS1.1 UM(m)":                           {State: FateClaimed, Turn: 1, Step: 1, Consumed: true},
		claimed + "SS1.1 UM(x)":                           {State: FateClaimed, Turn: 1, Step: 1},
		claimed + "SS1.1 UM(x) RH(initial)":               {State: FateClaimed, Turn: 1, Step: 1, Reason: DropRewritten},
		claimed + "SS1.1 UM(x) SE":                        {State: FateClaimed, Turn: 1, Step: 1, Reason: DropRewritten},
		claimed + "SS1.1 UM(m) CH AM SE TE(completed)":    {State: FateEnded, Turn: 1, Step: 1, Kind: TurnCompleted, Consumed: true},
		claimed + "SS1.1 UM(m) CH AA SE TE(error SERVER)": {State: FateEnded, Turn: 1, Step: 1, Kind: TurnErrored, Consumed: true},
		claimed + "TE(blocked)":                           {State: FateDropped, Turn: 1, Step: 1, Kind: TurnBlocked, Reason: DropBlocked},
		claimed + "TE(completed)":                         {State: FateDropped, Turn: 1, Step: 1, Kind: TurnCompleted, Reason: DropRewritten},
		claimed + "TE(error X)":                           {State: FateDropped, Turn: 1, Step: 1, Kind: TurnErrored, Reason: DropError},
		claimed + "SS1.1 SE TE(aborted user)":             {State: FateDropped, Turn: 1, Step: 1, Kind: TurnAborted, Reason: DropAborted},
		claimed + "SS1.1 SE TE(interrupted)":              {State: FateDropped, Turn: 1, Step: 1, Kind: TurnInterrupted, Reason: DropInterrupted},
		claimed + "SS1.1 UM(x) CH AM SE TE(aborted user)": {State: FateDropped, Turn: 1, Step: 1, Kind: TurnAborted, Reason: DropRewritten},
		"IS+(next-turn:m,a) ISx(next-turn:1)":             {State: FateDiscarded, Cause: Removed},
		"IS+(next-turn:m,a) ISx(next-turn:2)":             {State: FateDiscarded, Cause: Cleared},
		"IS+(next-turn:m) CR(user) ISx(next-turn:1)":      {State: FateDiscarded, Cause: Cancelled},
		"IS+(next-turn:m) IS+(next-step:s) CR(user) ISx(next-step:1) ISx(next-turn:1)":                             {State: FateDiscarded, Cause: Cancelled},
		"CR(user) IS+(next-turn:m) ISx(next-turn:1)":                                                               {State: FateDiscarded, Cause: Removed},
		"IS+(next-turn:m) ISr(next-turn:m→n)":                                                                      {State: FateDiscarded, Cause: Replaced, ReplacedBy: "n"},
		"IS+(next-turn:m) ISr(next-turn:m→n) IS+(next-turn:m)":                                                     {State: FatePending, Target: NextTurn},
		"IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) CH AM IS+(next-step:m) SE IS-(next-step:1) SS1.2 UM(m)": {State: FateClaimed, Turn: 1, Step: 2, Consumed: true},
	} {
		require.Equal(t, want, fateOf(t, 0, script), script)
	}
}

func TestWhatTheParentHadPendingIsNothingInAFork(t *testing.T) {
	t.Parallel()
	script := "IS+(next-turn:m) ES"
	require.Equal(t, Fate{}, fateOf(t, 1, script))
	require.Equal(t, FatePending, fateOf(t, 0, script).State)
	done := "IS+(next-turn:m) TS1 IS-(next-turn:1) SS1.1 UM(m) CH AM SE TE(completed) ES"
	require.Equal(t, FateEnded, fateOf(t, 8, done).State, "what was done in the seed is done")
}

func ExampleTracker() {
	log := NewLog(Header{Version: FormatVersion, ID: "s"})
	insert, _ := log.State().Inbox().Insert(NextTurn, Message{ID: "m", Role: RoleUser, Content: TextContent("hello"), Source: Source{Kind: SourceUser}})
	_, _ = log.Append(NewRecord(1, insert))
	remove, _ := log.State().Inbox().Remove("m")
	_, _ = log.Append(NewRecord(2, *remove))
	track := Track("m", 0)
	for _, r := range log.Records() {
		track.Add(r)
	}
	fmt.Println(track.Fate().State, track.Fate().Cause)
	// Output: discarded removed
}
