package driver

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// The bounds of an agent's children.
const (
	MaxChildren = 64
	MaxSpawn    = 32 << 10 // bytes of what a child is created with
)

// onSpawn starts a child agent. Whoever waits is answered when it is there. See spec §6.4, architecture A3.13.
func (d *Driver) onSpawn(in SpawnAsked) {
	if d.seen(in.Ref, in.Request, in.Child.ID) || d.closed(in.Ref, in.Child.ID) {
		return
	}
	if code, why := d.noChild(in.Child); code != "" {
		d.reply(in.Ref, Receipt{ID: in.Child.ID, Disposition: Refused, Code: code, Message: why})
		return
	}
	d.remember(in.Request)
	d.spawn(in.Child, Child{Ref: in.Ref, Follows: in.Child.Follows})
}

// noChild reports why an agent cannot get this child now; empty means it can.
func (d *Driver) noChild(c work.Spawn) (code, why string) {
	s := d.state
	switch {
	case !session.ValidID(c.ID):
		return RefusedInvalid, "the id of a child must be 1–200 characters without control characters"
	case c.ID == s.Session || d.child(func(o *Child) bool { return o.ID == c.ID }) != nil:
		return RefusedDuplicateID, fmt.Sprintf("an agent %q is there already: use another id", c.ID)
	case len(c.Create) > MaxSpawn:
		return RefusedTooLarge, fmt.Sprintf("what the child is created with takes %d bytes, more than %d", len(c.Create), MaxSpawn)
	case s.Disposing:
		return RefusedClosed, "the agent is being disposed of, and so would be its child"
	case len(s.Children) >= MaxChildren:
		return RefusedFull, fmt.Sprintf("the agent has %d children: dispose of some", len(s.Children))
	}
	return "", ""
}

func (d *Driver) spawn(c work.Spawn, as Child) {
	as.ID, as.Effect = c.ID, d.effectID("child")
	as.Bond = fmt.Sprintf("%d.%s", d.state.Epoch, as.Effect) // it stays, also after a reset
	d.state.Children = append(d.state.Children, as)
	d.effect(StartChild{ID: as.Effect, Child: as.ID, Bond: as.Bond, Create: c.Create})
}

// child finds one of the agent's children.
func (d *Driver) child(which func(*Child) bool) *Child {
	for i := range d.state.Children {
		if c := &d.state.Children[i]; which(c) {
			return c
		}
	}
	return nil
}

func (d *Driver) childOf(effect string) *Child {
	return d.child(func(c *Child) bool { return effect != "" && c.Effect == effect })
}

// onChildStarted answers whoever asked for the child. See spec §6.4.
func (d *Driver) onChildStarted(in ChildStarted) {
	c := d.childOf(in.ID)
	if c == nil || c.Live {
		return
	}
	c.Live = true
	d.welcome(c, Receipt{ID: c.ID, Disposition: Done})
}

// onChildFailed gives up a child that cannot be started. See spec §6.4.
func (d *Driver) onChildFailed(in ChildFailed) {
	c := d.childOf(in.ID)
	if c == nil || c.Live {
		return
	}
	d.welcome(c, Receipt{ID: c.ID, Disposition: Refused, Code: in.Code, Message: clip(in.Message)})
	d.forget(c, fmt.Sprintf("the child agent cannot be started: %s: %s", in.Code, clip(in.Message)))
}

func (d *Driver) welcome(c *Child, r Receipt) {
	if c.Ref != "" {
		d.reply(c.Ref, r)
	}
	c.Ref = ""
}

// onChildTold takes what a child says of itself: it is idle, so that the call which waits for it has its answer, or it
// is closed. See spec §6.4.
func (d *Driver) onChildTold(in ChildTold) {
	c := d.child(func(c *Child) bool { return c.ID == in.Child })
	switch {
	case c == nil || in.Bond != c.Bond: // it is nobody's, or not any more, or somebody says so who is not it
	case in.Closed:
		d.forget(c, "the child agent was disposed of before it answered")
	case c.Call != "":
		d.collect(c, in)
	}
}

// onChildClosed takes note that a child's workflow is over, however it ended. See spec §6.4.
func (d *Driver) onChildClosed(in ChildClosed) {
	if c := d.childOf(in.ID); c != nil {
		d.forget(c, "the child agent ended before it answered: "+clip(in.Message))
	}
}

// forget removes a child that is gone. The call that waits for it is told why.
func (d *Driver) forget(c *Child, why string) {
	d.unwatch(c)
	if call := d.delegated(c); call != nil {
		d.executed(call, childFailed(why), call.Posted)
	}
	i := slices.IndexFunc(d.state.Children, func(o Child) bool { return o.Effect == c.Effect })
	d.state.Children = slices.Delete(d.state.Children, i, i+1)
	if len(d.state.Children) == 0 {
		d.state.Children = nil
	}
}

// leave tells a child to dispose of itself, once. A child that answers nobody any more is watched no longer than that.
func (d *Driver) leave(c *Child) {
	if c.Leaving {
		return
	}
	c.Leaving = true
	d.effect(TellChild{ID: c.Effect, Child: c.ID, Bond: c.Bond, Act: ActDispose})
	d.watch(c)
}

// leaveAll disposes of the children, before their parent is. See spec §6.3.2.
func (d *Driver) leaveAll() {
	for i := range d.state.Children {
		d.leave(&d.state.Children[i])
	}
}

// cancelChildren lets a cancel of this agent's work reach the children that follow it. See spec §6.4.
func (d *Driver) cancelChildren(keepInbox bool) {
	for i := range d.state.Children {
		if c := &d.state.Children[i]; c.Follows && !c.Leaving {
			d.effect(TellChild{ID: c.Effect, Child: c.ID, Bond: c.Bond, Act: ActCancel, KeepInbox: keepInbox})
		}
	}
}

// meetsChild reports whether a child is being started or looked at: the answer belongs to this run.
func (d *Driver) meetsChild() bool {
	return d.child(func(c *Child) bool { return !c.Live || c.Look != "" && c.Looking }) != nil
}

// The first and the longest pause between two looks at a child whose end nobody would tell.
const (
	firstLookMS   = 5_000
	longestLookMS = 600_000
)

// watch looks now and then whether a child is still there: the run that would have been told of its end is gone. Only
// what somebody waits for is watched.
func (d *Driver) watch(c *Child) {
	if !c.Blind || c.Look != "" || c.Call == "" && !c.Leaving {
		return
	}
	delay := int64(firstLookMS)
	for n := 0; n < c.Looks && delay < longestLookMS; n++ {
		delay *= 2
	}
	c.Looks++
	c.Look = d.timer("look", min(delay, longestLookMS), "is child "+c.ID+" there")
}

func (d *Driver) unwatch(c *Child) {
	if c.Due != "" {
		d.effect(CancelEffect{ID: c.Due})
	}
	if c.Look != "" && !c.Looking {
		d.effect(CancelEffect{ID: c.Look})
	}
	c.Due, c.Look, c.Looking = "", "", false
}

// onChildTimer looks at a child, or gives up waiting for its answer. It reports whether the timer was about a child.
// See spec §6.4.
func (d *Driver) onChildTimer(timer string) bool {
	if c := d.child(func(c *Child) bool { return c.Look == timer && !c.Looking }); c != nil {
		c.Look, c.Looking = d.effectID("look"), true
		d.effect(LookAtChild{ID: c.Look, Child: c.ID})
		return true
	}
	c := d.child(func(c *Child) bool { return c.Due == timer })
	if c == nil {
		return false
	}
	c.Due = ""
	if call := d.delegated(c); call != nil {
		d.executed(call, childFailed("the child agent did not answer in time"), call.Posted)
	}
	d.release(c)
	return true
}

// onChildSeen takes the answer of a look. See spec §6.4.
func (d *Driver) onChildSeen(in ChildSeen) {
	c := d.child(func(c *Child) bool { return in.ID != "" && c.Look == in.ID })
	if c == nil {
		return
	}
	c.Look, c.Looking = "", false
	if in.Gone {
		d.forget(c, "the child agent ended before it answered")
		return
	}
	d.watch(c)
}

// loseSight looks after children whose ends are told to a run that was given up.
func (d *Driver) loseSight() {
	for i := range d.state.Children {
		if c := &d.state.Children[i]; c.Live && !c.Blind {
			c.Blind = true
			d.watch(c)
		}
	}
}

// onChildrenResumed arms again what waits for children: their ends are told to the run that started them, which is gone.
// See spec §6.4.
func (d *Driver) onChildrenResumed() {
	for i := range d.state.Children {
		c := &d.state.Children[i]
		if !c.Live {
			continue // the run does not end before it is started
		}
		c.Blind, c.Look, c.Looking = true, "", false
		d.watch(c)
		if c.Due != "" {
			c.Due = d.timer("answer", max(0, c.DueMS-d.now), "answer of "+c.ID)
		}
	}
}
