package workflows

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// handlers sets the updates and queries.
func (a *agent) handlers(ctx workflow.Context) error {
	for _, name := range signals.Acts {
		if err := a.actHandler(ctx, name); err != nil {
			return err
		}
	}
	if err := a.whenIdleHandler(ctx); err != nil {
		return err
	}
	describeSignals(ctx)
	return a.queries(ctx)
}

// describeSignals lets tools know which signals there are. Nothing is ever received from their channels: the interceptor
// puts every signal into the one queue before it would get there. See architecture A3.1.
func describeSignals(ctx workflow.Context) {
	for _, name := range signals.Acts {
		workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{Description: descriptions[name]})
	}
}

// actHandler takes an act as an update: it is queued like a signal and answered with its receipt.
func (a *agent) actHandler(ctx workflow.Context, name string) error {
	handler := func(ctx workflow.Context, raw rawArgs) (signals.Receipt, error) {
		a.refs++
		s := &slot{ref: fmt.Sprintf("update-%d", a.refs)}
		a.slots[s.ref] = s
		a.queue.push(item{name: name, raw: raw, slot: s})
		free, _ := workflow.NewDisconnectedContext(ctx)
		if err := workflow.Await(free, func() bool { return s.done || a.stillborn != nil }); err != nil {
			return signals.Receipt{}, err
		}
		delete(a.slots, s.ref)
		if !s.done {
			return signals.Receipt{}, a.stillborn
		}
		return Receipt(s.receipt), s.err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, name, handler, workflow.UpdateHandlerOptions{
		Description: descriptions[name],
		Validator:   func(_ workflow.Context, raw rawArgs) error { return validate(name, raw) },
	})
}

var descriptions = map[string]string{
	signals.Followup:     "Queue a message for a turn of its own: {\"text\": …, \"overlap\": queue|steer|interrupt|reject} or just the text.",
	signals.Steer:        "Let a message join the running turn at its next step: {\"text\": …} or just the text.",
	signals.Inject:       "Add context without waking the agent: {\"text\": …} or just the text.",
	signals.SendTo:       "Send a message: {\"text\": …, \"target\": next-turn|next-step, \"wakeup\": true}.",
	signals.CancelTurn:   "Stop the current turn: {\"keepInbox\": true} keeps what is queued.",
	signals.DisposeAgent: "End the agent.",
	signals.InboxRemove:  "Discard a pending message: {\"id\": …}.",
	signals.InboxReplace: "Replace a pending message: {\"id\": …, \"with\": {\"text\": …}}.",
	signals.InboxClear:   "Discard all pending messages.",
	signals.InboxPromote: "Move a pending message to the head of its list: {\"id\": …, \"target\": next-turn|next-step} or just the id; with the target next-step it joins the running turn.",
	signals.InboxReorder: "Put the pending messages of a list into another order: {\"ids\": […], \"revision\": …} or just the ids.",
	signals.Approve:      "Let a call that waits for a person run: {\"id\": …, \"by\": …} or just the id.",
	signals.DenyCall:     "Refuse a call that waits for a person: {\"id\": …, \"by\": …, \"reason\": …} or just the id.",
	signals.AnswerAsked:  "Answer the questions of a call: {\"id\": …, \"answers\": [{\"id\": …, \"selected\": […], \"text\": …}], \"by\": …}.",
	signals.GiveResult:   "Give the result of a call that a program of yours runs: {\"id\": …, \"text\": …} or with value, content, isError.",
	signals.SetPolicy:    "Switch who is asked about calls: {\"mode\": ask|allow-list|never|always, \"allow\": [{\"tool\": …}], \"revoke\": […]} or just the mode.",
	signals.PlanMode:     "Let the agent plan first, or do again: {\"on\": true|false} or just \"on\" or \"off\".",
	signals.MaintainAct:  "Run a maintenance task while the agent is idle: {\"task\": …} or just its name.",
	signals.SpawnChild:   "Start a child agent: {\"create\": {\"definition\": …, \"first\": {\"text\": …}}} or just its first message.",
	signals.ConfigureAct: "Change the recorded data from the next turn on: {\"model\": …, \"params\": {…}, \"tools\": {\"deny\": […]}}; null gives a field back to the definition.",
	signals.RollAct:      "Go on in a new run of the workflow, of the workers that are current, when nothing is open.",
	signals.BatchActs:    "Apply several acts at once: {\"acts\": [{\"act\": \"followup\", \"send\": {…}}, …]}.",
}

// validate rejects a malformed update before it costs anything.
func validate(name string, raw json.RawMessage) error {
	if _, err := Decode(name, raw); err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), signals.ErrInvalid, nil)
	}
	return nil
}

// maxWaiters leaves most of a run's ten update slots to acts. See architecture A3.10.
const maxWaiters = 4

// whenIdleHandler lets a few callers wait inside the workflow; the others poll the query.
func (a *agent) whenIdleHandler(ctx workflow.Context) error {
	handler := func(ctx workflow.Context, in signals.WhenIdle) (signals.Idle, error) {
		a.waiters++
		defer func() { a.waiters-- }()
		free, _ := workflow.NewDisconnectedContext(ctx)
		err := workflow.Await(free, func() bool { return a.isIdle(in).Idle || a.rolling() || a.ended() })
		out := a.isIdle(in)
		out.Retry = !out.Idle
		return out, err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, signals.QueryWhenIdle, handler, workflow.UpdateHandlerOptions{
		Description: "Wait until the agent is idle.",
		Validator: func(workflow.Context, signals.WhenIdle) error {
			if a.waiters >= maxWaiters || a.rolling() || a.ended() {
				return temporal.NewNonRetryableApplicationError("too many callers wait, or the run is being renewed: poll the query whenIdle instead", signals.ErrTooMany, nil)
			}
			return nil
		},
	})
}

func (a *agent) queries(ctx workflow.Context) error {
	set := func(name, description string, handler any) error {
		return workflow.SetQueryHandlerWithOptions(ctx, name, handler, workflow.QueryHandlerOptions{Description: description})
	}
	if err := set(signals.QueryState, "What the agent does and waits for.", func() (signals.State, error) { return a.view(), nil }); err != nil {
		return err
	}
	if err := set(signals.QueryLog, "The log events that the store does not hold yet.", func() (signals.Log, error) { return a.logView(), nil }); err != nil {
		return err
	}
	if err := set(signals.QueryMessage, "Where a message is, or what became of it: {\"id\": …}.", func(in signals.MessageID) (signals.MessageState, error) { return a.messageView(in.ID), nil }); err != nil {
		return err
	}
	return set(signals.QueryWhenIdle, "Whether the agent is idle.", func(in signals.WhenIdle) (signals.Idle, error) { return a.isIdle(in), nil })
}
