package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

var _ InputReader = History{}

// Inputs implements [InputReader]: it reads the raw history, since a run that was terminated cannot be asked.
func (h History) Inputs(ctx context.Context, workflowID, runID string) (LastInputs, error) {
	r := inputReader{id: func(n int) string { return signals.MadeID(runID, n) }}
	req := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: h.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
	}
	for {
		page, err := h.Service.GetWorkflowExecutionHistory(ctx, req)
		if err != nil {
			return LastInputs{}, fmt.Errorf("history of %s: %w", workflowID, err)
		}
		for _, e := range page.GetHistory().GetEvents() {
			r.event(e)
		}
		if req.NextPageToken = page.GetNextPageToken(); len(req.NextPageToken) == 0 {
			break
		}
	}
	if l, err := h.lastLog(ctx, req.Execution); err == nil { // else the store and the messages must do
		r.out.Known, r.out.Head, r.out.Tail = true, work.Head{Hash: l.Head.Hash, Count: l.Head.Count}, l.Tail
	}
	return r.out, nil
}

// lastLogIn bounds how long a closed run may take to say where its log ended.
const lastLogIn = 10 * time.Second

// lastLog asks the closed run where its log ended: what it decided last is in no segment, and follows from its history.
func (h History) lastLog(ctx context.Context, run *commonpb.WorkflowExecution) (l signals.Log, err error) {
	ctx, cancel := context.WithTimeout(ctx, lastLogIn)
	defer cancel()
	out, err := h.Service.QueryWorkflow(ctx, &workflowservice.QueryWorkflowRequest{
		Namespace: h.Namespace, Execution: run, Query: &querypb.WorkflowQuery{QueryType: signals.QueryLog},
	})
	if err != nil {
		return l, err
	}
	err = converter.GetDefaultDataConverter().FromPayloads(out.GetQueryResult(), &l)
	return l, err
}

// An AcceptedAct is one act of a history.
type AcceptedAct struct {
	Name string          `json:"name"`
	Raw  json.RawMessage `json:"raw"`
}

// InputsOf follows the inbox through the acts that a run accepted, for a history that is kept in another way. id is the id
// of the n-th message that came without one.
func InputsOf(c signals.Create, acts []AcceptedAct, id func(n int) string) LastInputs {
	r := inputReader{id: id, out: LastInputs{Create: c}}
	r.first(c)
	for _, a := range acts {
		r.act(a.Name, a.Raw)
	}
	return r.out
}

// An inputReader follows the inbox through the events of a history.
type inputReader struct {
	id   func(n int) string // of the n-th message without one
	made int                // messages without an id so far

	requests []string // changes of the recorded data so far
	out      LastInputs
}

func (r *inputReader) event(e *historypb.HistoryEvent) {
	switch {
	case e.GetWorkflowExecutionStartedEventAttributes() != nil:
		r.started(e.GetWorkflowExecutionStartedEventAttributes().GetInput())
	case e.GetWorkflowExecutionSignaledEventAttributes() != nil:
		s := e.GetWorkflowExecutionSignaledEventAttributes()
		r.act(s.GetSignalName(), payload(s.GetInput()))
	case e.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil:
		in := e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput()
		r.act(in.GetName(), payload(in.GetArgs()))
	case e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == work.Tool:
		r.tool(e.GetActivityTaskScheduledEventAttributes().GetInput())
	}
}

// tool notes a call whose body may have run: its tool/call was logged before. A check runs no body.
func (r *inputReader) tool(args *commonpb.Payloads) {
	var in work.ToolIn
	if json.Unmarshal(payload(args), &in) == nil && in.Mode != work.ToolGate && in.Mode != work.ToolCheck {
		r.out.Started = append(r.out.Started, session.ToolCall{Turn: in.Turn, Step: in.Step, CallID: in.Call.ID})
	}
}

// payload is the first argument as JSON; nil if it is not JSON.
func payload(args *commonpb.Payloads) json.RawMessage {
	if len(args.GetPayloads()) == 0 {
		return nil
	}
	var raw json.RawMessage
	if converter.GetDefaultDataConverter().FromPayload(args.Payloads[0], &raw) != nil {
		return nil
	}
	return raw
}

// started reads the events that an earlier run handed over.
func (r *inputReader) started(args *commonpb.Payloads) {
	var start struct {
		signals.Create
		State *struct {
			Spec   string `json:"spec"`
			Change struct {
				Spec string `json:"spec"`
			} `json:"change"`
			Log struct {
				Tail    []session.Record `json:"tail"`
				Waiting []session.Record `json:"waiting"`
			} `json:"log"`
		} `json:"state"`
	}
	if json.Unmarshal(payload(args), &start) == nil {
		r.out.Create = start.Create
		if start.State == nil {
			r.first(start.Create)
			return
		}
		r.out.Spec = cmp.Or(start.State.Change.Spec, start.State.Spec)
		r.out.Carried = append(start.State.Log.Tail, start.State.Log.Waiting...)
	}
}

// first is the message that comes with a birth.
func (r *inputReader) first(c signals.Create) {
	if c.First != nil {
		if raw, err := json.Marshal(c.First); err == nil {
			r.act(signals.Followup, raw)
		}
	}
}

// act follows one act; a malformed one was refused.
func (r *inputReader) act(name string, raw json.RawMessage) {
	switch name {
	case signals.Followup, signals.Steer, signals.Inject, signals.SendTo:
		if s, err := signals.DecodeSend(name, raw); err == nil {
			r.sent(s)
		}
	case signals.InboxRemove:
		if in, err := signals.DecodeRemove(raw); err == nil {
			r.removed(in)
		}
	case signals.InboxReplace:
		if in, err := signals.DecodeReplace(raw); err == nil {
			r.replaced(in)
		}
	case signals.InboxClear:
		if in, err := signals.DecodeClear(raw); err == nil {
			r.cleared(in)
		}
	case signals.SpawnChild:
		if s, err := signals.DecodeSpawn(raw); err == nil && s.ID == "" {
			r.made++ // the child's id
		}
	case signals.ConfigureAct:
		if c, err := signals.DecodeConfigure(raw); err == nil {
			r.configured(c)
		}
	case signals.BatchActs:
		if b, err := signals.DecodeBatch(raw); err == nil {
			r.batch(b)
		}
	}
}

// sent notes a message. One without an id got the id the workflow makes up. A conditional one that no log has was refused,
// as far as anybody knows: to bring it back would be to do what its sender ruled out.
func (r *inputReader) sent(s signals.Send) {
	if s.ID == "" {
		r.made++
	}
	if s.Conditional() {
		return
	}
	r.out.Sent = append(r.out.Sent, SentInput{Message: s.Message(r.id(r.made)), Target: s.Target, First: s.Overlap == signals.OverlapInterrupt})
}

// configured notes a change of the recorded data; one that was sent again changes nothing.
func (r *inputReader) configured(c signals.Configure) {
	if c.RequestID != "" && slices.Contains(r.requests, c.RequestID) {
		return
	}
	r.requests = append(r.requests, c.RequestID)
	r.out.Changes = append(r.out.Changes, c.Patch())
}

// removed takes a message out. Edits with a revision may have been refused: a message is rather kept than lost.
func (r *inputReader) removed(in signals.Remove) {
	for i, s := range r.out.Sent {
		if s.Message.ID == in.ID && in.Revision == nil {
			r.out.Sent = append(r.out.Sent[:i:i], r.out.Sent[i+1:]...)
			return
		}
	}
}

func (r *inputReader) replaced(in signals.Replace) {
	for i, s := range r.out.Sent {
		if s.Message.ID == in.ID && in.Revision == nil {
			r.out.Sent[i].Message = in.With.Message(in.ID)
			return
		}
	}
}

func (r *inputReader) cleared(in signals.Clear) {
	if in.Revision == nil {
		r.out.Sent = nil
	}
}

func (r *inputReader) batch(b signals.Batch) {
	for _, a := range b.Acts {
		switch a.Act {
		case signals.InboxRemove:
			r.removed(*a.Remove)
		case signals.InboxReplace:
			r.replaced(*a.Replace)
		case signals.InboxClear:
			r.cleared(*a.Clear)
		case signals.Followup, signals.Steer, signals.Inject, signals.SendTo:
			r.sent(*a.Send)
		}
	}
}
