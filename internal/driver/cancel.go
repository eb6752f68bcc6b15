package driver

import (
	"fmt"

	"github.com/everturn/everturn/session"
)

// onCancel applies a cancel to the current activity. See spec §3.4, §5.
func (d *Driver) onCancel(in CancelAsked) {
	if d.seen(in.Ref, in.Request, "") || d.stranger(in.Ref, in.Bond) {
		return
	}
	if !known(in.Cause.Kind) {
		if in.Via != ViaNative { // who cancels natively may write anything: it counts as the user's
			d.reply(in.Ref, Receipt{Disposition: Refused, Code: RefusedInvalid,
				Message: fmt.Sprintf("unknown cause %.40q: want user, parent, hook or disposed", in.Cause.Kind)})
			return
		}
		in.Cause = session.Cause{Kind: session.CauseUser}
	}
	d.remember(in.Request)
	switch s := d.state; {
	case in.Via == ViaNative && s.Owner != "": // who has a parent is ended by it, see architecture A3.9
		d.dispose(true)
	case s.Active():
		d.cancel(in)
	default: // D6: a complete no-op
		d.idleHit(in)
	}
	d.reply(in.Ref, Receipt{Disposition: Done})
}

// known reports whether a caller may give this cause.
func known(kind session.CauseKind) bool {
	switch kind {
	case session.CauseUser, session.CauseParent, session.CauseHook, session.CauseDisposed:
		return true
	default: // legacy: imports only
		return false
	}
}

// cancel discards what is pending and ends the activity. The first cause wins.
func (d *Driver) cancel(in CancelAsked) {
	s := d.state
	cause := session.Cause{Kind: in.Cause.Kind, Reason: clip(in.Cause.Reason)}
	d.log(session.CancelRequested{Cause: cause, KeepInbox: in.KeepInbox, Via: in.Via, By: clip(in.By), Text: clip(in.Text)})
	if !in.KeepInbox {
		d.clear(session.Cancelled)
		s.Latch = false
	}
	if s.Cancelled == nil {
		s.Cancelled = &cause
		d.cancelChildren(in.KeepInbox)
		d.abort()
	}
}

// idleHit disposes an agent that is natively cancelled twice while idle. See architecture A3.9.
func (d *Driver) idleHit(in CancelAsked) {
	s := d.state
	if in.Via != ViaNative || s.Phase != Idle {
		return
	}
	if s.IdleHit {
		d.dispose(true)
		return
	}
	s.IdleHit = true
}

// abort requests the end of what runs. Nothing is abandoned: every started effect still answers.
func (d *Driver) abort() {
	s := d.state
	switch s.Phase {
	case Stepping:
		if s.Awaiting != "" && !s.Settling {
			d.effect(CancelEffect{ID: s.Awaiting})
		}
	case Retrying: // X8
		d.effect(CancelEffect{ID: s.Awaiting})
		d.abortTurn()
	case Tools: // X10, X11
		d.abortCalls()
	case Starting, Stopping, Maintaining: // X2, X12, §3.6.5
		if s.Awaiting != "" {
			d.effect(CancelEffect{ID: s.Awaiting})
		}
	default: // Opening, Claiming, Draining and an attempt that waits for the log see it when they go on: X2, X3, X8, X13
	}
}
