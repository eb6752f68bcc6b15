package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// An Agent is the handle of one agent. It is safe for concurrent use and holds no state of its own.
type Agent struct {
	client *Client
	id     string
}

// ID is the session id, which is the workflow id.
func (a *Agent) ID() string { return a.id }

// A Message is what callers send. Exactly one of Text and Content is set; an empty ID is made up.
type Message struct {
	ID        string
	RequestID string // the same request is applied once; made up if empty
	Text      string
	Content   session.Content
	Source    *session.Source // the user if nil

	Overlap      string // of a followup that meets active work: queue, steer, interrupt, reject; see package signals
	OnlyIfIdle   bool   // else it is refused: PRECONDITION
	ExpectedTurn *int   // open, or opened last if the agent is idle; else it is refused: PRECONDITION
}

// Text is a message of plain text.
func Text(text string) Message { return Message{Text: text} }

// Named returns the message with its ids made up, for a caller that may send it more than once.
func (m Message) Named() Message {
	if m.ID == "" {
		m.ID = uuid.NewString()
	}
	if m.RequestID == "" {
		m.RequestID = uuid.NewString()
	}
	return m
}

func (m Message) send() signals.Send {
	return m.Named().fields()
}

func (m Message) fields() signals.Send {
	return signals.Send{ID: m.ID, RequestID: m.RequestID, Text: m.Text, Content: m.Content, Source: m.Source,
		Overlap: m.Overlap, OnlyIfIdle: m.OnlyIfIdle, ExpectedTurn: m.ExpectedTurn}
}

// Followup queues a message for a turn of its own and returns its id. It is durable on return. A message that the agent may
// refuse for what it does, as one with OnlyIfIdle, needs a worker to say so: a refusal is a [*RefusedError]. See spec §3.1.
func (a *Agent) Followup(ctx context.Context, m Message) (id string, err error) {
	return a.signal(ctx, signals.Followup, m.send())
}

// Steer lets a message join the running turn at its next step; when idle it opens a turn.
func (a *Agent) Steer(ctx context.Context, m Message) (id string, err error) {
	return a.signal(ctx, signals.Steer, m.send())
}

// Inject adds context for whenever a step next claims; it never wakes. See spec §3.2.
func (a *Agent) Inject(ctx context.Context, m Message) (id string, err error) {
	return a.signal(ctx, signals.Inject, m.send())
}

// Send inserts a message into a list, next-turn or next-step, and wakes the agent or not. See spec §3.1.
func (a *Agent) Send(ctx context.Context, m Message, target string, wakeup bool) (id string, err error) {
	s := m.send()
	s.Target, s.Wakeup = target, wakeup
	return a.signal(ctx, signals.SendTo, s)
}

func (a *Agent) signal(ctx context.Context, act string, s signals.Send) (string, error) {
	s, err := a.prepare(ctx, act, s)
	if err != nil {
		return "", err
	}
	if s.Conditional() {
		_, err := a.Act(ctx, act, s)
		return s.ID, err
	}
	return s.ID, a.wrap(act, a.client.Backend.Signal(ctx, a.id, act, s))
}

// prepare checks a message before anything is sent, and stores a large body.
func (a *Agent) prepare(ctx context.Context, act string, s signals.Send) (signals.Send, error) {
	s, err := a.client.body(ctx, s)
	if err != nil {
		return s, err
	}
	if act != signals.SendTo && s.Target == "" {
		s.Target = session.NextTurn // only for the check: the act decides
		defer func() { s.Target = "" }()
	}
	if err := s.Validate(act); err != nil {
		return s, &RefusedError{Code: signals.ErrInvalid, Message: err.Error()}
	}
	return s, nil
}

// Receipt sends a message as an update and returns what became of it. act is one of signals.Followup, Steer, Inject,
// SendTo. It needs a worker; a refusal is a [*RefusedError].
func (a *Agent) Receipt(ctx context.Context, act string, m Message, target string, wakeup bool) (signals.Receipt, error) {
	s := m.send()
	s.Target, s.Wakeup = target, wakeup
	s, err := a.prepare(ctx, act, s)
	if err != nil {
		return signals.Receipt{}, err
	}
	return a.Act(ctx, act, s)
}

// Act sends any act as an update and returns its receipt; a refusal is a [*RefusedError].
func (a *Agent) Act(ctx context.Context, act string, payload any) (signals.Receipt, error) {
	var r signals.Receipt
	if err := a.client.Backend.Update(ctx, a.id, act, payload, &r); err != nil {
		return r, a.wrap(act, err)
	}
	if r.Disposition == signals.Refused {
		return r, &RefusedError{Code: r.Code, Message: r.Message}
	}
	return r, nil
}

// CancelOptions refine a cancel. The zero value is the user's plain cancel.
type CancelOptions struct {
	Cause     session.Cause // user if empty
	KeepInbox bool          // pending input survives
	By, Text  string        // for the record
}

// Cancel stops the current turn; an idle agent is left alone. It is durable on return. A cause other than user, parent
// and hook is a [*RefusedError]. See spec §3.4.
func (a *Agent) Cancel(ctx context.Context, o CancelOptions) error {
	if err := o.payload().Validate(); err != nil {
		return &RefusedError{Code: signals.ErrInvalid, Message: err.Error()}
	}
	return a.wrap("cancel", a.client.Backend.Signal(ctx, a.id, signals.CancelTurn, o.payload()))
}

func (o CancelOptions) payload() signals.Cancel {
	c := signals.Cancel{RequestID: uuid.NewString(), KeepInbox: o.KeepInbox, By: o.By, Text: o.Text}
	if o.Cause.Kind != "" {
		c.Cause = &o.Cause
	}
	return c
}

// Roll lets the agent go on in a new run of its workflow as soon as nothing is open: an agent that Temporal pinned to a
// version of the workers moves to the current one. It is accepted when the call returns. See architecture A3.11, A3.15.
func (a *Agent) Roll(ctx context.Context) error {
	return a.wrap(signals.RollAct, a.client.Backend.Signal(ctx, a.id, signals.RollAct, signals.Roll{RequestID: uuid.NewString()}))
}

// Approve lets a call that waits for a person run. id is one of State.Deferred. Who comes late, second or with arguments that
// do not fit gets a [*RefusedError], and nothing has changed. See architecture A3.7.
func (a *Agent) Approve(ctx context.Context, id string, o DecisionOptions) error {
	_, err := a.Act(ctx, signals.Approve, o.payload(id))
	return err
}

// Deny refuses a call that waits for a person; the model is told why.
func (a *Agent) Deny(ctx context.Context, id string, o DecisionOptions) error {
	_, err := a.Act(ctx, signals.DenyCall, o.payload(id))
	return err
}

// DecisionOptions refine a decision. By and Reason are for the record.
type DecisionOptions struct {
	By, Reason string

	// Digest is what was looked at, see State.Deferred: if something else waits by now the decision is a [*RefusedError] with
	// the code STALE.
	Digest string
	// Arguments, of an approval, are executed in the place of the model's, who is told so: a JSON object that fits the tool.
	Arguments json.RawMessage
	// Remember, of an approval, lets such calls of the agent run without asking from now on.
	Remember *signals.Remember
}

func (o DecisionOptions) payload(id string) signals.Decision {
	return signals.Decision{RequestID: uuid.NewString(), ID: id, By: o.By, Reason: o.Reason, Digest: o.Digest, Arguments: o.Arguments, Remember: o.Remember}
}

// SetPolicy switches what becomes of calls that must be asked about, gives the agent rules and takes rules away. Calls that
// wait are judged anew before it returns: a relaxed policy lets them run, and [signals.PolicyNever] denies them.
func (a *Agent) SetPolicy(ctx context.Context, p signals.Policy) error {
	if p.RequestID == "" {
		p.RequestID = uuid.NewString()
	}
	_, err := a.Act(ctx, signals.SetPolicy, p)
	return err
}

// Plan switches plan mode on or off, from the next step on; by is for the record. See plugin.Definition.PlanFirst.
func (a *Agent) Plan(ctx context.Context, on bool, by string) error {
	_, err := a.Act(ctx, signals.PlanMode, signals.Plan{RequestID: uuid.NewString(), On: on, By: by})
	return err
}

// Maintain runs a named maintenance task, from idle only, and returns its result; its failure is a [*MaintenanceError].
// See spec §3.6.
func (a *Agent) Maintain(ctx context.Context, task string, args json.RawMessage) (json.RawMessage, error) {
	in := signals.Maintain{RequestID: uuid.NewString(), Task: task, Args: args}
	r, err := a.Act(ctx, signals.MaintainAct, in)
	if errors.Is(err, ErrNoWorker) && ctx.Err() == nil { // it takes longer than an update may wait
		r, err = a.maintained(ctx, in)
	}
	if err == nil && r.Failure != nil {
		err = &MaintenanceError{Task: task, Failure: *r.Failure}
	}
	return r.Result, err
}

// Configure changes the recorded data of the agent, from its next turn on. A change that the definition does not take is
// a [*RefusedError] with the code INVALID_SPEC, and changes nothing. See architecture A3.12.
func (a *Agent) Configure(ctx context.Context, c signals.Configure) error {
	if c.RequestID == "" {
		c.RequestID = uuid.NewString()
	}
	_, err := a.Act(ctx, signals.ConfigureAct, c)
	return err
}

// Recorded is the recorded data in force: what the agent was created with, and what was changed since. It needs a worker.
func (a *Agent) Recorded(ctx context.Context) (c signals.Create, err error) {
	s, err := a.State(ctx)
	if err != nil || s.Spec == "" {
		return c, err
	}
	raw, err := a.client.Store.Blob(ctx, s.Spec)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	return c, a.wrap("recorded data of", err)
}

// maintained waits for the result of a task that was asked for.
func (a *Agent) maintained(ctx context.Context, in signals.Maintain) (r signals.Receipt, err error) {
	err = a.poll(ctx, func() (bool, error) {
		s, err := a.State(ctx)
		if err != nil {
			return false, err
		}
		m := s.Maintenance
		if m == nil || m.Request != in.RequestID {
			return false, fmt.Errorf("maintain agent %s: %w: it is not known whether the task was begun", a.id, ErrNoWorker)
		}
		r.Result, r.Failure = m.Result, m.Failure
		return m.Done, nil
	})
	return r, err
}

// A MaintenanceError is the failure of a maintenance task, as the task gave it.
type MaintenanceError struct {
	Task    string
	Failure session.Failure
}

func (e *MaintenanceError) Error() string {
	return fmt.Sprintf("maintenance task %s: %s: %s", e.Task, e.Failure.Code, e.Failure.Message)
}

// Dispose ends the agent and returns when it has ended. See spec §6.3.
func (a *Agent) Dispose(ctx context.Context) error {
	err := a.client.Backend.Signal(ctx, a.id, signals.DisposeAgent, signals.Dispose{RequestID: uuid.NewString()})
	if err != nil && !errors.Is(err, ErrClosed) {
		return a.wrap("dispose", err)
	}
	return a.poll(ctx, func() (bool, error) {
		run, err := a.client.Backend.Describe(ctx, a.id)
		return err == nil && !run.Open, err
	})
}

// State is what the agent does and waits for. It needs a worker.
func (a *Agent) State(ctx context.Context) (signals.State, error) {
	var s signals.State
	return s, a.wrap("state", a.client.Backend.Query(ctx, a.id, signals.QueryState, nil, &s))
}

// WhenIdle returns when the agent is idle. It says nothing about any particular message. While no worker answers it
// goes on asking until ctx ends. See spec §3.5.
func (a *Agent) WhenIdle(ctx context.Context) error {
	_, err := a.whenIdle(ctx, signals.WhenIdle{})
	return err
}

// WhenIdleAfter returns when the agent came back to idle after the given generation, and the new one.
func (a *Agent) WhenIdleAfter(ctx context.Context, generation int64) (int64, error) {
	return a.whenIdle(ctx, signals.WhenIdle{After: &generation})
}

func (a *Agent) whenIdle(ctx context.Context, in signals.WhenIdle) (int64, error) {
	var out signals.Idle
	err := a.poll(ctx, func() (bool, error) {
		err := a.patient(a.client.Backend.Query(ctx, a.id, signals.QueryWhenIdle, in, &out))
		return out.Idle && err == nil, err
	})
	return out.Generation, a.wrap("whenIdle", err)
}

// born returns when the agent is born, or why it cannot be.
func (a *Agent) born(ctx context.Context) error {
	return a.poll(ctx, func() (bool, error) { return a.Born(ctx) })
}

// Born reports whether the agent is born. If it cannot be, the error is a [*CreateError].
func (a *Agent) Born(ctx context.Context) (bool, error) {
	run, err := a.client.Backend.Describe(ctx, a.id)
	if err != nil {
		return false, a.wrap("create", err)
	}
	if !run.Open && run.Status == "failed" {
		return false, &CreateError{Code: run.Code, Message: run.Reason}
	}
	var s signals.State
	if err := a.client.Backend.Query(ctx, a.id, signals.QueryState, nil, &s); err != nil {
		return false, a.wrap("create", err)
	}
	return s.Status != "creating", nil
}

// firstPoll is the pause after the first look.
const firstPoll = 5 * time.Millisecond

// poll asks again and again, at first quickly, until done, failed or given up. Beside a worker in the same process it asks
// when the agent says that a turn ended, that it is idle or gone.
func (a *Agent) poll(ctx context.Context, done func() (bool, error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	news := a.news(ctx)
	pause := firstPoll
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
			pause = firstPoll // it was said before it was so
		case <-time.After(pause):
			pause = min(pause*3/2, a.client.Poll)
		}
	}
}

// news gets something when the agent said, in this process, what somebody may wait for. Nil without a live feed.
func (a *Agent) news(ctx context.Context) <-chan struct{} {
	if a.client.Broker == nil {
		return nil
	}
	frames, news := a.client.Broker.Subscribe(ctx, a.id), make(chan struct{}, 1)
	go func() {
		for f := range frames {
			if !isNews(f) {
				continue
			}
			select {
			case news <- struct{}{}:
			default:
			}
		}
	}()
	return news
}

func isNews(f stream.Frame) bool {
	switch f.Name {
	case "agent/status", "agent/created", "agent/disposed", "client/called":
		return true
	case "session/event":
		var event struct {
			Type string `json:"type"`
		}
		return json.Unmarshal(f.Data, &event) == nil && event.Type == session.TurnEnd{}.Type()
	default:
		return false
	}
}

// patient takes the absence of a worker for something that passes.
func (a *Agent) patient(err error) error {
	if errors.Is(err, ErrNoWorker) {
		return nil
	}
	return err
}

func (a *Agent) wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s agent %s: %w", operation, a.id, err)
}
