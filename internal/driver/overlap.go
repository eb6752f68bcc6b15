package driver

import (
	"fmt"

	"github.com/everturn/everturn/session"
)

// unmet reports why a message is not to be taken as the agent is now; empty means it may be. A turn that is expected is
// the open one, or the last one of an idle agent.
func (d *Driver) unmet(in Sent) (code, why string) {
	s := d.state
	switch {
	case s.Phase == Closed: // refused for that
	case in.Turn != nil && *in.Turn != s.Turn:
		return RefusedCondition, fmt.Sprintf("the agent is at turn %d, not %d", s.Turn, *in.Turn)
	case in.OnlyIfIdle && d.occupied():
		return RefusedCondition, "the agent is not idle: " + d.work()
	case in.Reject && d.occupied():
		return RefusedBusy, "the agent already has active work: " + d.work()
	}
	return "", ""
}

// occupied reports whether a message would meet active work, or an agent that is about to end.
func (d *Driver) occupied() bool { return d.state.Phase != Idle || d.state.Disposing }

// work says in words what there is.
func (d *Driver) work() string {
	switch s := d.state; {
	case s.Disposing:
		return "it is being disposed of"
	case s.Phase == Maintaining:
		return "a maintenance task runs"
	case s.TurnOpen:
		return fmt.Sprintf("turn %d is open", s.Turn)
	default:
		return "it is between turns"
	}
}

// interrupt cancels what runs and keeps the inbox, for a message that is to come first. What was cancelled already is
// left to converge. See spec §3.4.4.
func (d *Driver) interrupt(id string) {
	if s := d.state; s.Active() && s.Cancelled == nil {
		d.cancel(CancelAsked{Cause: session.Cause{Kind: session.CauseUser}, KeepInbox: true, Via: ViaAPI, Text: "interrupted by message " + id})
	}
}
