package driver

import (
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// failCalls takes note that a call failed for a reason of our own, which is no answer that the model could use: nothing
// new starts, what runs is waited for, every call gets a result, and then the turn ends with the error. See spec §4.8,
// scheduler defect.
func (d *Driver) failCalls(message string) {
	s := d.state
	if s.Defect == nil {
		s.Defect = failureOf(&session.Failure{Code: work.CodeUnknown, Message: "a tool call failed for good: " + message})
	}
	for i := range s.Calls {
		switch c := &s.Calls[i]; c.State {
		case CallAsking, CallChecking:
			d.abandonWait(c, notStarted())
		case CallCleared:
			d.finish(c, notStarted())
		case CallDelegated:
			d.abandon(c, unknownOutcome())
		case CallExecuted: // nobody judges it any more
			c.State = CallFinished
		}
	}
}

// stopped reports whether no further call may start.
func (d *Driver) stopped() bool { return d.state.Cancelled != nil || d.state.Defect != nil }

// unstarted is the result of a call that was kept from starting. See spec §5 X9, §4.8.
func (d *Driver) unstarted() work.ToolOut {
	if d.state.Cancelled != nil {
		return abortedBeforeDispatch()
	}
	return notStarted()
}

func notStarted() work.ToolOut {
	return work.ToolOut{IsError: true, Content: session.TextContent(session.TextToolNotStarted),
		Error: &session.CodedError{Name: session.NameToolNotStarted, Code: session.CodeToolNotStarted}}
}
