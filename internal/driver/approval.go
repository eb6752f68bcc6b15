package driver

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// afterGate acts on a gate's verdict. See spec §4.8, pipeline 2–4.
func (d *Driver) afterGate(c *Call, out work.ToolOut) {
	switch {
	case d.stopped(): // X11
		d.finish(c, d.unstarted())
	case out.Verdict == work.Allow:
		c.State = CallCleared
	case out.Verdict == work.Ask:
		d.ask(c, out)
	case out.Verdict == work.Deny:
		d.executed(c, out, c.Posted)
	case out.Verdict == work.Fault && out.IsError:
		d.finish(c, out)
	default: // no verdict: the call must not run
		d.finish(c, gateFailed("it gave no verdict"))
	}
}

// ask waits for a person, unless the policy knows the answer; either way it is logged.
func (d *Driver) ask(c *Call, out work.ToolOut) {
	s := d.state
	c.Ask = &Wait{ID: fmt.Sprintf("%d.%d.%s", s.Turn, s.Step, c.ID), Digest: out.Digest, Reason: gist(out.Reason)}
	d.feature("approval/asked", c.asked(map[string]any{"turn": s.Turn, "step": s.Step, "callId": c.ID, "id": c.Ask.ID,
		"reason": clip(out.Reason), "deadlineMs": out.DeadlineMS}))
	if v := d.judge(c); v.outcome != "" {
		d.settle(c, v)
		return
	}
	d.await(c, out.DeadlineMS)
	d.notify("approval/asked", map[string]any{"id": c.Ask.ID, "tool": c.Name, "reason": clip(out.Reason)})
	d.tellWait(c)
}

// asked adds what a person must see, and what the decision will be bound to. Workers of before rules on digests say less.
func (c *Call) asked(data map[string]any) map[string]any {
	if c.Ask.Digest == "" {
		return data
	}
	data["tool"], data["digest"] = c.Name, c.Ask.Digest
	if c.Blob != nil {
		data["argumentsBlob"] = c.Blob
	} else {
		data["arguments"] = c.Arguments
	}
	return data
}

// The outcomes of an approval.
const (
	granted   = "granted"
	rejected  = "rejected"
	expired   = "expired"
	cancelled = "cancelled"

	replied = "answered" // a question, or a call of a program
)

// A verdict is an outcome and how it came about.
type verdict struct {
	outcome    string
	by, reason string
	via        string          // viaPolicy, viaRule; empty: a person, a deadline or a cancel, as the outcome says
	rule       string          // that let it run, or that is remembered from now on
	arguments  json.RawMessage // a person's, in the place of the model's
}

// onDecided takes a person's answer. A decision about nothing that waits changes nothing. See spec §4.8, pipeline 2.
func (d *Driver) onDecided(in Decided) {
	if d.seen(in.Ref, in.Request, in.ID) || d.closed(in.Ref, in.ID) {
		return
	}
	c := d.asking(func(w *Wait) bool { return w.ID == in.ID && w.Kind == "" })
	if code, why := d.undecidable(c, in); code != "" {
		d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Refused, Code: code, Message: why})
		return
	}
	if len(in.Arguments) > 0 {
		d.check(c, Checking{Ref: in.Ref, Request: in.Request, By: in.By, Reason: in.Reason},
			work.Said{Kind: work.WaitApproval, Arguments: in.Arguments})
		return
	}
	d.remember(in.Request)
	v := verdict{outcome: rejected, by: in.By, reason: in.Reason}
	if in.Grant {
		v.outcome = granted
	}
	if in.Remember != nil {
		v.rule = d.rememberRule(c, *in.Remember, in.By)
	}
	d.settle(c, v)
	d.rejudge() // a rule may let others run
	d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Done})
}

// undecidable says why a decision cannot be taken.
func (d *Driver) undecidable(c *Call, in Decided) (code, why string) {
	switch {
	case c == nil:
		return RefusedUnknownCall, fmt.Sprintf("no call waits for a decision under the id %.80q: it may be decided, expired or cancelled", in.ID)
	case c.State == CallChecking:
		return RefusedBusy, fmt.Sprintf("another decision about %.80q is being checked: ask again", in.ID)
	case in.Digest != "" && in.Digest != c.Ask.Digest:
		return RefusedStale, fmt.Sprintf("the decision is about other arguments: %.80q waits with digest %s", in.ID, c.Ask.Digest)
	case !in.Grant && (len(in.Arguments) > 0 || in.Remember != nil):
		return RefusedInvalid, "who denies a call gives no arguments, and nothing to remember"
	case in.Remember == nil:
		return "", ""
	case len(in.Arguments) > 0:
		return RefusedInvalid, "a call whose arguments were changed cannot be remembered: decide without one of them"
	case c.Ask.Digest == "":
		return RefusedInvalid, "the call was asked about by a worker that knows no rules: decide without remember"
	}
	return d.noRule(*in.Remember, c.Name)
}

// settle ends an approval: it is logged and the call goes on, or does not. See spec §4.8, pipeline 2.
func (d *Driver) settle(c *Call, v verdict) {
	d.decided(c, v)
	if v.outcome == granted {
		if c.Ask.Digest != "" {
			c.Approved = &work.Approved{Digest: c.Ask.Digest, Arguments: v.arguments}
		}
		c.State, c.Ask = CallCleared, nil
		return
	}
	why := "the approver rejected this call"
	switch {
	case v.outcome == expired:
		why = "nobody decided about this call in time"
	case v.via == viaPolicy:
		why = "this call needs an approval, and the agent's policy is that nobody is asked"
	}
	d.executed(c, denied(why, v.reason), c.Posted)
}

// decided logs the decision and stops the wait.
func (d *Driver) decided(c *Call, v verdict) {
	d.stopWaiting(c)
	data := map[string]any{"id": c.Ask.ID, "callId": c.ID, "outcome": v.outcome, "by": clip(v.by), "reason": clip(v.reason)}
	if c.Ask.Digest != "" {
		data["digest"] = c.Ask.Digest
		if len(v.arguments) > 0 {
			data["edited"] = v.arguments
		}
		if v.via != "" {
			data["via"] = v.via
		}
		if v.rule != "" {
			data["rule"] = v.rule
		}
	}
	d.feature("approval/decided", data)
	d.tellDecided(c, v)
}

// denied is the result of a call that must not run. See spec §4.8, pipeline 4.
func denied(why, reason string) work.ToolOut {
	if reason != "" {
		why += ": " + clip(reason)
	}
	return work.ToolOut{IsError: true, Content: session.TextContent("Error: " + why)}
}

// feature logs an event that a feature owns.
func (d *Driver) feature(kind string, data map[string]any) {
	d.log(session.Feature{Kind: kind, Data: encode(data)})
}

// encode writes plain data; strings, numbers and sorted keys always can be written.
func encode(data map[string]any) json.RawMessage {
	raw, err := json.Marshal(data)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}
