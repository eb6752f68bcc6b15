package signals

import (
	"cmp"
	"fmt"

	"github.com/everturn/everturn/session"
)

// Conditional reports whether the agent may refuse the message for what it does at the moment.
func (s Send) Conditional() bool {
	return s.OnlyIfIdle || s.ExpectedTurn != nil || s.Overlap == OverlapReject
}

// overlaps says whether the overlap goes with the act and with the other fields: a followup may do any of them; a steer
// joins what runs, which is an overlap already; context that wakes nobody overlaps with nothing.
func (s Send) overlaps(act string) error {
	if act == InboxReplace && (s.Overlap != "" || s.Conditional()) {
		return fmt.Errorf("%s: overlap, onlyIfIdle and expectedTurn are of messages that are sent: leave them out, or use revision", act)
	}
	switch s.Overlap {
	case "":
		return s.conditions(act)
	case OverlapQueue, OverlapSteer, OverlapInterrupt, OverlapReject:
	default:
		return fmt.Errorf("%s: overlap is %q: use queue, steer, interrupt or reject", act, s.Overlap)
	}
	switch {
	case act == Steer && s.Overlap != OverlapSteer:
		return fmt.Errorf("%s: overlap is %s, but a steer joins the running turn: use followup", act, s.Overlap)
	case act == Inject:
		return fmt.Errorf("%s: overlap is %s, but an inject wakes nobody and waits for the next step: use followup", act, s.Overlap)
	case act == SendTo && s.Target != "" && s.Overlap != OverlapReject && s.Target != s.overlapTarget():
		return fmt.Errorf("%s: overlap %s goes to %s, but target is %s: leave the target out", act, s.Overlap, s.overlapTarget(), s.Target)
	case s.OnlyIfIdle && s.Overlap != OverlapReject:
		return fmt.Errorf("%s: overlap %s is for a busy agent, but onlyIfIdle refuses then: use one of them", act, s.Overlap)
	}
	return s.conditions(act)
}

func (s Send) conditions(act string) error {
	if s.ExpectedTurn != nil && *s.ExpectedTurn < 0 {
		return fmt.Errorf("%s: expectedTurn is %d: turns count from 1, and 0 is before the first", act, *s.ExpectedTurn)
	}
	return nil
}

func (s Send) overlapTarget() string {
	if s.Overlap == OverlapSteer {
		return session.NextStep
	}
	return session.NextTurn
}

// overlapped fills in what the overlap says.
func (s Send) overlapped() Send {
	switch s.Overlap {
	case "":
		return s
	case OverlapReject:
		s.Target = cmp.Or(s.Target, session.NextTurn)
	default:
		s.Target = s.overlapTarget()
	}
	s.Wakeup = true
	return s
}
