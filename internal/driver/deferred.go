package driver

import (
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// A call may wait for somebody outside of the agent: a person who decides, people who answer, a program that runs it. It
// is data then, holds no worker and survives rollovers; an act that names the wait, its deadline or a cancel ends it. See
// architecture A3.7.

// deferCall lets a call whose body has handed it to somebody wait for that.
func (d *Driver) deferCall(c *Call, out work.ToolOut) {
	s := d.state
	if d.stopped() {
		d.finish(c, d.unstarted())
		return
	}
	suffix, kind := ".answer", "question/asked"
	if out.Defer.Kind == work.WaitClient {
		suffix, kind = ".result", "client/called"
	}
	c.Ask = &Wait{ID: fmt.Sprintf("%d.%d.%s%s", s.Turn, s.Step, c.ID, suffix), Kind: out.Defer.Kind, Questions: out.Defer.Questions}
	d.await(c, out.DeadlineMS)
	data := map[string]any{"turn": s.Turn, "step": s.Step, "callId": c.ID, "id": c.Ask.ID, "tool": c.Name, "deadlineMs": out.DeadlineMS}
	if len(out.Defer.Questions) > 0 {
		data["questions"] = out.Defer.Questions
	}
	d.feature(kind, data)
	d.notify(kind, data)
	d.tellWait(c)
}

// await begins the wait.
func (d *Driver) await(c *Call, deadlineMS int64) {
	c.State = CallAsking
	if deadlineMS > 0 {
		c.Ask.DueMS = d.now + deadlineMS
		c.Ask.Timer = d.timer("approval", deadlineMS, c.awaited())
	}
}

// awaited says in the Temporal UI what the deadline is of.
func (c *Call) awaited() string {
	switch c.Ask.Kind {
	case work.WaitQuestion:
		return "answer to " + c.Name
	case work.WaitClient:
		return "result of " + c.Name
	default:
		return "approval of " + c.Name
	}
}

// asking is the call that waits as which says.
func (d *Driver) asking(which func(*Wait) bool) *Call {
	for i := range d.state.Calls {
		if c := &d.state.Calls[i]; c.waits() && which(c.Ask) {
			return c
		}
	}
	return nil
}

// stopWaiting stops the deadline, and tells whoever was about to end the wait that it is over.
func (d *Driver) stopWaiting(c *Call) {
	if c.Ask.Timer != "" {
		d.effect(CancelEffect{ID: c.Ask.Timer})
		c.Ask.Timer = ""
	}
	if c.State != CallChecking {
		return
	}
	d.effect(CancelEffect{ID: c.Effect})
	d.replyLate(c.Ask.Checking.Ref, Receipt{ID: c.Ask.ID, Disposition: Refused, Code: RefusedUnknownCall,
		Message: fmt.Sprintf("%.80q waits no longer: it was ended while the answer was being checked", c.Ask.ID)})
	c.Effect, c.Ask.Checking = "", nil
}

// onAnswered takes answers, or the result of a program. What waits for nothing of the kind changes nothing. See
// architecture A3.7.
func (d *Driver) onAnswered(in Answered) {
	if d.seen(in.Ref, in.Request, in.ID) || d.closed(in.Ref, in.ID) {
		return
	}
	c := d.asking(func(w *Wait) bool { return w.ID == in.ID && w.Kind == in.Said.Kind })
	refuse := func(code, why string) {
		d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Refused, Code: code, Message: why})
	}
	switch {
	case c == nil:
		refuse(RefusedUnknownCall, fmt.Sprintf("no call waits for this under the id %.80q: it may be answered, expired or cancelled", in.ID))
	case c.State == CallChecking:
		refuse(RefusedBusy, fmt.Sprintf("another answer to %.80q is being checked: ask again", in.ID))
	default:
		said := in.Said
		said.Questions = c.Ask.Questions
		d.check(c, Checking{Ref: in.Ref, Request: in.Request, By: in.By}, said)
	}
}

// check lets a worker look at what was said, since it knows the tool; nothing is decided before. A batch does not wait for
// that.
func (d *Driver) check(c *Call, by Checking, said work.Said) {
	if d.replies > 0 {
		d.reply(by.Ref, Receipt{ID: c.Ask.ID, Disposition: Refused, Code: RefusedInvalid,
			Message: "a worker checks this before it counts: send it by itself, and not in a batch"})
		return
	}
	by.Said = said
	d.needs(rulesPeople)
	c.Ask.Checking = &by
	c.State, c.Effect = CallChecking, d.effectID("tool")
	in := d.toolIn(c, work.ToolCheck)
	in.Said = &said
	d.effect(StartTool{In: in})
}

// onChecked goes on with what was said if it fits the call; else the call waits on. See architecture A3.7.
func (d *Driver) onChecked(c *Call, out work.ToolOut) {
	by := *c.Ask.Checking
	c.State, c.Ask.Checking = CallAsking, nil
	if d.stopped() { // by what a gate asked for meanwhile
		d.replyLate(by.Ref, Receipt{ID: c.Ask.ID, Disposition: Refused, Code: RefusedUnknownCall, Message: "the call was ended while the answer was being checked"})
		d.abandonWait(c, d.unstarted())
		return
	}
	if out.Verdict == work.Allow && by.Said.Kind == work.WaitApproval && out.Digest == "" {
		out.Verdict, out.Reason = work.Deny, "nobody said what the decision is about" // it must not run with the arguments of before
	}
	if out.Verdict != work.Allow {
		d.replyLate(by.Ref, Receipt{ID: c.Ask.ID, Disposition: Refused, Code: RefusedInvalid, Message: clip(out.Reason)})
		return
	}
	d.remember(by.Request)
	d.replyLate(by.Ref, Receipt{ID: c.Ask.ID, Disposition: Done})
	if by.Said.Kind == work.WaitApproval {
		c.Ask.Digest = out.Digest
		d.settle(c, verdict{outcome: granted, by: by.By, reason: by.Reason, arguments: by.Said.Arguments})
		return
	}
	d.stopWaiting(c)
	d.answered(c, by)
	out.Verdict, out.Digest, out.Reason = "", "", ""
	d.afterBody(c, out)
}

// uncheckedAnswer lets the call wait on if nobody could look at what was said.
func (d *Driver) uncheckedAnswer(c *Call, why string) {
	c.Effect = ""
	d.onChecked(c, work.ToolOut{Verdict: work.Deny, Reason: "it could not be checked: " + why})
}

// answered logs what ended a wait for answers or for a program's result, which itself is in the tool/result.
func (d *Driver) answered(c *Call, by Checking) {
	data := map[string]any{"id": c.Ask.ID, "callId": c.ID, "by": clip(by.By)}
	if c.Ask.Kind == work.WaitClient {
		data["isError"] = by.Said.IsError
		d.feature("client/answered", data)
	} else {
		data["answers"] = by.Said.Answers
		d.feature("question/answered", data)
	}
	d.tellEnded(c, work.WaitEnded{Outcome: replied, By: gist(by.By)})
}

// onWaitDue ends a wait that nobody ended in time: expiry never runs the tool. See architecture A3.7.
func (d *Driver) onWaitDue(timer string) {
	c := d.asking(func(w *Wait) bool { return w.Timer == timer })
	if c == nil {
		return
	}
	c.Ask.Timer = ""
	if c.Ask.Kind == "" {
		d.settle(c, verdict{outcome: expired})
		return
	}
	d.unanswered(c, expired)
	d.executed(c, noAnswer(c), c.Posted)
}

// unanswered logs that a wait ended without an answer.
func (d *Driver) unanswered(c *Call, outcome string) {
	d.stopWaiting(c)
	kind := "question/expired"
	if c.Ask.Kind == work.WaitClient {
		kind = "client/expired"
	}
	d.feature(kind, map[string]any{"id": c.Ask.ID, "callId": c.ID, "outcome": outcome})
	d.tellEnded(c, work.WaitEnded{Outcome: outcome})
}

// noAnswer is the result of a call that nobody answered.
func noAnswer(c *Call) work.ToolOut {
	text := "Error: nobody answered in time. Go on without the answer, or say what is missing."
	if c.Ask.Kind == work.WaitClient {
		text = "Error: the program that runs this tool gave no result in time. It may have run."
	}
	return work.ToolOut{IsError: true, Content: session.TextContent(text), Error: &session.CodedError{Name: "NoAnswerError", Code: work.CodeNoAnswer}}
}

// abandonWait ends a wait because no call may go on any more; out is what the call comes to if nobody had decided whether
// it may run.
func (d *Driver) abandonWait(c *Call, out work.ToolOut) {
	switch {
	case c.Ask.Kind == "":
		d.decided(c, verdict{outcome: cancelled})
		d.finish(c, out)
		return
	case d.state.Cancelled != nil:
		out = afterCancel(work.ToolOut{})
	case c.Ask.Kind == work.WaitClient: // its program may have begun
		out = unknownOutcome()
	}
	d.unanswered(c, cancelled)
	d.finish(c, out)
}

// abortCalls stops what runs and answers what waits for somebody. See spec §5 X10, X11.
func (d *Driver) abortCalls() {
	for i := range d.state.Calls {
		c := &d.state.Calls[i]
		switch c.State {
		case CallAsking, CallChecking:
			d.abandonWait(c, abortedBeforeDispatch())
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

// waitsResumed arms the deadlines again in a new run.
func (d *Driver) waitsResumed() {
	for i := range d.state.Calls {
		if c := &d.state.Calls[i]; c.Ask != nil && c.Ask.DueMS > 0 {
			c.Ask.Timer = d.timer("approval", max(0, c.Ask.DueMS-d.now), c.awaited())
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
