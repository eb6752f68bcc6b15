package driver

// onBorn announces the agent; input that came before is replayed. See spec §6.1.
func (d *Driver) onBorn(in Born) {
	s := d.state
	if s.Phase != Birth {
		return
	}
	s.Spec, s.Store, s.Manifest = in.Out.Spec, in.Out.Store, in.Out.Manifest
	d.learn(in.Out.Worker, in.Out.Model)
	d.acts(in.Out.Acts) // queued, not run: the agent is not created yet, §6.1.7
	s.Phase = Idle
	d.notify("agent/created", map[string]string{"session": s.Session, "source": "startup"})
}
