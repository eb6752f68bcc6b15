package driver

import "github.com/everturn/everturn/internal/work"

// onBorn announces the agent; input that came before is replayed. See spec §6.1.
func (d *Driver) onBorn(in Born) {
	s := d.state
	if s.Phase != Birth {
		return
	}
	s.Spec, s.Store, s.Manifest, s.Source = in.Out.Spec, in.Out.Store, in.Out.Manifest, in.Out.Source
	if r := in.Out.Recorded; r != nil {
		s.record(*r)
		d.showMetadata()
	}
	d.inherit(in.Out.Log)
	d.learn(in.Out.Worker, in.Out.Model)
	d.acts(in.Out.Acts) // queued, not run: the agent is not created yet, §6.1.7
	s.Phase = Idle
	if s.Manifest.Rules >= rulesAttributes {
		d.transition(StatusIdle, s.Turn)
	}
	d.notify("session/created", map[string]string{"session": s.Session})
	d.notify("agent/created", map[string]string{"session": s.Session, "source": s.source()})
}

// inherit goes on where a log ends that another incarnation, or another session, wrote. Pending input is pending again;
// nothing runs until a wake. Whoever carries the driver keeps callers waiting until it is born. See spec §7.1, §7.3.
func (d *Driver) inherit(from *work.Inherited) {
	s := d.state
	if from == nil {
		return
	}
	s.Epoch, s.Log.Head, s.Turn = from.Epoch, from.Head, from.Turn
	take := func(pending []work.Pending) (out []Pending) {
		for _, p := range pending {
			out = append(out, Pending{ID: p.ID, Bytes: p.Bytes})
			s.PendingBytes += p.Bytes
		}
		return out
	}
	s.NextTurn, s.NextStep, s.Policy, s.Plan = take(from.NextTurn), take(from.NextStep), from.Policy, from.Plan
}

// source says how this incarnation began. See spec §6.1.6.
func (s *State) source() string {
	if s.Source == "" {
		return "startup"
	}
	return s.Source
}
