package driver

import "github.com/everturn/everturn/session"

// onDispose ends the agent; all callers await the same completion. In a batch the receipt only says that it began.
// See spec §6.3.
func (d *Driver) onDispose(in DisposeAsked) {
	s := d.state
	if d.stranger(in.Ref, in.Bond) {
		return
	}
	if s.Phase == Closed || d.replies > 0 {
		d.reply(in.Ref, Receipt{Disposition: Done})
	} else if in.Ref != "" {
		s.Disposers = append(s.Disposers, in.Ref)
	}
	if s.Phase != Closed {
		d.dispose(in.Native)
	}
}

func (d *Driver) dispose(native bool) {
	s := d.state
	if s.Disposing {
		return
	}
	s.Disposing, s.Native = true, native
	s.Log.Broken = "" // the last flush tries the store again
	if s.Active() {
		via := ViaAPI
		if native {
			via = ViaNative
		}
		d.cancel(CancelAsked{Cause: session.Cause{Kind: session.CauseDisposed}, Via: via})
	}
	s.Latch = false
}

// disposeIdle flushes and closes. A store that refuses does not keep the agent: the tail is still in the history.
func (d *Driver) disposeIdle() bool {
	s := d.state
	s.Telling = false // the owner is told of the end
	switch {
	case s.Log.Lent != "":
		return false
	case len(s.Log.Tail) > 0 && s.Log.Broken == "":
		d.persist(true)
		return false
	case len(s.Children) > 0:
		d.leaveAll()
		return false
	}
	s.Phase = Closed
	d.tellParent(true)
	d.notify("agent/disposed", map[string]string{"session": s.Session})
	d.notify("session/disposed", map[string]string{"session": s.Session})
	for _, ref := range s.Disposers {
		d.reply(ref, Receipt{Disposition: Done})
	}
	s.Disposers = nil
	d.abandonConfigures()
	d.effect(Close{Canceled: s.Native, Summary: Summary{Session: s.Session, Turns: s.Turn, Events: s.Log.Next(),
		Pending: s.pending(), Cause: session.Cause{Kind: session.CauseDisposed}}})
	return true
}
