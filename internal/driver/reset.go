package driver

import (
	"cmp"
	"slices"

	"github.com/everturn/everturn/internal/work"
)

// onReset goes on from where the run was set back to, in an epoch of its own. Calls that the model asked for before keep
// their keys: the effect ledger knows what the abandoned run did about them. What ran at that point is begun anew. See
// architecture A3.12.
func (d *Driver) onReset(in Reset) {
	s := d.state
	if s.Phase == Birth || s.Phase == Closed || in.Out.Epoch <= s.Epoch {
		return
	}
	for i := range s.Calls {
		s.Calls[i].Epoch = cmp.Or(s.Calls[i].Epoch, s.Epoch)
	}
	if s.Phase == Stepping && !slices.Contains(in.Open, s.Awaiting) {
		s.Asked = cmp.Or(s.Asked, s.Epoch)
	}
	s.giveUp(in.Out.Epoch)
	d.learn(in.Out.Worker, "")
	d.loseSight()
	d.tellWaits()
	if in.Out.Context != nil {
		d.insertContext(*in.Out.Context)
	}
	d.beginAnew(in.Open)
}

// maxAbandoned bounds the epochs in which a call is looked for that may have been made before.
const maxAbandoned = 16

// giveUp raises the epoch. What lies between may be those of runs that were reset before they got anywhere.
func (s *State) giveUp(next int64) {
	for epoch := s.Epoch; epoch < next; epoch++ {
		s.Abandoned = append(s.Abandoned, epoch)
	}
	s.Abandoned = slices.Clone(s.Abandoned[max(0, len(s.Abandoned)-maxAbandoned):])
	s.Epoch = next
}

// beginAnew takes the place of what was running at a reset.
func (d *Driver) beginAnew(open []string) {
	s := d.state
	for i := range s.Calls {
		if c := &s.Calls[i]; slices.Contains(open, c.Effect) {
			d.stopOld(c.Effect)
			d.callAnew(c)
		}
	}
	if s.Phase == Retrying || !slices.Contains(open, s.Awaiting) { // a timer is time, not work
		return
	}
	d.stopOld(s.Awaiting)
	switch {
	case s.Phase == Stepping:
		d.stepAnew()
	case s.Phase == Maintaining: // nobody knows how far it came
		d.onMaintainLost(MaintainLost{ID: s.Awaiting, Why: LostExhausted, Message: "the run was reset while it ran"})
	case s.Cancelled != nil:
		d.onHookDone(s.Awaiting, work.HookOut{})
	case s.Phase == Starting:
		d.startHook(work.HookSessionStart, 0)
	default:
		d.startHook(work.HookTurnStopping, s.Stops)
	}
}

// stopOld stops what was begun before; of a cancelled activity everything is being stopped already.
func (d *Driver) stopOld(id string) {
	if d.state.Cancelled == nil {
		d.effect(CancelEffect{ID: id})
	}
}

// stepAnew hands the loan to a Step of the new epoch, which finds nothing that the old one left.
func (d *Driver) stepAnew() {
	s := d.state
	if s.Cancelled != nil {
		d.settleStep(LostCancelled)
		return
	}
	id := d.effectID("step")
	s.Log.Lent, s.Awaiting, s.Settling = id, id, false
	d.effect(StartStep{In: d.stepIn(work.StepRun, "")})
}

// callAnew runs the stage of a call once more. The ledger keeps the body of a call that must not be repeated from running
// twice. Of a cancelled turn nothing is begun: the ledger is asked.
func (d *Driver) callAnew(c *Call) {
	switch {
	case c.State == CallChecking:
		d.check(c, *c.Ask.Checking, c.Ask.Checking.Said)
	case c.State == CallRunning && (c.Settle || d.state.Cancelled != nil):
		d.settleCall(c, LostCancelled)
	case c.State == CallRunning && c.Child != "": // its child's answer was being read
		d.settleCall(c, LostExhausted)
	case d.state.Cancelled != nil:
		d.onToolLost(ToolLost{ID: c.Effect, Why: LostCancelled})
	case c.State == CallRunning:
		d.startStage(c, CallRunning, work.ToolRun)
	case c.State == CallGating:
		d.startStage(c, CallGating, work.ToolGate)
	default:
		d.startStage(c, CallPosting, work.ToolPost)
	}
}

// KnownStep is the last step of the turn whose calls the state knows or, with the awaited answer, will know.
func (s *State) KnownStep(answered bool) int {
	switch {
	case s.Phase == Stepping && answered && !s.StepOpen:
		return s.Step + 1
	case s.StepOpen && s.Phase != Tools && !(s.Phase == Stepping && answered):
		return s.Step - 1
	default:
		return s.Step
	}
}
