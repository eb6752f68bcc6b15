package driver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// attempt starts the step's next attempt as soon as the log is free and the tail is short. See spec §4.7.4, architecture
// A3.4.
func (d *Driver) attempt() bool {
	s := d.state
	switch {
	case s.Awaiting != "":
		return false
	case s.Cancelled != nil:
		d.abortTurn()
		return true
	case s.Log.Lent != "":
		return false
	case s.Log.Bytes > work.TailLimit:
		return d.shorten()
	case d.savesHistory():
		d.persist(false)
		return false
	default:
		d.startStep()
		return false
	}
}

// startStep lends the log to a Step. See spec §4.4–4.7.
func (d *Driver) startStep() {
	s := d.state
	id := d.effectID("step")
	s.Log.lend(id, len(s.Log.Tail), true)
	s.Phase, s.Awaiting = Stepping, id
	d.effect(StartStep{In: d.stepIn(work.StepRun, "")})
}

// settleStep hands the loan of a lost Step to one that settles it: the same head and tail, no gates, no provider. What
// waits for its seq goes on waiting. See architecture A3.6.
func (d *Driver) settleStep(why Lost) {
	s := d.state
	id := d.effectID("step")
	s.Log.Lent, s.Awaiting, s.Settling = id, id, true
	d.effect(StartStep{In: d.stepIn(work.StepSettle, string(why))})
}

func (d *Driver) stepIn(mode, lost string) work.StepIn {
	s := d.state
	return work.StepIn{
		ID: s.Awaiting, Ident: s.ident(), Mode: mode, Turn: s.Turn, Step: d.proposed(), Attempt: s.Attempt,
		Head: s.Log.Head, Tail: s.Log.lent(), Batch: slices.Clone(s.Batch), Owed: s.Owed, Assembly: s.Assembly, Lost: lost, Now: d.now,
		Rerouted: s.Rerouted, Plan: s.Plan,
	}
}

// proposed is the number of the step that runs or is proposed.
func (d *Driver) proposed() int {
	if d.state.StepOpen {
		return d.state.Step
	}
	return d.state.Step + 1
}

// onStepDone takes over what the Step logged and decides by its outcome. See spec §4.4.6, §4.7.
func (d *Driver) onStepDone(in StepDone) {
	s := d.state
	if in.ID == "" || in.ID != s.Awaiting || s.Phase != Stepping {
		return
	}
	out := in.Out
	settled := out.Outcome == work.StepMessage || out.Outcome == work.StepAttempt
	committed := out.Committed || settled // §4.5.7
	entered := out.Entered || committed
	if !d.fits(in.ID, out.Echo, out.Head, entered && !s.StepOpen || settled, false) { // a later attempt may end with nothing to write
		return
	}
	d.giveBack(out.Head)
	s.Awaiting, s.Settling = "", false
	if out.Assembly != "" {
		s.Assembly = out.Assembly
	}
	d.learn(out.Worker, out.Model)
	d.spent(out.Usage)
	if entered && !s.StepOpen {
		s.Step, s.StepOpen = d.proposed(), true
	}
	if committed {
		s.Rerouted = false // the last header says it now
		d.settleBatch(out.Users)
	}
	d.acts(out.Acts)
	d.afterStep(out)
	s.Asked = 0
}

// learn notes what a worker says of itself. See architecture A3.12.
func (d *Driver) learn(w work.Worker, model string) {
	d.state.Rules = max(d.state.Rules, w.Rules)
	if w.Refresh != nil && w.Refresh.Digest != d.state.Manifest.Digest {
		d.state.Refresh = w.Refresh // from the next turn on
	}
	if model != "" {
		d.state.Model = model
	}
}

// spent adds up tokens, to be shown; the log has them step by step. Who wants to be told of a budget is told of each multiple
// that they pass.
func (d *Driver) spent(u *session.Usage) {
	if u == nil {
		return
	}
	sum := session.Usage{}
	if d.state.Usage != nil {
		sum = *d.state.Usage // views of the state may share it
	}
	before := tokens(sum)
	d.state.Usage = &session.Usage{InputTokens: sum.InputTokens + u.InputTokens, OutputTokens: sum.OutputTokens + u.OutputTokens,
		CacheReadTokens: sum.CacheReadTokens + u.CacheReadTokens, CacheWriteTokens: sum.CacheWriteTokens + u.CacheWriteTokens,
		ReasoningTokens: sum.ReasoningTokens + u.ReasoningTokens}
	budget, now := cmp.Or(d.state.Budget, d.state.Manifest.Budget), tokens(*d.state.Usage)
	if budget > 0 && before/budget < now/budget {
		d.tell(session.ToldBudget, work.TellIn{Spent: &work.Spent{Tokens: now, Budget: budget}})
	}
}

// tokens is the sum of all counts, which are disjoint. See spec §2.3.
func tokens(u session.Usage) int64 {
	return u.InputTokens + u.OutputTokens + u.CacheReadTokens + u.CacheWriteTokens + u.ReasoningTokens
}

// settleBatch gives up the claimed messages that a gate kept out of the step.
func (d *Driver) settleBatch(users []string) {
	s := d.state
	var out []string
	for _, id := range s.Batch {
		if !slices.Contains(users, id) {
			out = append(out, id)
		}
	}
	s.Batch = out
	d.drop("rewritten")
}

// acts applies what gates, hooks and tools asked for, before the answer that carries it. See architecture A3.8.
func (d *Driver) acts(acts []work.Act) {
	for _, a := range acts {
		switch {
		case a.Kind == work.ActSend && a.Message != nil:
			d.onSent(Sent{Message: *a.Message, Bytes: bodySize(*a.Message), Target: a.Target, Wakeup: a.Wakeup})
		case a.Kind == work.ActCancel && a.Cause != nil:
			d.onCancel(CancelAsked{Cause: *a.Cause, KeepInbox: a.KeepInbox, Via: ViaAPI, By: "plugin"})
		case a.Kind == work.ActSpawn && a.Child != nil:
			d.onSpawn(SpawnAsked{Child: *a.Child})
		case a.Kind == work.ActPlan:
			d.onPlan(PlanAsked{On: a.On, By: "plugin"})
		}
	}
}

// afterStep decides by the outcome. See spec §4.4.6, §4.7.3.
func (d *Driver) afterStep(out work.StepOut) {
	s := d.state
	switch out.Outcome {
	case work.StepMessage:
		d.afterMessage(out)
	case work.StepAttempt:
		d.afterAttempt(out)
	case work.StepCancelled:
		if s.Cancelled == nil { // somebody cancelled the activity itself
			d.failTurn(outside(out.Failure))
			return
		}
		d.abortTurn()
	case work.StepRejected:
		d.notEntered("blocked", session.TurnReason{Kind: session.TurnBlocked}, false)
	case work.StepEmpty:
		d.notEntered("rewritten", session.TurnReason{}, s.Step > 0)
	default: // StepFailed
		d.failTurn(failureOf(out.Failure))
	}
}

// notEntered ends the turn whose proposed step was not entered. A turn that owes nothing leaves its loop normally.
// See spec §4.4.6.
func (d *Driver) notEntered(why string, reason session.TurnReason, normal bool) {
	switch {
	case d.state.Cancelled != nil:
		d.abortTurn()
	case normal:
		d.drop(why)
		d.completeTurn()
	default:
		d.drop(why)
		if reason.Kind == "" {
			reason.Kind = session.TurnCompleted
		}
		d.endTurn(reason, false)
	}
}

// afterMessage runs the tools of a message or ends the step. See spec §4.8.
func (d *Driver) afterMessage(out work.StepOut) {
	s := d.state
	if out.Finish == session.FinishMaxTokens {
		s.Cut = true
	}
	s.Batch, s.Concluded, s.Calls = nil, false, nil
	if out.Finish != session.FinishMaxTokens && !out.Interrupted { // a cut message has no calls
		for _, c := range out.Calls {
			s.Calls = append(s.Calls, Call{Call: c, Epoch: s.Asked})
		}
	}
	switch {
	case len(s.Calls) > 0:
		s.Phase = Tools
	case out.Interrupted && s.Cancelled == nil: // the activity itself was cancelled from outside the agent, or was lost
		d.failTurn(outside(out.Failure))
	default:
		d.stepOver(false)
	}
}

// afterAttempt retries or ends the turn. See spec §4.7.4.
func (d *Driver) afterAttempt(out work.StepOut) {
	s := d.state
	r := out.Recovery
	switch {
	case s.Cancelled != nil:
		d.abortTurn()
	case r == nil:
		d.failTurn(failureOf(out.Failure))
	case r.Mode == "": // a gate decided: no wait, no entry
		s.Attempt++
	default:
		d.waitForRetry(*r, failureOf(out.Failure))
	}
}

// waitForRetry logs llm/retry and starts the durable wait. See spec §4.7.6.
func (d *Driver) waitForRetry(r work.Recovery, f *session.Failure) {
	s := d.state
	id := fmt.Sprintf("retry-%d.%d-%d", s.Turn, s.Step, s.Attempt)
	d.log(session.LLMRetry{RetryID: id, Turn: s.Turn, Step: s.Step, Provider: r.Provider, Mode: r.Mode, Policy: r.Policy,
		Failure: *f, DelayMS: r.DelayMS, Retry: r.Retry, Maximum: r.Maximum})
	s.Retry = &Retry{ID: id, Number: r.Retry, DueMS: d.now + r.DelayMS, After: f.Code}
	s.Phase = Retrying
	s.Awaiting = d.timer("retry", r.DelayMS, fmt.Sprintf("retry %d after %s", r.Retry, f.Code))
}

// onRetryDue starts the next attempt. See spec §4.7.6.
func (d *Driver) onRetryDue() {
	s := d.state
	if s.Phase != Retrying {
		return
	}
	d.log(session.LLMRetryStarted{RetryID: s.Retry.ID, Turn: s.Turn, Step: s.Step, Retry: s.Retry.Number})
	s.Phase, s.Awaiting, s.Retry = Stepping, "", nil
	s.Attempt++
}

// onStepLost settles what the lost Step left, or gives up if the settling is lost too: then nothing of the Step counts.
// See architecture A3.6.
func (d *Driver) onStepLost(in StepLost) {
	s := d.state
	if in.ID == "" || in.ID != s.Awaiting || s.Phase != Stepping {
		return
	}
	s.Asked = 0
	if !s.Settling {
		d.settleStep(in.Why)
		return
	}
	d.giveBack(s.Log.Head)
	s.Awaiting, s.Settling = "", false
	d.failTurn(failureOf(&session.Failure{Code: work.CodeWorkerLost, Message: "the step was lost, and so was its settlement: " + in.Message}))
}

// outside is the failure of a step that was stopped by somebody other than the agent.
func outside(f *session.Failure) *session.Failure {
	if f == nil {
		f = &session.Failure{Code: work.CodeAborted, Message: "the step was cancelled from outside the agent"}
	}
	return failureOf(f)
}

// failureOf is a failure that can be logged: it has a code, and its message is short.
func failureOf(f *session.Failure) *session.Failure {
	if f == nil {
		return &session.Failure{Code: work.CodeUnknown, Message: "no reason was given"}
	}
	out := *f
	out.Message = clip(out.Message)
	if out.Code == "" {
		out.Code = work.CodeUnknown
	}
	return &out
}

// clip makes a text from outside fit for the log: valid, and not longer than what is kept inline.
func clip(text string) string { return clipTo(text, work.InlineLimit) }

// gist is a text as the state keeps it for people to see.
func gist(text string) string { return clipTo(text, 200) }

func clipTo(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
