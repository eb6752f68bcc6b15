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

// ask waits for a person: the call is data, holds no worker and survives a rollover. See architecture A3.7.
func (d *Driver) ask(c *Call, out work.ToolOut) {
	s := d.state
	c.State = CallAsking
	c.Ask = &Approval{ID: fmt.Sprintf("%d.%d.%s", s.Turn, s.Step, c.ID)}
	if out.DeadlineMS > 0 {
		c.Ask.DueMS = d.now + out.DeadlineMS
		c.Ask.Timer = d.timer("approval", out.DeadlineMS, "approval of "+c.Name)
	}
	d.feature("approval/asked", map[string]any{"turn": s.Turn, "step": s.Step, "callId": c.ID, "id": c.Ask.ID,
		"reason": clip(out.Reason), "deadlineMs": out.DeadlineMS})
	d.notify("approval/asked", map[string]any{"id": c.Ask.ID, "tool": c.Name, "reason": clip(out.Reason)})
}

// The outcomes of an approval.
const (
	granted   = "granted"
	rejected  = "rejected"
	expired   = "expired"
	cancelled = "cancelled"
)

// onDecided takes a person's answer. A decision about nothing that waits changes nothing. See spec §4.8, pipeline 2.
func (d *Driver) onDecided(in Decided) {
	if d.seen(in.Ref, in.Request, in.ID) || d.closed(in.Ref, in.ID) {
		return
	}
	c := d.asking(func(a *Approval) bool { return a.ID == in.ID })
	if c == nil {
		d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Refused, Code: RefusedUnknownCall,
			Message: fmt.Sprintf("no call waits for a decision under the id %.80q: it may be decided, expired or cancelled", in.ID)})
		return
	}
	d.remember(in.Request)
	if in.Grant {
		d.decided(c, granted, in.By, in.Reason)
		c.State, c.Ask = CallCleared, nil
	} else {
		d.decided(c, rejected, in.By, in.Reason)
		d.executed(c, denied("the approver rejected this call", in.Reason), c.Posted)
	}
	d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Done})
}

// onApprovalDue denies: expiry never runs the tool. See architecture A3.7.
func (d *Driver) onApprovalDue(timer string) {
	c := d.asking(func(a *Approval) bool { return a.Timer == timer })
	if c == nil {
		return
	}
	c.Ask.Timer = ""
	d.decided(c, expired, "", "")
	d.executed(c, denied("nobody decided about this call in time", ""), c.Posted)
}

func (d *Driver) asking(which func(*Approval) bool) *Call {
	for i := range d.state.Calls {
		if c := &d.state.Calls[i]; c.State == CallAsking && which(c.Ask) {
			return c
		}
	}
	return nil
}

// decided logs the decision and stops the deadline.
func (d *Driver) decided(c *Call, outcome, by, reason string) {
	if c.Ask.Timer != "" {
		d.effect(CancelEffect{ID: c.Ask.Timer})
	}
	d.feature("approval/decided", map[string]any{"id": c.Ask.ID, "callId": c.ID, "outcome": outcome, "by": clip(by), "reason": clip(reason)})
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

// abortCalls stops what runs and answers what waits for a person. See spec §5 X10, X11.
func (d *Driver) abortCalls() {
	for i := range d.state.Calls {
		c := &d.state.Calls[i]
		switch c.State {
		case CallAsking:
			d.decided(c, cancelled, "", "")
			d.finish(c, abortedBeforeDispatch())
		case CallCleared:
			d.finish(c, abortedBeforeDispatch())
		case CallDelegated:
			d.abandon(c, afterCancel(work.ToolOut{}))
		case CallGating, CallRunning, CallPosting: // all gates see the signal, §3.4.6
			if !c.Settle {
				d.effect(CancelEffect{ID: c.Effect})
			}
		}
	}
}

// rollWhileAsking lets the state move to a new run while calls only wait for people. See architecture A3.11.
func (d *Driver) rollWhileAsking() bool {
	s := d.state
	if !s.rolls() || d.busy() || d.meetsChild() || s.Log.Lent != "" {
		return false
	}
	if len(s.Log.Tail) > 0 && s.Log.Broken == "" {
		d.persist(false)
		return false
	}
	s.Rolling = true
	return false
}
