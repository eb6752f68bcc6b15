package driver

import (
	"cmp"

	"github.com/everturn/everturn/internal/work"
)

// rulesAttributes is the behaviour version from which on an agent says its status at birth, and whether it waits for a
// person. It is the manifest in force that counts. See architecture A5.
const rulesAttributes = 2

// RulesRollover is the behaviour version from which on a rollover has a workflow task of its own, a young run stays, a
// wake is claimed before one, and the agent's birth is shown after it. See architecture A3.11.
const RulesRollover = 3

// rulesPeople is the behaviour version whose workers can read that a message was moved or that an agent plans, and can check
// what somebody said to a call. An older one would refuse the log, or run the call.
const rulesPeople = 4

// needs keeps the agent from workers that are older than what it has met. See architecture A3.12.
func (d *Driver) needs(rules int) { d.state.Rules = max(d.state.Rules, rules) }

func (d *Driver) transition(status string, turn int) {
	s := d.state
	s.Waiting = d.waiting()
	d.effect(Transition{Status: status, Turn: turn, Model: s.Model, Waiting: s.Waiting})
}

// waiting says what somebody outside is waited for, decisions before anything else; it changes with the first call that
// asks and with the last one.
func (d *Driver) waiting() string {
	if d.state.Manifest.Rules < rulesAttributes {
		return ""
	}
	kind := ""
	for _, c := range d.state.Calls {
		if c.undecided() {
			return work.WaitApproval
		}
		if c.waits() {
			kind = cmp.Or(kind, c.Ask.Kind)
		}
	}
	return kind
}

// waits says so, unless a change of the status said it already.
func (d *Driver) waits() {
	if s := d.state; s.Waiting != d.waiting() {
		d.transition(s.Status(), s.Turn)
	}
}
