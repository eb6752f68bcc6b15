package explore

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

type (
	records = []session.Record
	effects = []driver.Effect
	handler = func(driver.Input) ([]session.Record, []driver.Effect)
)

// before makes a fault that tampers with the state, or the input, before the driver sees it.
func before(tamper func(*driver.State, driver.Input) driver.Input) Fault {
	return func(d *driver.Driver, in driver.Input, next handler) (records, effects) {
		return next(tamper(d.State(), in))
	}
}

// after makes a fault that tampers with what the driver has decided. old is the state before.
func after(tamper func(old driver.State, in driver.Input, s *driver.State, fx effects) effects) Fault {
	return func(d *driver.Driver, in driver.Input, next handler) (records, effects) {
		old := copyState(d.State())
		log, fx := next(in)
		return log, tamper(old, in, d.State(), fx)
	}
}

func without(fx effects, drop func(driver.Effect) bool) effects { return slices.DeleteFunc(fx, drop) }

func is[E driver.Effect](e driver.Effect) bool {
	_, ok := e.(E)
	return ok
}

// claimSwapped hands the claimed messages on in the wrong order. See spec §4.3.3.
func claimSwapped(_ driver.State, _ driver.Input, s *driver.State, fx effects) effects {
	for i, e := range fx {
		if e, ok := e.(driver.StartStep); ok && len(e.In.Batch) > 1 {
			slices.Reverse(e.In.Batch)
			slices.Reverse(s.Batch)
			fx[i] = e
		}
	}
	return fx
}

// latchDropped forgets a wake. See spec §3.1.4.
func latchDropped(_ driver.State, _ driver.Input, s *driver.State, fx effects) effects {
	s.Latch = false
	return fx
}

// lastCauseWins lets a later cancel overwrite the first one's cause. See spec §3.4.3.
func lastCauseWins(old driver.State, in driver.Input, s *driver.State, fx effects) effects {
	if c, ok := in.(driver.CancelAsked); ok && old.Cancelled != nil && s.Cancelled != nil {
		s.Cancelled = &c.Cause
	}
	return fx
}

// nextStepKept lets a cancel forget the next-step list. See spec §3.4.3.
func nextStepKept(d *driver.Driver, in driver.Input, next handler) (records, effects) {
	c, ok := in.(driver.CancelAsked)
	if !ok || c.KeepInbox || !d.State().Active() {
		return next(in)
	}
	kept := d.State().NextStep
	d.State().NextStep = nil
	d.State().PendingBytes -= len(kept)
	log, fx := next(in)
	d.State().NextStep = kept
	d.State().PendingBytes += len(kept)
	return log, fx
}

// steerNotRedirected lets a steer that comes after a cancel keep its list. See spec §3.1.2.
func steerNotRedirected(d *driver.Driver, in driver.Input, next handler) (records, effects) {
	sent, ok := in.(driver.Sent)
	if !ok || !sent.Wakeup || d.State().Cancelled == nil {
		return next(in)
	}
	sent.Wakeup = false
	d.State().Latch = d.State().Phase != driver.Closed
	return next(sent)
}

// injectWakes lets an injection start a turn. See spec §3.2.
func injectWakes(_ *driver.State, in driver.Input) driver.Input {
	if sent, ok := in.(driver.Sent); ok {
		sent.Wakeup = true
		return sent
	}
	return in
}

// promptBetweenSteps lets a later step claim a prompt. See spec §4.3.4.
func promptBetweenSteps(s *driver.State, in driver.Input) driver.Input {
	if s.Phase == driver.Tools {
		s.First = true
	}
	return in
}

// idleTooEarly says idle while the drain's flush is open. See spec §3.7, §4.11.
func idleTooEarly(_ driver.State, _ driver.Input, s *driver.State, fx effects) effects {
	if s.Phase == driver.Draining {
		s.Phase, s.Cancelled, s.Normal = driver.Idle, nil, false
		fx = append(fx, driver.Transition{Status: driver.StatusIdle})
	}
	return fx
}

// closedTooEarly closes a disposed agent before its last flush. See spec §6.3.
func closedTooEarly(_ driver.State, _ driver.Input, s *driver.State, fx effects) effects {
	if s.Disposing && s.Phase == driver.Idle && s.Log.Lent != "" {
		s.Phase = driver.Closed
		fx = append(fx, driver.Close{})
	}
	return fx
}

// answeredTwice doubles receipts.
func answeredTwice(_ driver.State, _ driver.Input, _ *driver.State, fx effects) effects {
	for _, e := range fx {
		if is[driver.Reply](e) {
			return append(fx, e)
		}
	}
	return fx
}

// maintainerForgotten loses the receipt of a maintenance task. See spec §3.6.3.
func maintainerForgotten(_ driver.State, in driver.Input, _ *driver.State, fx effects) effects {
	if _, ok := in.(driver.MaintainDone); ok {
		return without(fx, is[driver.Reply])
	}
	return fx
}

// messageLostOnRollover loses what is pending last. See architecture A3.11.
func messageLostOnRollover(s *driver.State, in driver.Input) driver.Input {
	if n := len(s.NextTurn); got[driver.Resumed](in) && n > 0 {
		s.PendingBytes -= s.NextTurn[n-1].Bytes
		s.NextTurn = s.NextTurn[:n-1]
	}
	return in
}

func got[I driver.Input](in driver.Input) bool {
	_, ok := in.(I)
	return ok
}

// timersLostOnRollover does not arm what waits for time again.
func timersLostOnRollover(_ driver.State, in driver.Input, _ *driver.State, fx effects) effects {
	if got[driver.Resumed](in) {
		return without(fx, is[driver.StartTimer])
	}
	return fx
}

// movedWhileBusy lets the state move while a tool runs.
func movedWhileBusy(_ driver.State, _ driver.Input, s *driver.State, fx effects) effects {
	if s.Roll && s.Phase == driver.Tools {
		s.Rolling = true
	}
	return fx
}

// retryCountedTwice skips an attempt. See spec §4.7.4.
func retryCountedTwice(s *driver.State, in driver.Input) driver.Input {
	if s.Phase == driver.Retrying && got[driver.TimerFired](in) {
		s.Attempt++
	}
	return in
}

// lostStepRunAgain asks the model again in the place of a settlement. See architecture A3.6.
func lostStepRunAgain(_ driver.State, _ driver.Input, _ *driver.State, fx effects) effects {
	for i, e := range fx {
		if e, ok := e.(driver.StartStep); ok {
			e.In.Mode = work.StepRun
			fx[i] = e
		}
	}
	return fx
}

// cancelNotTold lets what runs go on as if nothing had happened. See spec §3.4.6.
func cancelNotTold(_ driver.State, _ driver.Input, _ *driver.State, fx effects) effects {
	return without(fx, is[driver.CancelEffect])
}

// waitingLost forgets what was accepted while a step had the log. See deviation D12.
func waitingLost(s *driver.State, in driver.Input) driver.Input {
	if got[driver.StepDone](in) && len(s.Log.Waiting) > 0 {
		s.Log.Waiting = s.Log.Waiting[1:]
	}
	return in
}

// resultsSwapped commits the results of two calls in the wrong order. See spec §4.8.5.
func resultsSwapped(s *driver.State, in driver.Input) driver.Input {
	if n := len(s.Calls); got[driver.ToolDone](in) && n > 1 && s.Calls[0].State == driver.CallRunning && s.Calls[1].State == driver.CallRunning {
		s.Calls[0], s.Calls[1] = s.Calls[1], s.Calls[0]
	}
	return in
}

// exclusiveInPool lets an exclusive call run beside others. See spec §4.8.2.
func exclusiveInPool(s *driver.State, in driver.Input) driver.Input {
	done, _ := in.(driver.ToolDone)
	answers := slices.ContainsFunc(s.Calls, func(c driver.Call) bool { return c.Effect == done.ID && c.Effect != "" })
	for i := range s.Calls {
		s.Calls[i].Parallel = s.Calls[i].Parallel || answers
	}
	return in
}

// runAfterExpiry takes a deadline for a grant. See architecture A3.7.
func runAfterExpiry(d *driver.Driver, in driver.Input, next handler) (records, effects) {
	t, _ := in.(driver.TimerFired)
	for _, c := range d.State().Calls {
		if c.Ask != nil && c.Ask.Timer != "" && c.Ask.Timer == t.ID {
			log, fx := next(driver.Decided{ID: c.Ask.ID, Grant: true})
			return log, without(fx, is[driver.CancelEffect])
		}
	}
	return next(in)
}

// successAfterCancel keeps the success of a body that ended after the cancel. See spec §5 X10.
func successAfterCancel(d *driver.Driver, in driver.Input, next handler) (records, effects) {
	s := d.State()
	if done, ok := in.(driver.ToolDone); ok && s.Cancelled != nil && !done.Out.IsError {
		cause := s.Cancelled
		s.Cancelled = nil
		log, fx := next(in)
		s.Cancelled = cause
		return log, fx
	}
	return next(in)
}

// parkedQueueRuns lets the queue go on after a turn that failed. See spec §4.1.
func parkedQueueRuns(s *driver.State, in driver.Input) driver.Input {
	if s.Phase == driver.Draining {
		s.Normal = true
	}
	return in
}

// greetedTwice announces session-start at every wake. See spec §6.1.6.
func greetedTwice(_ driver.State, _ driver.Input, s *driver.State, fx effects) effects {
	s.Started = false
	return fx
}

var faults = []struct {
	name  string
	world string
	fault Fault
}{
	{"claim order swapped", "inbox", after(claimSwapped)},
	{"latch dropped", "inbox", after(latchDropped)},
	{"first cause overwritten", "inbox", after(lastCauseWins)},
	{"cancel forgets next-step", "inbox", nextStepKept},
	{"a steer after a cancel keeps its list", "inbox", steerNotRedirected},
	{"an injection wakes", "inbox", before(injectWakes)},
	{"a prompt is claimed between steps", "tools", before(promptBetweenSteps)},
	{"idle before the flush", "inbox", after(idleTooEarly)},
	{"closed before the flush", "upkeep", after(closedTooEarly)},
	{"a caller is answered twice", "inbox", after(answeredTwice)},
	{"a maintainer is not answered", "upkeep", after(maintainerForgotten)},
	{"a message is lost on rollover", "inbox", before(messageLostOnRollover)},
	{"deadlines are lost on rollover", "approvals", after(timersLostOnRollover)},
	{"rolled over while a tool runs", "tools", after(movedWhileBusy)},
	{"a retry is counted twice", "steps", before(retryCountedTwice)},
	{"a lost step runs again", "steps", after(lostStepRunAgain)},
	{"a cancel is not told", "inbox", after(cancelNotTold)},
	{"what waits for the writer is lost", "inbox", before(waitingLost)},
	{"results out of order", "tools", before(resultsSwapped)},
	{"an exclusive call runs beside others", "tools", before(exclusiveInPool)},
	{"a call runs after its deadline", "approvals", runAfterExpiry},
	{"a success counts after a cancel", "tools", successAfterCancel},
	{"a parked queue runs", "steps", before(parkedQueueRuns)},
	{"session-start comes twice", "hooks", after(greetedTwice)},
}

// TestFaults: the search finds each of the faults that are sown.
func TestFaults(t *testing.T) {
	for i, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			w := Worlds[slices.IndexFunc(Worlds, func(w World) bool { return w.Name == f.world })]
			r, err := Search(&w, f.fault, limit)
			var v *Violation
			require.True(t, errors.As(err, &v), "not found: %v, %v", err, r)
			if i == 1 {
				t.Logf("after %d states:\n%v", r.States, v)
				return
			}
			t.Logf("%d moves: %v", len(v.Path), v.Law)
		})
	}
}
