package inworkflow

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/workflow"
)

// An Agent is the handle of one agent. It is made by [Start] or [Get], and may be handed to another run as JSON.
type Agent struct {
	ID            string `json:"id"`
	TaskQueue     string `json:"taskQueue"`
	WhenCancelled Act    `json:"whenCancelled,omitempty"`
}

// An Answer is what became of one message; its method Err says whether the turn ended normally.
type Answer = signals.Answer

// Ask sends a followup and waits for the answer to it.
func (a Agent) Ask(ctx workflow.Context, text string) (Answer, error) {
	id, err := a.Followup(ctx, signals.Send{Text: text})
	if err != nil {
		return Answer{}, err
	}
	return a.Await(ctx, id)
}

// Followup queues a message for a turn of its own and returns its id, which is made up if empty. The agent has it when the
// call returns. One that it has got before, by the ids of message and request, it does not take again. See spec §3.1.
func (a Agent) Followup(ctx workflow.Context, m signals.Send) (id string, err error) {
	return a.send(ctx, signals.Followup, m)
}

// Steer lets a message join the running turn at its next step; when idle it opens a turn.
func (a Agent) Steer(ctx workflow.Context, m signals.Send) (id string, err error) {
	return a.send(ctx, signals.Steer, m)
}

// Inject adds context for whenever a step next claims; it never wakes. See spec §3.2.
func (a Agent) Inject(ctx workflow.Context, m signals.Send) (id string, err error) {
	return a.send(ctx, signals.Inject, m)
}

// send checks a message before anything is sent.
func (a Agent) send(ctx workflow.Context, act string, m signals.Send) (string, error) {
	d := deskOf(ctx)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	raw, err := json.Marshal(m)
	if err == nil {
		m, err = signals.DecodeSend(act, raw)
	}
	if err == nil && m.Conditional() {
		err = fmt.Errorf("%s: onlyIfIdle, expectedTurn and overlap reject need a receipt, which a workflow does not get: leave them out", act)
	}
	if err != nil {
		return "", &Error{Agent: a.ID, Code: signals.ErrInvalid, Message: err.Error()}
	}
	if m.ID == "" {
		m.ID = d.messageID()
	}
	if m.RequestID == "" {
		m.RequestID = m.ID
	}
	return m.ID, a.signal(ctx, act, m)
}

// Cancel stops the agent's turn; an idle agent is left alone. The cause is parent if c has none. It may be called on a
// context that is cancelled. See spec §3.4.
func (a Agent) Cancel(ctx workflow.Context, c signals.Cancel) error {
	if c.Cause == nil {
		c.Cause = &session.Cause{Kind: session.CauseParent}
	}
	if err := c.Validate(); err != nil {
		return &Error{Agent: a.ID, Code: signals.ErrInvalid, Message: err.Error()}
	}
	return a.signal(ctx, signals.CancelTurn, c)
}

// Dispose ends the agent; one that is gone already is an [*Error] of code GONE. It returns when the agent knows, and may be
// called on a context that is cancelled. See spec §6.3.
func (a Agent) Dispose(ctx workflow.Context) error {
	return a.signal(ctx, signals.DisposeAgent, signals.Dispose{})
}

// Release does what Options.WhenCancelled says if ctx is cancelled, and else nothing. Defer it: it covers every wait of the
// workflow, and what it does is done before the workflow ends.
func (a Agent) Release(ctx workflow.Context) {
	if ctx.Err() == nil {
		return
	}
	var err error
	switch a.WhenCancelled {
	case StopIt:
		err = a.Cancel(ctx, signals.Cancel{})
	case EndIt:
		err = a.Dispose(ctx)
	case LeaveIt:
	}
	if err != nil {
		workflow.GetLogger(ctx).Warn("agent not released", "session_id", a.ID, "error", err)
	}
}

// signal returns when the agent has the act, also if ctx is cancelled meanwhile: whether it was sent is never open.
func (a Agent) signal(ctx workflow.Context, act string, payload any) error {
	if !session.ValidID(a.ID) {
		return invalidID(a.ID)
	}
	free, _ := workflow.NewDisconnectedContext(ctx)
	return refusal(a.ID, workflow.SignalExternalWorkflow(free, a.ID, "", act, payload).Get(free, nil))
}
