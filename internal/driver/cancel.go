package driver

import "github.com/everturn/everturn/session"

// onCancel applies a cancel to the current activity. See spec §3.4, §5.
func (d *Driver) onCancel(in CancelAsked) {
	if d.seen(in.Ref, in.Request, "") {
		return
	}
	d.remember(in.Request)
	s := d.state
	if !s.Active() { // D6: a complete no-op
		d.idleHit(in)
		d.reply(in.Ref, Receipt{Disposition: Done})
		return
	}
	d.log(session.CancelRequested{Cause: in.Cause, KeepInbox: in.KeepInbox, Via: in.Via, By: in.By, Text: in.Text})
	if !in.KeepInbox {
		d.clear()
		s.Latch = false
	}
	if s.Cancelled == nil {
		cause := in.Cause
		s.Cancelled = &cause
		d.abort()
	}
	d.reply(in.Ref, Receipt{Disposition: Done})
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
	case Tools: // X10
		for _, c := range s.Calls {
			if c.State == CallRunning && !c.Settle {
				d.effect(CancelEffect{ID: c.Effect})
			}
		}
	default: // Opening, Claiming and Draining see it when they go on: X2, X3, X13
	}
}
