package driver

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/session"
)

// Check reports the first law of a state that s breaks. It holds between inputs: the phases that only pass on are never
// seen there.
func Check(s *State) error {
	for _, check := range []func(*State) error{
		checkPhase, checkTurn, checkAwaiting, checkActivity, checkLog, checkLoan, checkInbox, checkBatch, checkCalls, checkChildren, checkMaintenance, checkConfigures, checkRest,
	} {
		if err := check(s); err != nil {
			return fmt.Errorf("driver state, phase %s: %w", s.Phase, err)
		}
	}
	return nil
}

// law is an error unless ok.
func law(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// implies is ok unless a holds without b.
func implies(a, b bool) bool { return !a || b }

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkPhase: a known phase in which something is awaited, so that the agent cannot stand still.
func checkPhase(s *State) error {
	switch s.Phase {
	case Birth, Stepping, Retrying, Tools, Closed:
		return nil
	case Starting, Stopping:
		return law(s.Awaiting != "", "no hook is awaited")
	case Maintaining:
		return law(s.Awaiting != "" || s.Log.Lent != "", "nothing keeps the task from starting")
	case Idle:
		return first(
			law(!s.Latch, "a latched wake was not replayed"),
			law(implies(len(s.Log.Tail) > 0, s.Log.Lent != "" || s.Log.Broken != ""), "nobody flushes the tail"),
			law(implies(s.Telling, s.Log.Lent != "" || s.Log.Broken != ""), "the owner is not told"),
			law(implies(s.Disposing, s.Log.Lent != "" || len(s.Children) > 0), "nothing keeps the agent from closing"))
	case Claiming:
		return law(s.Log.Lent != "" || s.Rolling, "nothing keeps the step from starting")
	case Draining:
		return law(s.Log.Lent != "", "nothing keeps the agent from being idle")
	default: // Opening passes on at once
		return fmt.Errorf("no input is awaited here")
	}
}

// checkTurn: the phase, the open turn, the open step and the flags of a turn agree.
func checkTurn(s *State) error {
	open := s.Phase == Claiming || s.Phase == Stepping || s.Phase == Retrying || s.Phase == Tools || s.Phase == Stopping
	inStep := s.Phase == Retrying || s.Phase == Tools
	flags := s.First || s.Owed || s.Cut || s.Concluded || s.Attempt != 0 || s.Stops != 0 || s.Assembly != "" || len(s.Claimed)+len(s.Dropped) > 0
	return first(
		law(s.TurnOpen == open, "turnOpen is %t", s.TurnOpen),
		law(implies(s.TurnOpen, s.Turn > 0), "turn 0 is open"),
		law(implies(s.StepOpen, s.TurnOpen && s.Step > 0), "step %d is open, turnOpen is %t", s.Step, s.TurnOpen),
		law(implies(inStep, s.StepOpen), "no step is open"),
		law(implies(s.Phase == Claiming || s.Phase == Stopping, !s.StepOpen), "step %d is open", s.Step),
		law(implies(flags, s.TurnOpen), "flags of a turn, but none is open"),
		law(implies(s.First, s.Step == 0 && s.Phase == Claiming), "the first claim is outstanding at step %d", s.Step),
		law(implies(s.Phase == Stepping, s.Attempt > 0), "attempt %d", s.Attempt),
		law(implies(s.Normal, s.Phase == Draining), "normal outside of a drain's end"))
}

// awaits: the phases in which an effect is awaited by id.
func (p Phase) awaits() bool {
	return p == Stepping || p == Retrying || p == Starting || p == Stopping || p == Maintaining
}

// checkAwaiting: a Step, a retry's timer, a hook and a maintenance task are awaited by id.
func checkAwaiting(s *State) error {
	owed := s.Phase == Stepping && s.Awaiting == "" // an attempt that waits for the log
	return first(
		law(implies(s.Awaiting != "", s.Phase.awaits()), "awaits %s", s.Awaiting),
		law(implies(s.Phase == Retrying, s.Awaiting != ""), "awaits nothing"),
		law(implies(owed, s.StepOpen && s.Attempt > 1 && s.Log.Lent != ""), "nothing keeps attempt %d from starting", s.Attempt),
		law((s.Retry != nil) == (s.Phase == Retrying), "retry is %v", s.Retry),
		law(implies(s.Settling, s.Phase == Stepping && s.Awaiting != ""), "settles nothing"))
}

// checkActivity: cancel, latch, disposal and rollover go with the activity they are about.
func checkActivity(s *State) error {
	disposed := s.Cancelled != nil && s.Cancelled.Kind == session.CauseDisposed
	atRest := s.Phase == Idle || s.Phase == Claiming || s.Phase == Tools && s.busyCalls() == 0
	awaited := s.Phase == Starting || s.Phase == Stopping || s.Phase == Maintaining
	return first(
		law(implies(s.Cancelled != nil, s.Phase == Stepping && s.Awaiting != "" || s.Phase == Tools || s.Phase == Draining || awaited), "cancelled, and nothing is done about it"),
		law(implies(s.Status() == StatusRunning, s.Started), "session-start was not announced"),
		law(implies(s.Woken, s.Phase == Starting || s.Phase == Opening || s.Phase == Claiming || s.Phase == Draining), "woken, and nothing was claimed"),
		law(s.Cancelled == nil || known(s.Cancelled.Kind), "unknown cause"),
		law(implies(s.Latch, s.Phase == Birth || s.Phase == Maintaining || s.Cancelled != nil && !disposed || s.Phase == Draining && !s.Normal), "latch without an activity to wait for"),
		law(implies(s.Latch, !s.Disposing), "latch although disposing"),
		law(implies(s.Disposing && s.Active(), s.Cancelled != nil), "disposing, but the activity goes on"),
		law(implies(len(s.Disposers) > 0, s.Disposing && s.Phase != Closed), "%d callers wait for a disposal", len(s.Disposers)),
		law(implies(s.Native || s.Phase == Closed, s.Disposing), "not disposing"),
		law(implies(s.Rolling, s.rolls() && atRest && s.Log.Lent == "" && !s.Disposing), "not a moment to roll over"),
		law(implies(s.Rolling, len(s.Log.Tail) == 0 || s.Log.Broken != ""), "rolls over with a tail that could be flushed"))
}

// checkLog: the tail continues the head.
func checkLog(s *State) error {
	bytes := 0
	for i, r := range s.Log.Tail {
		if want := s.Log.Head.Count + int64(i); r.Seq != want {
			return fmt.Errorf("tail event %d has seq %d, want %d", i, r.Seq, want)
		}
		bytes += size(r)
	}
	return first(
		law(s.Log.Bytes == bytes, "the tail has %d bytes, not %d", bytes, s.Log.Bytes),
		law((s.Log.Head.Count == 0) == (s.Log.Head.Hash == ""), "head %v", s.Log.Head),
		law(implies(s.Log.Broken != "", s.FlushAt != ""), "nobody flushes again"))
}

// checkLoan: a Step or a task borrows the whole tail and appends; a persist borrows a prefix where neither runs.
func checkLoan(s *State) error {
	l := &s.Log
	waits := (s.Phase == Stepping || s.Phase == Maintaining) && s.Awaiting == ""
	boundary := s.Phase == Idle || s.Phase == Claiming || s.Phase == Draining || s.Phase == Tools && s.Roll || waits
	boundary = boundary || s.Phase == Starting // a flush of the idle phase may go on while the next activity begins,
	boundary = boundary || s.Phase == Stopping // and one for a rollover among calls while the turn ends
	appends := (s.Phase == Stepping || s.Phase == Maintaining) && s.Awaiting != ""
	return first(
		law(implies(l.Lent == "", l.LentN == 0 && !l.Appends && len(l.Waiting) == 0), "leftovers of a loan"),
		law(l.LentN <= len(l.Tail), "%d of %d events are lent", l.LentN, len(l.Tail)),
		law((l.Lent != "" && l.Appends) == appends, "log lent to %q, which appends: %t", l.Lent, l.Appends),
		law(implies(l.Appends, l.Lent == s.Awaiting && l.LentN == len(l.Tail)), "%q borrowed %d events, %q is awaited", l.Lent, l.LentN, s.Awaiting),
		law(implies(l.Lent != "" && !l.Appends, boundary && l.LentN > 0 && len(l.Waiting) == 0), "persist of %d events", l.LentN))
}

// checkInbox: an id is pending at most once, and the sizes add up. See spec §2.4.1.
func checkInbox(s *State) error {
	bytes, seen := 0, make(map[string]bool)
	for _, list := range [][]Pending{s.NextStep, s.NextTurn} {
		for _, p := range list {
			if p.ID == "" || p.Bytes < 0 || seen[p.ID] {
				return fmt.Errorf("pending message %q of %d bytes: empty, negative or twice", p.ID, p.Bytes)
			}
			seen[p.ID] = true
			bytes += p.Bytes
		}
	}
	return law(bytes == s.PendingBytes, "%d bytes are pending, not %d", bytes, s.PendingBytes)
}

// checkBatch: a batch is held by the attempt that is to commit it, and what was dropped was claimed. See spec §4.3.5.
func checkBatch(s *State) error {
	whole := len(s.Claimed) < endedLimit // else the oldest are forgotten
	for _, list := range [][]string{s.Batch, s.Dropped} {
		for _, id := range list {
			if whole && !slices.Contains(s.Claimed, id) {
				return fmt.Errorf("message %s was never claimed by the turn", id)
			}
		}
	}
	return law(implies(len(s.Batch) > 0, s.Phase == Stepping && s.Awaiting != ""), "a batch is held by nobody")
}

// checkCalls: committed, then started, then waiting ones, in model order; something is awaited. See spec §4.8.
func checkCalls(s *State) error {
	if (len(s.Calls) > 0) != (s.Phase == Tools) {
		return fmt.Errorf("%d calls", len(s.Calls))
	}
	rank, ids := 0, make(map[string]bool)
	for i, c := range s.Calls {
		n := c.State.rank()
		if n < rank || ids[c.ID] {
			return fmt.Errorf("call %d %q is %q: unknown, twice, or out of order", i, c.ID, c.State)
		}
		if rank == 0 && (c.State == CallFinished || c.State == CallExecuted) {
			return fmt.Errorf("call %q, %q: it is its turn", c.ID, c.State)
		}
		rank, ids[c.ID] = n, true
		if err := checkCall(c); err != nil {
			return fmt.Errorf("call %q, %q: %w", c.ID, c.State, err)
		}
	}
	return checkSchedule(s)
}

// checkSchedule: one gate and one post stage at a time, the latter in its turn; an exclusive call runs alone; a cancelled
// turn asks nobody and starts nothing; something is awaited. See spec §4.8.4, §4.8.5.
func checkSchedule(s *State) error {
	n, flying := make(map[CallState]int), 0
	settled, alone := true, false
	for _, c := range s.Calls {
		n[c.State]++
		if c.flies() {
			flying++
		}
		if c.State == CallPosting && !settled || c.flies() && !c.Parallel && alone {
			return fmt.Errorf("call %q is %s before its turn", c.ID, c.State)
		}
		settled = settled && c.State == CallCommitted
		alone = alone || !c.over()
	}
	exclusive := slices.ContainsFunc(s.Calls, func(c Call) bool { return c.flies() && !c.Parallel })
	return first(
		law(n[CallGating] <= 1 && n[CallPosting] <= 1, "%d gates and %d post stages run", n[CallGating], n[CallPosting]),
		law(implies(exclusive, flying+n[CallPosting] == 1), "an exclusive call does not run alone"),
		law(implies(s.Cancelled != nil || s.Defect != nil, n[CallAsking]+n[CallChecking]+n[CallCleared]+n[CallDelegated] == 0), "no call may start, but one waits"),
		law(implies(s.Defect != nil, s.busyCalls() > 0), "a defect, and nothing is done about it"),
		law(implies(s.Phase == Tools, s.busyCalls() > 0 || n[CallAsking]+n[CallDelegated] > 0), "no call runs or waits for somebody"))
}

// flies reports whether the body runs, or has handed the call to a child agent or to somebody outside.
func (c Call) flies() bool {
	return c.State == CallRunning || c.State == CallDelegated || c.waits() && !c.undecided()
}

// waits reports whether somebody outside is waited for.
func (c Call) waits() bool { return c.State == CallAsking || c.State == CallChecking }

// undecided reports whether a person decides about the call before its body runs.
func (c Call) undecided() bool { return c.waits() && c.Ask != nil && c.Ask.Kind == "" }

// checkChildren: a call that is delegated has exactly one child, which somebody would notice the end of. See
// architecture A3.13.
func checkChildren(s *State) error {
	ids, waited := make(map[string]bool), make(map[string]bool)
	for _, c := range s.Children {
		watched := c.Look != "" || !c.Blind
		err := first(
			law(c.ID != s.Session && !ids[c.ID] && c.Effect != "" && c.Bond != "", "it is there twice, or nothing started it"),
			law(implies(c.Ref != "" || !c.Live, !c.Blind), "its start was lost"),
			law(implies(c.Call != "", c.Follows && !c.Leaving && watched), "nobody would tell that it is gone"),
			law(implies(c.Leaving, watched), "nobody would tell that it has left"),
			law(implies(c.Looking, c.Look != ""), "looks at nothing"),
			law(implies(c.Due != "", c.Call != "" && c.DueMS > 0), "a deadline of nothing"),
			law(implies(s.Disposing && s.Phase == Idle && s.Log.Lent == "", c.Leaving), "it was not told to leave"))
		if err != nil {
			return fmt.Errorf("child %q: %w", c.ID, err)
		}
		ids[c.ID] = true
		waited[c.Call] = true
	}
	for _, c := range s.Calls {
		if (c.State == CallDelegated) != waited[c.ID] {
			return fmt.Errorf("call %q is %s, a child works on it: %t", c.ID, c.State, waited[c.ID])
		}
	}
	return first(
		law(len(s.Children) <= MaxChildren, "%d children", len(s.Children)),
		law(implies(s.Phase == Closed, len(s.Children) == 0), "children outlive it"),
		law(implies(s.Telling, s.Reports && s.Owner != "" && (s.Phase == Idle || s.Phase == Maintaining)), "tells nobody"))
}

// checkMaintenance: the task that owns the idle phase is known, and nothing is kept of one that is over but its outcome.
func checkMaintenance(s *State) error {
	m := s.Maintenance
	return first(
		law(implies(s.Phase == Maintaining, m != nil && !m.Done), "no task"),
		law(m == nil || m.Done == (s.Phase != Maintaining), "the task is done: %t", m != nil && m.Done),
		law(implies(m != nil && m.Done, m != nil && m.Ref == "" && m.Args == nil), "leftovers of a task"))
}

// checkConfigures: a worker checks the oldest change, and at a boundary nothing waits for one.
func checkConfigures(s *State) error {
	for i, c := range s.Configures {
		if (c.ID != "") != (i == 0) {
			return fmt.Errorf("change %d is checked by %q", i, c.ID)
		}
	}
	return first(
		law(len(s.Configures) <= maxConfigures, "%d changes wait", len(s.Configures)),
		law(implies(s.Phase == Closed, len(s.Configures) == 0), "%d changes wait although it is over", len(s.Configures)),
		law(implies(s.Phase == Idle, s.Change == nil && s.Refresh == nil), "an idle agent keeps something for its next turn"))
}

// rank orders the states: committed, started, waiting; -1 for none of them.
func (c CallState) rank() int {
	switch c {
	case CallCommitted:
		return 0
	case CallGating, CallAsking, CallChecking, CallCleared, CallRunning, CallDelegated, CallExecuted, CallPosting, CallFinished:
		return 1
	case CallWaiting:
		return 2
	default:
		return -1
	}
}

func (s *State) busyCalls() int {
	n := 0
	for _, c := range s.Calls {
		if c.State == CallGating || c.State == CallChecking || c.State == CallRunning || c.State == CallPosting {
			n++
		}
	}
	return n
}

func checkCall(c Call) error {
	busy := c.State == CallGating || c.State == CallChecking || c.State == CallRunning || c.State == CallPosting
	settled := c.State == CallExecuted || c.State == CallPosting || c.State == CallFinished
	return first(
		law((c.Effect != "") == busy, "effect %q", c.Effect),
		law((c.Out != nil) == settled, "outcome %v", c.Out),
		law((c.Ask != nil) == c.waits(), "waits for %v", c.Ask),
		law(c.Ask == nil || (c.Ask.Timer != "") == (c.Ask.DueMS > 0), "nothing counts the time of %v", c.Ask),
		law(c.Ask == nil || (c.Ask.Checking != nil) == (c.State == CallChecking), "checks %v", c.Ask),
		law(implies(c.State == CallGating || c.undecided() || c.State == CallCleared, c.Gated), "it has no gate"),
		law(implies(c.State == CallExecuted || c.State == CallPosting, c.Posted), "it has no post stage"),
		law(implies(c.Settle, c.State == CallRunning), "settled while it does not run"),
		law(c.Seq >= 0, "its tool/call has no seq"))
}

// checkRest: bounds.
func checkRest(s *State) error {
	ring := s.Seen
	return first(
		law(len(ring.IDs) <= RingSize && ring.Next >= 0 && ring.Next < RingSize, "ring of %d, next is %d", len(ring.IDs), ring.Next),
		law(implies(len(ring.IDs) < RingSize, ring.Next == 0), "ring of %d, next is %d", len(ring.IDs), ring.Next),
		law(len(s.Ended) <= endedLimit && len(s.Claimed) <= endedLimit && len(s.Dropped) <= endedLimit, "a list is too long"))
}
