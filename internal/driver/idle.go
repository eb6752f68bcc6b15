package driver

import "fmt"

// drain lets the activity converge after a turn: the next turn, or flush and idle. See spec §4.1, architecture A3.3.
func (d *Driver) drain() bool {
	s := d.state
	switch {
	case s.Log.Lent != "":
		return false
	case s.Normal && s.Cancelled == nil && s.pending() > 0:
		s.Phase = Opening
		return true
	case len(s.Log.Tail) > 0 && s.Log.Broken == "":
		d.persist(true)
		return false
	default:
		d.goIdle()
		return true
	}
}

// goIdle ends the drain. See spec §3.7.
func (d *Driver) goIdle() {
	s := d.state
	s.Phase, s.Cancelled, s.Normal, s.Woken = Idle, nil, false, false
	s.Generation++
	s.Telling = s.Reports
	d.notify("agent/status", map[string]string{"status": StatusIdle})
	d.transition(StatusIdle, s.Turn)
}

// idle replays a latched wake, flushes what arose while idle, rolls over and disposes. See spec §3.1.5.
func (d *Driver) idle() bool {
	s := d.state
	d.adopt()
	latched := s.Latch
	s.Latch = false // convergence is now: a wake whose message is gone is gone too
	switch {
	case s.Disposing:
		return d.disposeIdle()
	case latched && s.pending() > 0:
		d.run()
		return true
	case s.Log.Lent != "":
		return false
	case len(s.Log.Tail) > 0 && s.Log.Broken == "":
		d.persist(true)
		return false
	case s.Telling && s.Log.Broken == "":
		s.Telling = false
		d.tellParent(false)
		return true
	default:
		s.Rolling = s.rolls() && !d.meetsChild()
		return false
	}
}

// onResumed goes on in a new run: what waits for time is armed again, for the time that is left. See
// architecture A3.11.
func (d *Driver) onResumed() {
	s := d.state
	s.Roll, s.Rolling = false, false
	d.showMetadata()
	if s.Retry != nil {
		s.Awaiting = d.timer("retry", max(0, s.Retry.DueMS-d.now), fmt.Sprintf("retry %d", s.Retry.Number))
	}
	if s.FlushAt != "" {
		s.FlushAt = d.timer("flush", flushRetryMS, "store refused: flush again")
	}
	d.waitsResumed()
	d.onChildrenResumed()
}
