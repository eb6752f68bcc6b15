package driver

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/work"
)

// The recorded data of an agent and the manifest of its definition change between turns, never inside one. What came in
// meanwhile waits in the state: digests, not bodies. See architecture A3.12.

// maxConfigures bounds the changes that wait for a worker to check them.
const maxConfigures = 8

// onConfigureAsked lets a worker check the change and store what it comes to; changes are checked one after another.
// See architecture A3.12.
func (d *Driver) onConfigureAsked(in ConfigureAsked) {
	if d.seen(in.Ref, in.Request, "") || d.closed(in.Ref, "") {
		return
	}
	s := d.state
	if code, why := s.refusesChange(in); code != "" {
		d.reply(in.Ref, Receipt{Disposition: Refused, Code: code, Message: why})
		return
	}
	d.remember(in.Request)
	s.Configures = append(s.Configures, Configuring{Ref: in.Ref, Request: in.Request, Patch: in.Patch})
	if len(s.Configures) == 1 {
		d.startConfigure()
	}
}

// refusesChange reports why a change cannot even be checked; empty means it can.
func (s *State) refusesChange(in ConfigureAsked) (code, why string) {
	switch {
	case s.Disposing:
		return RefusedClosed, "the agent is being disposed"
	case len(s.Configures) >= maxConfigures:
		return RefusedBusy, fmt.Sprintf("%d changes wait for a worker to check them: ask again later", maxConfigures)
	case len(in.Patch) > work.SpecLimit:
		return RefusedTooLarge, fmt.Sprintf("the change takes %d bytes, more than %d", len(in.Patch), work.SpecLimit)
	case !json.Valid(in.Patch):
		return RefusedInvalid, "the change is not JSON"
	}
	return "", ""
}

// startConfigure checks the oldest change, against what the ones before it came to.
func (d *Driver) startConfigure() {
	s := d.state
	c := &s.Configures[0]
	c.ID = d.effectID("configure")
	base := s.Spec
	if s.Change != nil {
		base = s.Change.Spec
	}
	d.effect(StartConfigure{In: work.ConfigureIn{ID: c.ID, Ident: s.ident(), Base: base, Patch: c.Patch}})
}

// onConfigureDone keeps the changed data for the next turn. See architecture A3.12.
func (d *Driver) onConfigureDone(in ConfigureDone) {
	if !d.configures(in.ID) {
		return
	}
	out := in.Out
	d.learn(out.Worker, "")
	if out.Recorded != nil {
		d.state.Change = out.Recorded
		d.configured(Receipt{Disposition: Done})
		return
	}
	d.configured(Receipt{Disposition: Refused, Code: out.Code, Message: clip(out.Message)})
}

// onConfigureLost refuses a change that no worker could check. See architecture A3.12.
func (d *Driver) onConfigureLost(in ConfigureLost) {
	if d.configures(in.ID) {
		d.configured(Receipt{Disposition: Refused, Code: RefusedStore, Message: "the change could not be checked and stored: " + clip(in.Message)})
	}
}

// configures reports whether the effect checks the oldest change.
func (d *Driver) configures(id string) bool {
	list := d.state.Configures
	return id != "" && len(list) > 0 && list[0].ID == id
}

// configured answers the oldest change and goes on with the next.
func (d *Driver) configured(r Receipt) {
	s := d.state
	d.reply(s.Configures[0].Ref, r)
	if s.Configures = s.Configures[1:]; len(s.Configures) == 0 {
		s.Configures = nil
		return
	}
	d.startConfigure()
}

// adopt takes over what waited for the turn boundary.
func (d *Driver) adopt() {
	s := d.state
	if s.Refresh != nil {
		s.Manifest, s.Refresh = *s.Refresh, nil
	}
	if c := s.Change; c != nil {
		s.Rerouted = s.Rerouted || c.Rerouted
		if !bytes.Equal(s.Metadata, c.Metadata) {
			d.effect(Recorded{Metadata: c.Metadata})
		}
		s.record(*c)
		s.Change = nil
		d.notify("agent/configured", map[string]string{"spec": s.Spec})
	}
}

// record notes what the driver itself must know of the recorded data.
func (s *State) record(r work.Recorded) {
	s.Spec, s.Title, s.Queue, s.Metadata, s.Tells, s.Budget = r.Spec, r.Title, r.Queue, r.Metadata, r.Tells, r.Budget
}

// rolls reports whether a rollover is wanted and no change is being checked: its answer comes to this run.
func (s *State) rolls() bool { return s.Roll && len(s.Configures) == 0 }

// showMetadata lets listings show the metadata, if there is any.
func (d *Driver) showMetadata() {
	if len(d.state.Metadata) > 0 {
		d.effect(Recorded{Metadata: d.state.Metadata})
	}
}

// abandonConfigures answers the changes that nobody will check any more.
func (d *Driver) abandonConfigures() {
	for _, c := range d.state.Configures {
		d.reply(c.Ref, Receipt{Disposition: Refused, Code: RefusedClosed, Message: "the agent has ended"})
	}
	d.state.Configures = nil
}
