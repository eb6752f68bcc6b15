package driver

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// parked is a world with messages in its lists, by their names, and nobody awake.
func parked(t *testing.T, nextStep, nextTurn []string) *world {
	t.Helper()
	w := newWorld(t)
	for target, ids := range map[string][]string{session.NextStep: nextStep, session.NextTurn: nextTurn} {
		for _, id := range ids {
			w.feed(Sent{Message: user(id, 0), Target: target})
		}
	}
	w.traced = int(w.log.State().Count())
	w.tracer.Inbox = w.log.State().Inbox()
	return w
}

// gained is what the log gained since it was looked at.
func (w *world) gained() string {
	records := w.log.Records()[w.traced:]
	w.traced += len(records)
	return w.tracer.Trace(records)
}

func TestAMoveIsOneEventAndDiscardsNothing(t *testing.T) {
	t.Parallel()
	w := parked(t, []string{"s"}, []string{"a", "b", "c", "d"})
	revision := w.state().Revision
	w.feed(Reordered{Ref: w.ref(), Target: session.NextTurn, IDs: []string{"a", "c", "b", "d"}})
	require.Equal(t, Receipt{Disposition: Done, Revision: revision + 1}, w.receipt)
	require.Equal(t, "ISm(next-turn@1:c,b)", w.gained(), "what stays is not named")
	w.feed(Promoted{Ref: w.ref(), ID: "b", Target: session.NextStep})
	require.True(t, *w.receipt.Found)
	require.Equal(t, "ISm(next-step@0:b)", w.gained())
	require.Equal(t, "step:b,s turn:a,c,d", showPending(w.state()))
	require.Empty(t, w.state().Ended)
	require.False(t, w.log.State().Account().DroppedUnrun)
	require.Equal(t, Idle, w.state().Phase, "an edit wakes nobody")

	w.feed(Promoted{Ref: w.ref(), ID: "b"})
	require.True(t, *w.receipt.Found)
	w.feed(Reordered{Ref: w.ref(), Target: session.NextTurn, IDs: []string{"a", "c", "d"}})
	require.Equal(t, Done, w.receipt.Disposition)
	w.feed(Promoted{Ref: w.ref(), ID: "nobody"})
	require.False(t, *w.receipt.Found)
	require.Empty(t, w.gained(), "nothing changes its place")
	require.Equal(t, revision+2, w.receipt.Revision)
	w.feed(Reordered{Ref: w.ref(), IDs: []string{"s", "b"}})
	require.Equal(t, "ISm(next-step@0:s,b)", w.gained(), "the list is that of the first")
	w.checkReplies()
}

func TestAnOrderNamesAllMessagesOfItsList(t *testing.T) {
	t.Parallel()
	w := parked(t, []string{"s"}, []string{"a", "b"})
	for why, ids := range map[string][]string{
		"message b is missing":                  {"a"},
		"message s is not pending in next-turn": {"a", "s"},
		"message a is named twice":              {"a", "a"},
		"message x is not pending in next-turn": {"x"},
		"message a is missing":                  nil,
	} {
		w.feed(Reordered{Ref: w.ref(), Target: session.NextTurn, IDs: ids, Request: "same"})
		require.Equal(t, RefusedInvalid, w.receipt.Code, why)
		require.Contains(t, w.receipt.Message, why)
	}
	require.Empty(t, w.gained())
	w.feed(Reordered{Ref: w.ref(), Target: session.NextTurn, IDs: []string{"b", "a"}, Request: "same"})
	require.Equal(t, Done, w.receipt.Disposition, "a refused request may come again")
	w.feed(Reordered{Ref: w.ref(), Target: session.NextTurn, IDs: []string{"a", "b"}, Request: "same"})
	require.Equal(t, Duplicate, w.receipt.Disposition)
}

func TestAStaleRevisionChangesNothing(t *testing.T) {
	t.Parallel()
	w := parked(t, []string{"s"}, []string{"a", "b"})
	now := w.state().Revision
	for _, revision := range []int64{now - 1, now + 1, 0, -1} {
		for _, in := range []Input{
			Removed{Ref: w.ref(), ID: "a", Revision: &revision}, Replaced{Ref: w.ref(), ID: "a", Message: user("c", 0), Revision: &revision},
			Cleared{Ref: w.ref(), Revision: &revision}, Promoted{Ref: w.ref(), ID: "b", Revision: &revision},
			Reordered{Ref: w.ref(), IDs: []string{"b", "a"}, Revision: &revision},
		} {
			before := asJSON(t, w.state())
			w.feed(in)
			require.Equal(t, RefusedRevision, w.receipt.Code)
			require.Equal(t, now, w.receipt.Revision)
			require.Contains(t, w.receipt.Message, fmt.Sprintf("at revision %d, not %d", now, revision))
			require.Equal(t, before, asJSON(t, w.state()))
		}
	}
	w.feed(Promoted{Ref: w.ref(), ID: "b", Revision: &now})
	require.Equal(t, Done, w.receipt.Disposition)
}

// A message that is to interrupt and that is refused cancels nothing.
func TestARefusedMessageDoesNotInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.feed(Sent{Message: user("a", 0), Target: session.NextTurn, Wakeup: true})
	w.feed(Sent{Message: user("b", 0), Target: session.NextTurn, Wakeup: true})
	interrupt := Sent{Ref: w.ref(), Message: user("b", 0), Target: session.NextTurn, Wakeup: true, Interrupt: true}
	w.feed(interrupt)
	require.Equal(t, RefusedDuplicateID, w.receipt.Code)
	turn := 7
	interrupt.Message, interrupt.Turn, interrupt.Ref = user("c", 0), &turn, w.ref()
	w.feed(interrupt)
	require.Equal(t, RefusedCondition, w.receipt.Code)
	require.Nil(t, w.state().Cancelled)
	interrupt.Turn, interrupt.Ref = nil, w.ref()
	w.feed(interrupt)
	require.Equal(t, Queued, w.receipt.Disposition)
	require.Equal(t, session.CauseUser, w.state().Cancelled.Kind)
	require.Equal(t, "turn:c,b", showPending(w.state()))
}

// What an earlier worker handed over knows of no steps.
func TestAStateOfAnEarlierWorkerKnowsLessOfItsMessages(t *testing.T) {
	t.Parallel()
	s := State{Turn: 2, Claimed: []string{"old", "new"}, ClaimedAt: []int{3}, Ended: []Ended{{ID: "a", Discarded: true}, {ID: "b", Turn: 1, Kind: session.TurnCompleted}}}
	require.Equal(t, session.Fate{State: session.FateClaimed, Turn: 2, Consumed: true}, s.Fate("old"))
	require.Equal(t, session.Fate{State: session.FateClaimed, Turn: 2, Step: 3, Consumed: true}, s.Fate("new"))
	require.Equal(t, session.Fate{State: session.FateDiscarded}, s.Fate("a"))
	require.Equal(t, session.Fate{State: session.FateEnded, Turn: 1, Kind: session.TurnCompleted, Consumed: true}, s.Fate("b"))

	w := newWorld(t)
	w.feed(Sent{Message: user("m", 0), Target: session.NextTurn, Wakeup: true})
	w.state().Claimed = append([]string{"older"}, w.state().Claimed...) // by a worker that noted no step
	w.stepDone(answer{outcome: work.StepMessage, finish: session.FinishStop})
	require.Equal(t, 0, w.state().Fate("older").Step)
	require.Equal(t, 1, w.state().Fate("m").Step)
}

// A new order of a full inbox is the largest event that there is beside a message; it goes into the store by itself.
func TestAFullInboxIsReordered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for i := range MaxPending - 1 {
		w.inject(uuid(i), 0)
		ids = append([]string{uuid(i)}, ids...)
	}
	w.hold = true
	w.feed(Reordered{Ref: w.ref(), IDs: ids})
	require.Equal(t, Done, w.receipt.Disposition)
	require.Less(t, w.state().Log.Bytes, work.LendLimit)
	w.hold = false
	w.settleOpen()
	require.Empty(t, w.state().Log.Tail)
	w.feed(Sent{Message: user("wake", 0), Target: session.NextTurn, Wakeup: true})
	require.Equal(t, append(ids, "wake"), w.state().Batch)
}
