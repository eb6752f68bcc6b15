package workflows

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
)

// decided is a decision as the driver takes it. What is remembered is the very same call, unless it says more.
func decided(act, ref string, p signals.Decision) driver.Input {
	in := driver.Decided{Ref: ref, Request: p.RequestID, ID: p.ID, Grant: act == signals.Approve, By: p.By, Reason: p.Reason,
		Digest: p.Digest, Arguments: p.Arguments}
	if r := p.Remember; r != nil {
		in.Remember = &work.Rule{Args: patterns(r.Args), UntilMS: r.UntilMS}
		if len(r.Args) == 0 && !r.Any {
			in.Remember.Digest = driver.SameCall
		}
	}
	return in
}

func patterns(args signals.Patterns) (out []work.ArgPattern) {
	for _, p := range args {
		out = append(out, work.ArgPattern{Name: p.Arg, Pattern: p.Pattern})
	}
	return out
}

func policyAsked(ref string, p signals.Policy) driver.Input {
	in := driver.PolicyAsked{Ref: ref, Request: p.RequestID, Mode: p.Mode, Revoke: p.Revoke, By: p.By, Reason: p.Reason}
	for _, r := range p.Allow {
		in.Allow = append(in.Allow, work.Rule{Tool: r.Tool, Digest: r.Digest, Args: patterns(r.Args), UntilMS: r.UntilMS, By: r.By})
	}
	return in
}

func answered(ref string, p signals.Answers) (driver.Input, error) {
	raw, err := json.Marshal(p.Answers)
	return driver.Answered{Ref: ref, Request: p.RequestID, ID: p.ID, By: p.By, Said: work.Said{Kind: work.WaitQuestion, Answers: raw}}, err
}

// result is what a program gives; a large one is stored first, like the body of a message.
func (r Reader) result(ref string, p signals.CallResult) (driver.Input, error) {
	said := work.Said{Kind: work.WaitClient, Value: p.Value, IsError: p.IsError}
	if len(p.Value) == 0 {
		said.Content = p.Result()
	}
	if raw, err := json.Marshal(said.Content); p.Body != nil || err == nil && len(raw) > work.InlineLimit {
		out, err := r.Spill(work.SpillIn{Ident: r.Ident(), Content: said.Content})
		switch {
		case err != nil:
			return nil, &Refusal{driver.RefusedStore, fmt.Errorf("the result cannot be stored or found: %w", err)}
		case out.Code != "":
			return nil, &Refusal{out.Code, fmt.Errorf("the result is refused: %s", out.Message)}
		}
		p.Body = &out.Blob
		said.Content = p.Result()
	}
	return driver.Answered{Ref: ref, Request: p.RequestID, ID: p.ID, By: p.By, Said: said}, nil
}

// deferred are the calls that wait for somebody outside.
func deferred(s *driver.State) []signals.Deferred {
	out := []signals.Deferred{}
	for _, c := range s.Calls {
		if w := c.Ask; w != nil {
			one := signals.Deferred{ID: w.ID, CallID: c.ID, Tool: c.Name, DueMS: w.DueMS, Kind: kindOf(w), Digest: w.Digest,
				Reason: w.Reason, Arguments: c.Arguments, Blob: c.Blob, Questions: w.Questions, Checking: w.Checking != nil}
			if c.Approved != nil && len(c.Approved.Arguments) > 0 { // who runs it runs it with these
				one.Arguments, one.Blob = string(c.Approved.Arguments), nil
			}
			out = append(out, one)
		}
	}
	return out
}

func kindOf(w *driver.Wait) string {
	if w.Kind == "" {
		return signals.WaitApproval
	}
	return w.Kind
}

// sayDeferred says in words what a waiting call waits for, and how that is given.
func sayDeferred(d signals.Deferred) string {
	switch d.Kind {
	case signals.WaitQuestion:
		return fmt.Sprintf("answers for %s (signal `answer` with `{\"id\": %q, \"answers\": […]}`)", d.Tool, d.ID)
	case signals.WaitClient:
		return fmt.Sprintf("a program that runs %s (signal `result` with `{\"id\": %q, \"text\": …}`)", d.Tool, d.ID)
	default:
		return fmt.Sprintf("approval of %s (signal `approve` or `deny` with `%q`)", d.Tool, d.ID)
	}
}

// approvals is the policy in force, if it is not the default.
func approvals(s *driver.State) *signals.Approvals {
	if s.Policy == nil && s.Manifest.Approvals == nil {
		return nil
	}
	out := &signals.Approvals{Policy: s.Mode()}
	if s.Policy == nil {
		return out
	}
	for _, r := range s.Policy.Rules {
		rule := signals.Rule{ID: r.ID, Tool: r.Tool, Digest: r.Digest, UntilMS: r.UntilMS, By: r.By}
		for _, p := range r.Args {
			rule.Args = append(rule.Args, signals.Pattern{Arg: p.Name, Pattern: p.Pattern})
		}
		out.Rules = append(out.Rules, rule)
	}
	return out
}
