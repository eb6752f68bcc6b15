package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// busy is an agent whose first turn hangs, with messages behind it.
func busy(t *testing.T, script string, queued ...string) (*place, *agents.Agent) {
	t.Helper()
	p := newPlace(t, "hold here text \"late\"\n"+script)
	a := p.create("a")
	_, err := a.Followup(t.Context(), agents.Message{ID: "first", Text: "first"})
	require.NoError(t, err)
	require.NoError(t, p.probes.Wait(t.Context(), "here"))
	for _, id := range queued {
		_, err := a.Followup(t.Context(), agents.Message{ID: id, Text: id})
		require.NoError(t, err)
	}
	return p, a
}

func pendingIDs(t *testing.T, a *agents.Agent) (ids []string, revision int64) {
	t.Helper()
	inbox, err := a.Inbox(t.Context())
	require.NoError(t, err)
	for _, m := range inbox.Pending {
		ids = append(ids, m.Target+" "+m.Message.Text())
	}
	return ids, inbox.Revision
}

func requireRefused(t *testing.T, err error, code string) {
	t.Helper()
	var refused *agents.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code)
}

// What waits while a step has the log is pending all the same.
func TestAnInboxIsEditedAtARevision(t *testing.T) {
	t.Parallel()
	p, a := busy(t, strings.Repeat("text \"ok\"\n", 4), "b", "c", "d")
	ids, revision := pendingIDs(t, a)
	require.Equal(t, []string{"next-turn b", "next-turn c", "next-turn d"}, ids)

	require.NoError(t, a.At(revision).Reorder(t.Context(), []string{"c", "d", "b"}))
	requireRefused(t, a.At(revision).Reorder(t.Context(), []string{"b", "c", "d"}), "STALE_REVISION")
	requireRefused(t, a.At(revision).Clear(t.Context()), "STALE_REVISION")
	_, err := a.At(revision).Remove(t.Context(), "b")
	requireRefused(t, err, "STALE_REVISION")
	_, err = a.At(revision).Replace(t.Context(), "b", agents.Text("other"))
	requireRefused(t, err, "STALE_REVISION")
	_, err = a.At(revision).Promote(t.Context(), "b", "")
	requireRefused(t, err, "STALE_REVISION")
	ids, now := pendingIDs(t, a)
	require.Equal(t, []string{"next-turn c", "next-turn d", "next-turn b"}, ids)
	require.Equal(t, revision+1, now)

	found, err := a.At(now).Promote(t.Context(), "d", session.NextStep)
	require.NoError(t, err)
	require.True(t, found)
	found, err = a.Promote(t.Context(), "b", "")
	require.NoError(t, err)
	require.True(t, found)
	found, err = a.Promote(t.Context(), "gone", "")
	require.NoError(t, err)
	require.False(t, found)
	found, err = a.Replace(t.Context(), "c", agents.Text("better"))
	require.NoError(t, err)
	require.True(t, found)
	requireRefused(t, a.Reorder(t.Context(), []string{"b"}), "INVALID")
	ids, _ = pendingIDs(t, a)
	require.Equal(t, []string{"next-step d", "next-turn b", "next-turn better"}, ids)

	p.probes.Release("here")
	require.NoError(t, a.WhenIdle(t.Context()))
	require.Contains(t, p.trace(a), "SE IS-(next-step:1) SS1.2 UM(d) CH×4 AM SE TE(completed) TS2 IS-(next-turn:1) SS2.1 UM(b)")
	require.Contains(t, p.trace(a), "TS3 IS-(next-turn:1) SS3.1 UM(c)")
	ids, _ = pendingIDs(t, a)
	require.Empty(t, ids)
}

func TestWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	p, a := busy(t, strings.Repeat("text \"ok\"\n", 2), "gone", "old", "edited", "steered", "cleared")
	state := func(id string) signals.MessageState {
		s, err := a.Message(t.Context(), id)
		require.NoError(t, err)
		s.Count = 0
		return s
	}
	_, err := a.Remove(t.Context(), "gone")
	require.NoError(t, err)
	_, err = a.Replace(t.Context(), "old", agents.Message{ID: "new", Text: "new"})
	require.NoError(t, err)
	_, err = a.Replace(t.Context(), "edited", agents.Text("edited"))
	require.NoError(t, err)
	_, err = a.Promote(t.Context(), "steered", session.NextStep)
	require.NoError(t, err)
	require.Equal(t, signals.MessageState{State: "claimed", Turn: 1, Step: 1}, state("first"), "the step has not said that it entered")
	require.Equal(t, signals.MessageState{State: "discarded", Cause: "removed"}, state("gone"))
	require.Equal(t, signals.MessageState{State: "discarded", Cause: "replaced", ReplacedBy: "new"}, state("old"))
	require.Equal(t, signals.MessageState{State: "pending", Target: "next-turn", Edited: true}, state("edited"))
	require.Equal(t, signals.MessageState{State: "pending", Target: "next-step"}, state("steered"))
	require.Equal(t, signals.MessageState{State: "unknown"}, state("nobody"))
	p.probes.Release("here")
	require.NoError(t, a.WhenIdle(t.Context()))
	_, err = a.Await(t.Context(), "old")
	requireRefused(t, err, "DISCARDED")
	require.ErrorContains(t, err, "replaced by message new")

	want := map[string]signals.MessageState{
		"first":   {State: "ended", Turn: 1, Step: 1, Kind: session.TurnCompleted, Consumed: true},
		"steered": {State: "ended", Turn: 1, Step: 2, Kind: session.TurnCompleted, Consumed: true},
		"new":     {State: "ended", Turn: 2, Step: 1, Kind: session.TurnCompleted, Consumed: true},
		"edited":  {State: "ended", Turn: 3, Step: 1, Kind: session.TurnErrored, Consumed: true}, // the script is at its end
		"old":     {State: "discarded", Cause: "replaced", ReplacedBy: "new"},
		"gone":    {State: "discarded", Cause: "removed"},
		"cleared": {State: "pending", Target: "next-turn"},
	}
	for id, w := range want {
		require.Equal(t, w, state(id), id)
	}
	for n := range 3 * 60 { // so many that the agent forgets what came before
		_, err := a.Inject(t.Context(), agents.Message{ID: fmt.Sprint("x", n), Text: "x"})
		require.NoError(t, err)
	}
	require.NoError(t, a.Clear(t.Context()))
	want["cleared"] = signals.MessageState{State: "discarded", Cause: "cleared"}
	for id, w := range want {
		if id == "cleared" { // the agent remembers it: it was the last
			require.Equal(t, w, state(id))
			continue
		}
		var live signals.MessageState
		require.NoError(t, p.engine.Query(t.Context(), "a", signals.QueryMessage, signals.MessageID{ID: id}, &live))
		require.Equal(t, "unknown", live.State, "%s is forgotten", id)
		require.Equal(t, w, state(id), "from the log: %s", id)
	}
}

func TestAMessageMayNotOverlap(t *testing.T) {
	t.Parallel()
	p, a := busy(t, strings.Repeat("text \"ok\"\n", 2))
	one, two := 1, 2
	for name, m := range map[string]agents.Message{
		"BUSY":         {ID: "m1", Text: "x", Overlap: signals.OverlapReject},
		"PRECONDITION": {ID: "m2", Text: "x", OnlyIfIdle: true},
	} {
		_, err := a.Followup(t.Context(), m)
		requireRefused(t, err, name)
	}
	_, err := a.Steer(t.Context(), agents.Message{ID: "m3", Text: "x", ExpectedTurn: &two})
	requireRefused(t, err, "PRECONDITION")
	_, err = a.Steer(t.Context(), agents.Message{Text: "x", Overlap: signals.OverlapQueue})
	requireRefused(t, err, "INVALID")
	ids, _ := pendingIDs(t, a)
	require.Empty(t, ids, "nothing changed")
	_, err = a.Steer(t.Context(), agents.Message{ID: "m3", Text: "x", ExpectedTurn: &one})
	require.NoError(t, err)
	p.probes.Release("here")
	require.NoError(t, a.WhenIdle(t.Context()))
	_, err = a.Followup(t.Context(), agents.Message{Text: "y", OnlyIfIdle: true, ExpectedTurn: &one})
	require.NoError(t, err, "idle, and turn 1 was the last")
	require.NoError(t, a.WhenIdle(t.Context()))
}

func TestAMessageInterrupts(t *testing.T) {
	t.Parallel()
	p, a := busy(t, strings.Repeat("text \"ok\"\n", 2), "b")
	_, err := a.Followup(t.Context(), agents.Message{ID: "now", Text: "now", Overlap: signals.OverlapInterrupt})
	require.NoError(t, err)
	answer, err := a.Await(t.Context(), "now")
	require.NoError(t, err)
	require.Equal(t, "ok", answer.Text)
	require.NoError(t, a.WhenIdle(t.Context()))
	trace := p.trace(a)
	require.Contains(t, trace, "TE(aborted user)")
	require.Contains(t, trace, "TS2 IS-(next-turn:1) SS2.1 UM(now) ")
	require.Contains(t, trace, "TS3 IS-(next-turn:1) SS3.1 UM(b) ")
}
