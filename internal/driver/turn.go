package driver

import (
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// wake sees to a wake request after its message was inserted, and says what will become of the message.
// See spec §3.1.4.
func (d *Driver) wake(target string, wakeup bool) Disposition {
	s := d.state
	switch {
	case !wakeup:
		if target == session.NextStep && s.TurnOpen && s.Cancelled == nil {
			return Steered
		}
		return Parked
	case s.Disposing || s.Cancelled != nil && s.Cancelled.Kind == session.CauseDisposed:
		return Parked
	case s.Phase == Birth, s.Phase == Maintaining:
		s.Latch = true
		return Queued
	case s.Phase == Idle:
		d.run()
		return Started
	case s.Cancelled != nil, s.Phase == Draining && !s.Normal:
		s.Latch = true
		return Queued
	case target == session.NextStep && s.TurnOpen:
		return Steered
	default:
		return Queued
	}
}

// run starts a drain: with the session-start hook at the first wake, before the turn is opened. See spec §4.1, §6.1.6.
func (d *Driver) run() {
	s := d.state
	s.Phase, s.Cancelled, s.Latch, s.IdleHit, s.Telling = Opening, nil, false, false, false
	s.Woken = s.Manifest.Rules >= RulesRollover
	s.Log.Broken = "" // a wake tries the store again
	if !s.Started {
		s.Started = true
		d.notify("agent/session-start", map[string]string{"source": s.source()})
		if s.Manifest.SessionStart {
			s.Phase = Starting
			d.startHook(work.HookSessionStart, 0)
		}
	}
	d.notify("agent/status", map[string]string{"status": StatusRunning})
	d.transition(StatusRunning, s.Turn+1)
}

// openTurn appends turn/start, unless the activity was cancelled before. See spec §4.2.
func (d *Driver) openTurn() bool {
	s := d.state
	if s.Cancelled != nil {
		s.Phase, s.Normal = Draining, false
		return true
	}
	d.adopt()
	s.Turn++
	s.TurnOpen, s.First = true, true
	s.Step, s.Normal = 0, false
	d.log(session.TurnStart{Turn: s.Turn})
	s.Phase = Claiming
	return true
}

// onRoll lets the state wait for a moment at which a rollover may happen. See architecture A3.11.
func (d *Driver) onRoll(in RollAsked) {
	if in == (RollAsked{}) { // nobody's but the adapter's
		d.state.Roll = d.state.Phase != Closed
		return
	}
	if d.seen(in.Ref, in.Request, "") || d.closed(in.Ref, "") {
		return
	}
	d.remember(in.Request)
	d.state.Roll = true
	d.reply(in.Ref, Receipt{Disposition: Done})
}

// propose claims and starts a Step as soon as the log is free and the tail is short. A rollover takes place here, with
// an empty tail if the store lets it; but whoever woke the agent does not find that nothing was claimed yet. See spec
// §4.3, architecture A3.4, A3.11.
func (d *Driver) propose() bool {
	s := d.state
	switch {
	case s.Cancelled != nil:
		d.abortTurn()
		return true
	case s.Log.Lent != "":
		return false
	case s.Log.Bytes > work.TailLimit:
		return d.shorten()
	case d.savesHistory():
		d.persist(false)
		return false
	case s.rolls() && !s.Woken && len(s.Log.Tail) > 0 && s.Log.Broken == "":
		d.persist(false)
		return false
	case s.rolls() && !s.Woken && !d.meetsChild(): // else at the next moment
		s.Rolling = true
		return false
	}
	s.Woken = false
	s.Batch = d.claim()
	d.noteClaim()
	s.First, s.Attempt, s.Assembly = false, 1, ""
	d.startStep()
	return false
}

// rulesShortTail is the behaviour version from which on a tail is persisted before a Step as soon as that takes less of
// the history: it is there already, in signals and answers, and a loan puts it there once more.
const rulesShortTail = 3

// savesHistory reports whether the tail is persisted although it could be lent. It is lent to a Step that can wait for
// the store, if the store is away.
func (d *Driver) savesHistory() bool {
	l := &d.state.Log
	return d.state.Manifest.Rules >= rulesShortTail && l.Bytes > work.ShortTail && l.Broken == ""
}

// shorten persists a tail that is too long to be lent to a Step; a store that refuses ends the turn. See spec §4.11.
func (d *Driver) shorten() bool {
	if broken := d.state.Log.Broken; broken != "" {
		d.failTurn(&session.Failure{Code: work.CodeStore, Message: broken})
		return true
	}
	d.persist(false)
	return false
}

// endTurn appends turn/end and lets the drain converge. normal says that the step loop was left normally, so that a
// queue goes on. See spec §4.1, §4.9.
func (d *Driver) endTurn(reason session.TurnReason, normal bool) {
	s := d.state
	d.log(session.TurnEnd{Turn: s.Turn, Reason: reason})
	d.tellTurn(reason)
	d.endClaimed(reason.Kind)
	s.TurnOpen, s.Normal, s.Phase = false, normal, Draining
	s.First, s.Owed, s.Cut, s.Concluded, s.Attempt, s.Stops = false, false, false, false, 0, 0
	s.Awaiting, s.Settling, s.Retry = "", false, nil
	s.Batch, s.Claimed, s.ClaimedAt, s.Dropped, s.Calls, s.Assembly = nil, nil, nil, nil, nil, ""
	if reason.Kind == session.TurnErrored {
		d.fail(reason.Error)
	}
}

// completeTurn ends a turn whose step loop was left normally.
func (d *Driver) completeTurn() {
	kind := session.TurnCompleted
	if d.state.Cut {
		kind = session.TurnMaxTokens
	}
	d.endTurn(session.TurnReason{Kind: kind}, true)
}

// abortTurn closes the open step and turn with the first cause. See spec §4.10.
func (d *Driver) abortTurn() {
	d.drop("aborted")
	d.endStep()
	d.endTurn(session.TurnReason{Kind: session.TurnAborted, Aborted: d.state.Cancelled}, false)
}

// failTurn closes the open step and turn with an error; a cancelled turn is always aborted. See spec §4.10.
func (d *Driver) failTurn(f *session.Failure) {
	if d.state.Cancelled != nil {
		d.abortTurn()
		return
	}
	d.drop("error")
	d.endStep()
	d.endTurn(session.TurnReason{Kind: session.TurnErrored, Error: f}, false)
}

// endStep appends step/end if a step is open. See spec §4.9.1.
func (d *Driver) endStep() {
	s := d.state
	if s.StepOpen {
		d.log(session.StepEnd{Turn: s.Turn, Step: s.Step})
		s.StepOpen = false
	}
}

// stepOver ends the step and decides what follows. See spec §4.9.
func (d *Driver) stepOver(owed bool) {
	s := d.state
	d.endStep()
	switch {
	case s.Cancelled != nil:
		d.abortTurn()
	case owed || len(s.NextStep) > 0:
		s.Owed, s.Phase = owed, Claiming
	case s.Manifest.TurnStopping:
		s.Stops++
		s.Phase, s.Owed = Stopping, false
		d.startHook(work.HookTurnStopping, s.Stops)
	default:
		d.completeTurn()
	}
}

// drop gives up what is left of the claimed batch. See spec §4.3.5.
func (d *Driver) drop(reason string) {
	s := d.state
	for _, id := range s.Batch {
		s.Dropped = bounded(append(s.Dropped, id))
		d.notify("agent/inbox/dropped", note{ID: id, Turn: s.Turn, Reason: reason})
	}
	d.last, s.Batch = s.Batch, nil
}

// bounded keeps a list short: what opened the turn and what is newest stays.
func bounded[T any](list []T) []T {
	if n := len(list) - endedLimit; n > 0 {
		return slices.Delete(list, endedLimit/2, endedLimit/2+n)
	}
	return list
}
