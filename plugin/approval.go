package plugin

import (
	"encoding/json"
	"fmt"
	"time"
)

// Approval is the approval service: a call that a gate wants to ask about, or whose tool is declared with
// [tools.NeedsApproval], waits for a person, without a worker and over restarts. Nobody answers in time: it is denied.
type Approval struct {
	Deadline time.Duration // 0 means [DefaultApprovalDeadline]; without end is said with [NoDeadline]

	// Policy is what becomes of calls that must be asked about, unless it is switched for an agent: one of the policies, empty
	// means [PolicyAsk].
	Policy string
	// Allow are the rules of [PolicyAllowList]: calls that they fit run without asking.
	Allow []Rule
}

// The deadlines of an [Approval].
const (
	DefaultApprovalDeadline               = 7 * 24 * time.Hour
	NoDeadline              time.Duration = -1
)

// The policies: what becomes of a call that must be asked about. In all of them gates and guards still deny.
const (
	PolicyAsk       = "ask"        // a person decides, unless a rule that people had the agent remember lets it run
	PolicyAllowList = "allow-list" // the same, and the rules of the definition count too
	PolicyNever     = "never"      // nobody is asked: it is denied
	PolicyAlways    = "always"     // nobody is asked: it runs
)

// A Rule lets calls of a tool run without asking: those whose arguments fit all patterns, by the name of the argument. `*`
// stands for any text, slashes included; a value that is no string is compared as JSON. Arguments that are not named may be
// anything, and without Args it is any call of the tool. A call whose arguments are large, no JSON, or name two arguments
// that differ only in case, fits no patterns.
type Rule struct {
	Tool string
	Args map[string]string
}

// The bounds of [Approval].Allow: every agent carries the rules.
const (
	maxRules     = 64
	maxRuleBytes = 8 << 10
)

func (a *Approval) validate() error {
	switch a.Policy {
	case "", PolicyAsk, PolicyAllowList, PolicyNever, PolicyAlways:
	default:
		return fmt.Errorf("policy is %q: use %s, %s, %s or %s", a.Policy, PolicyAsk, PolicyAllowList, PolicyNever, PolicyAlways)
	}
	for i, r := range a.Allow {
		_, nameless := r.Args[""]
		if r.Tool == "" || nameless {
			return fmt.Errorf("rule %d of allow: name the tool, and the argument of each pattern", i+1)
		}
	}
	if raw, err := json.Marshal(a.Allow); err != nil || len(a.Allow) > maxRules || len(raw) > maxRuleBytes {
		return fmt.Errorf("allow has at most %d rules of %d bytes in all", maxRules, maxRuleBytes)
	}
	return nil
}
