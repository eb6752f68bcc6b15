package driver

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/work"
)

// How an approval was settled without a person.
const (
	viaPolicy = "policy"
	viaRule   = "rule"
)

// SameCall stands for the digest of the call that is decided about, in a rule to be remembered.
const SameCall = "same"

// The bounds of what is remembered: the state stays small. See architecture A3.4.
const (
	maxRules     = 64
	maxRuleBytes = 8 << 10 // of all rules, encoded
)

// judge says what the policy makes of a call that a gate asks about; no outcome: a person decides. Whoever answered
// without a digest knows no policies.
func (d *Driver) judge(c *Call) verdict {
	if c.Ask.Digest == "" {
		return verdict{}
	}
	mode := d.state.Mode()
	switch mode {
	case work.PolicyNever:
		return verdict{outcome: rejected, via: viaPolicy}
	case work.PolicyAlways:
		return verdict{outcome: granted, via: viaPolicy}
	}
	rules := d.state.policy().Rules
	if a := d.state.Manifest.Approvals; mode == work.PolicyAllowList && a != nil {
		rules = slices.Concat(rules, a.Allow)
	}
	for _, r := range rules {
		if r.Lasts(d.now) && r.Fits(c.Name, c.Ask.Digest, c.Arguments) {
			return verdict{outcome: granted, via: viaRule, rule: cmp.Or(r.ID, "definition"), by: r.By}
		}
	}
	return verdict{}
}

// Mode is the policy in force.
func (s *State) Mode() string {
	declared := ""
	if a := s.Manifest.Approvals; a != nil {
		declared = a.Mode
	}
	return cmp.Or(s.policy().Mode, declared, work.PolicyAsk)
}

func (s *State) policy() work.Policy {
	if s.Policy == nil {
		return work.Policy{}
	}
	return *s.Policy
}

// onPolicy switches the policy of the agent, gives it rules and takes rules away. What waits is judged anew. See
// architecture A3.7.
func (d *Driver) onPolicy(in PolicyAsked) {
	if d.seen(in.Ref, in.Request, "") || d.closed(in.Ref, "") {
		return
	}
	if code, why := d.noPolicy(in); code != "" {
		d.reply(in.Ref, Receipt{Disposition: Refused, Code: code, Message: why})
		return
	}
	d.remember(in.Request)
	d.setPolicy(d.changed(in), in.By, in.Reason)
	d.rejudge()
	d.reply(in.Ref, Receipt{Disposition: Done})
}

// changed is the policy after a switch.
func (d *Driver) changed(in PolicyAsked) work.Policy {
	p := d.state.policy()
	p.Mode = cmp.Or(in.Mode, p.Mode)
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(r work.Rule) bool { return slices.Contains(in.Revoke, r.ID) })
	for _, r := range in.Allow {
		p = d.with(p, r, in.By)
	}
	return p
}

// noPolicy says why a switch is refused.
func (d *Driver) noPolicy(in PolicyAsked) (code, why string) {
	switch in.Mode {
	case "", work.PolicyAsk, work.PolicyAllowList, work.PolicyNever, work.PolicyAlways:
	default:
		return RefusedInvalid, fmt.Sprintf("policy %.40q is unknown: use %s, %s, %s or %s", in.Mode, work.PolicyAsk, work.PolicyAllowList, work.PolicyNever, work.PolicyAlways)
	}
	for _, id := range in.Revoke {
		if !slices.ContainsFunc(d.state.policy().Rules, func(r work.Rule) bool { return r.ID == id }) {
			return RefusedInvalid, fmt.Sprintf("there is no rule %.40q to revoke", id)
		}
	}
	for _, r := range in.Allow {
		if !r.Lasts(d.now) {
			return RefusedInvalid, fmt.Sprintf("the rule for %.40q is over already: give a later time", r.Tool)
		}
	}
	return d.full(d.changed(in))
}

// noRule says why a decision cannot be remembered.
func (d *Driver) noRule(r work.Rule, tool string) (code, why string) {
	r.Tool = tool
	if !r.Lasts(d.now) {
		return RefusedInvalid, "the rule to be remembered is over already: give a later time"
	}
	return d.full(d.with(d.state.policy(), r, ""))
}

func (d *Driver) full(p work.Policy) (code, why string) {
	if len(p.Rules) > maxRules || encoded(p.Rules) > maxRuleBytes {
		return RefusedFull, fmt.Sprintf("the agent remembers at most %d rules of %d bytes in all: revoke some first", maxRules, maxRuleBytes)
	}
	return "", ""
}

// rememberRule is the id of the rule that a decision leaves behind: about the very same call, unless it says more.
func (d *Driver) rememberRule(c *Call, r work.Rule, by string) string {
	r.Tool = c.Name
	if r.Digest == SameCall {
		r.Digest = c.Ask.Digest
	}
	p := d.with(d.state.policy(), r, by)
	d.setPolicy(p, by, "")
	return p.Rules[len(p.Rules)-1].ID
}

// with is the policy with one more rule; what is over is forgotten.
func (d *Driver) with(p work.Policy, r work.Rule, by string) work.Policy {
	p.Given++
	r.ID, r.By = fmt.Sprintf("rule-%d", p.Given), gist(cmp.Or(r.By, by))
	kept := slices.DeleteFunc(slices.Clone(p.Rules), func(r work.Rule) bool { return !r.Lasts(d.now) })
	p.Rules = append(kept, r)
	return p
}

// setPolicy logs the whole policy, so that the last such event says what it is.
func (d *Driver) setPolicy(p work.Policy, by, reason string) {
	d.state.Policy = &p
	rules := p.Rules
	if rules == nil {
		rules = []work.Rule{}
	}
	data := map[string]any{"policy": d.state.Mode(), "mode": p.Mode, "rules": rules, "given": p.Given, "by": clip(by), "reason": clip(reason)}
	d.feature("approval/policy", data)
	d.notify("approval/policy", data)
}

// rejudge asks the policy again about every call that waits for a person.
func (d *Driver) rejudge() {
	for i := range d.state.Calls {
		c := &d.state.Calls[i]
		if (c.State != CallAsking && c.State != CallChecking) || c.Ask.Kind != "" {
			continue
		}
		if v := d.judge(c); v.outcome != "" {
			d.settle(c, v)
		}
	}
}
