package driver

import (
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// delegate lets a call wait for a child agent: as data, without a worker, over rollovers. See architecture A3.7, A3.13.
func (d *Driver) delegate(c *Call, out work.ToolOut) {
	spawn := *out.Delegate
	switch code, why := d.noChild(spawn); {
	case d.stopped():
		d.finish(c, d.unstarted())
	case c.Child != "": // it was delegated before
		d.finish(c, unknownOutcome())
	case code != "":
		d.executed(c, childFailed(code+": "+why), c.Posted)
	default:
		c.State, c.Child = CallDelegated, spawn.ID
		as := Child{Follows: true, Call: c.ID, Keep: spawn.Keep}
		if out.DeadlineMS > 0 {
			as.DueMS = d.now + out.DeadlineMS
			as.Due = d.timer("answer", out.DeadlineMS, "answer of "+spawn.ID)
		}
		d.spawn(spawn, as)
	}
}

// delegated is the call that waits for a child; it waits no longer.
func (d *Driver) delegated(c *Child) *Call {
	id := c.Call
	c.Call = ""
	for i := range d.state.Calls {
		if call := &d.state.Calls[i]; id != "" && call.ID == id && call.State == CallDelegated {
			return call
		}
	}
	return nil
}

// collect reads a child's answer: an activity does, since the log is in the store.
func (d *Driver) collect(c *Child, in ChildTold) {
	d.unwatch(c)
	call := d.delegated(c)
	d.release(c)
	if call == nil {
		return
	}
	call.State, call.Effect = CallRunning, d.effectID("tool")
	tool := d.toolIn(call, work.ToolCollect)
	tool.Child = &work.Answered{Session: in.Child, Head: in.Head}
	d.effect(StartTool{In: tool})
}

// release lets a child go that has done what it was started for.
func (d *Driver) release(c *Child) {
	if !c.Keep {
		d.leave(c)
	}
}

// abandon ends the wait for a child; out is what the call comes to.
func (d *Driver) abandon(call *Call, out work.ToolOut) {
	if c := d.child(func(c *Child) bool { return c.Call == call.ID }); c != nil {
		c.Call = ""
		d.unwatch(c)
		d.release(c)
	}
	d.finish(call, out)
}

// childFailed is the result of a call whose child has no answer.
func childFailed(why string) work.ToolOut {
	return work.ToolOut{IsError: true, Content: session.TextContent("Error: " + why),
		Error: &session.CodedError{Name: "ChildAgentError", Code: work.CodeChild}}
}

// stranger reports whether an act comes from the owner of another incarnation, and refuses it: this one has come to life
// since as nobody's, or as somebody else's. See spec §6.2.
func (d *Driver) stranger(ref, bond string) bool {
	if bond == "" || bond == d.state.Bond {
		return false
	}
	d.reply(ref, Receipt{Disposition: Refused, Code: RefusedInvalid, Message: "the agent is not the child, or not any more, of the one that asks"})
	return true
}

// tellParent says to the agent that owns this one what has become of it. See architecture A3.13.
func (d *Driver) tellParent(closed bool) {
	s := d.state
	if s.Owner == "" {
		return
	}
	d.effect(TellParent{ID: fmt.Sprintf("told-%d", s.Generation), Parent: s.Owner, Bond: s.Bond, Closed: closed, Head: s.Log.Head})
}
