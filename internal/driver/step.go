package driver

import (
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// startStep lends the log to a Step. See spec §4.4–4.7.
func (d *Driver) startStep(mode, lost string) {
	s := d.state
	id := d.effectID("step")
	tail := s.Log.lend(id, len(s.Log.Tail), true)
	s.Phase, s.Awaiting, s.Settling = Stepping, id, mode == work.StepSettle
	d.effect(StartStep{In: work.StepIn{
		ID: id, Ident: s.ident(), Mode: mode, Turn: s.Turn, Step: d.proposed(), Attempt: s.Attempt,
		Head: s.Log.Head, Tail: tail, Batch: s.Batch, Owed: s.Owed, Assembly: s.Assembly, Lost: lost, Now: d.now,
	}})
}

// proposed is the number of the step that runs or is proposed.
func (d *Driver) proposed() int {
	if d.state.StepOpen {
		return d.state.Step
	}
	return d.state.Step + 1
}

// onStepDone takes over what the Step logged and decides by its outcome.
func (d *Driver) onStepDone(in StepDone) {
	s := d.state
	if in.ID != s.Awaiting || s.Phase != Stepping || !d.echoFits(in.ID, in.Out.Echo, in.Out.Head) {
		return
	}
	out := in.Out
	d.giveBack(out.Head)
	s.Awaiting, s.Settling = "", false
	if out.Assembly != "" {
		s.Assembly = out.Assembly
	}
	d.learn(out.Worker, out.Model)
	if out.Entered && !s.StepOpen {
		s.Step, s.StepOpen = d.proposed(), true
	}
	if out.Committed {
		d.settleBatch(out.Users)
	}
	d.acts(out.Acts)
	d.afterStep(out)
}

// learn notes what a worker says of itself. See architecture A3.12.
func (d *Driver) learn(w work.Worker, model string) {
	d.state.Rules = max(d.state.Rules, w.Rules)
	if model != "" {
		d.state.Model = model
	}
}

// settleBatch gives up the claimed messages that a gate kept out of the step.
func (d *Driver) settleBatch(users []string) {
	s := d.state
	var out []string
	for _, id := range s.Batch {
		if !contains(users, id) {
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
			d.onSent(Sent{Message: *a.Message, Bytes: len(a.Message.Text()), Target: a.Target, Wakeup: a.Wakeup})
		case a.Kind == work.ActCancel && a.Cause != nil:
			d.onCancel(CancelAsked{Cause: *a.Cause, KeepInbox: a.KeepInbox, Via: ViaAPI, By: "plugin"})
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
			d.failTurn(&session.Failure{Code: work.CodeAborted, Message: "the step was cancelled from outside the agent"})
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
	for _, c := range out.Calls {
		s.Calls = append(s.Calls, Call{Call: c})
	}
	switch {
	case len(s.Calls) > 0:
		s.Phase = Tools
	case out.Interrupted && s.Cancelled == nil: // the activity itself was cancelled from outside the agent
		d.failTurn(&session.Failure{Code: work.CodeAborted, Message: "the step was cancelled from outside the agent"})
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
		d.startStep(work.StepRun, "")
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
	s.Retry = &Retry{ID: id, Number: r.Retry, DueMS: d.now + r.DelayMS}
	s.Phase = Retrying
	s.Awaiting = d.timer("retry", r.DelayMS, fmt.Sprintf("retry %d after %s", r.Retry, f.Code))
}

// onRetryDue starts the next attempt.
func (d *Driver) onRetryDue() {
	s := d.state
	if s.Phase != Retrying {
		return
	}
	d.log(session.LLMRetryStarted{RetryID: s.Retry.ID, Turn: s.Turn, Step: s.Step, Retry: s.Retry.Number})
	s.Retry = nil
	s.Attempt++
	d.startStep(work.StepRun, "")
}

// onStepLost settles what the lost Step left, or gives up if the settling is lost too. See architecture A3.6.
func (d *Driver) onStepLost(in StepLost) {
	s := d.state
	if in.ID != s.Awaiting || s.Phase != Stepping {
		return
	}
	waiting := s.Log.Waiting
	s.Log.Waiting = nil
	d.giveBack(s.Log.Head)
	if s.Settling {
		d.restore(waiting)
		s.Awaiting, s.Settling = "", false
		d.failTurn(&session.Failure{Code: work.CodeWorkerLost, Message: "the step was lost, and so was its settlement: " + in.Message})
		return
	}
	d.startStep(work.StepSettle, string(in.Why))
	s.Log.Waiting = waiting
}

// restore gives seqs to events that waited for a writer that is gone.
func (d *Driver) restore(waiting []session.Record) {
	d.state.Log.Waiting = waiting
	d.giveBack(d.state.Log.Head)
}

func failureOf(f *session.Failure) *session.Failure {
	if f == nil {
		return &session.Failure{Code: work.CodeUnknown, Message: "no reason was given"}
	}
	return f
}
