package driver

import "github.com/everturn/everturn/internal/work"

// startHook runs the hooks of a point. No hook registered, no activity scheduled.
func (d *Driver) startHook(point string, n int) {
	s := d.state
	s.Awaiting = d.effectID("hook")
	d.effect(StartHook{In: work.HookIn{ID: s.Awaiting, Ident: s.ident(), Point: point, Turn: s.Turn, N: n}})
}

// onHookDone goes on after a hook. What it asked for is applied first, so that a hook objects by steering and the order
// of hooks cannot matter. See spec §4.9.4, §6.1.6.
func (d *Driver) onHookDone(id string, out work.HookOut) {
	s := d.state
	if id == "" || id != s.Awaiting || s.Phase != Starting && s.Phase != Stopping {
		return
	}
	s.Awaiting = ""
	d.learn(out.Worker, "")
	d.acts(out.Acts)
	if s.Phase == Starting {
		if out.Failure != nil && s.Cancelled == nil { // contained; no error is told of a cancel, §2.5
			d.fail(failureOf(out.Failure))
		}
		s.Phase = Opening
		return
	}
	d.afterStopping(out)
}

// afterStopping closes the turn unless somebody objected. See spec §4.9.4–6.
func (d *Driver) afterStopping(out work.HookOut) {
	s := d.state
	switch {
	case s.Cancelled != nil: // X12
		d.abortTurn()
	case out.Failure != nil:
		d.failTurn(failureOf(out.Failure))
	case len(s.NextStep) > 0:
		s.Phase = Claiming
	default:
		d.completeTurn()
	}
}
