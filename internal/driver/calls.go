package driver

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// callsOwe commits results, starts what may start, and ends the step when all is done. See spec §4.8.
func (d *Driver) callsOwe() bool {
	s := d.state
	d.commitResults()
	switch {
	case d.committed() == len(s.Calls):
		d.callsOver()
		return true
	case s.Cancelled == nil:
		d.startCalls()
		return false
	case d.running() == 0: // §5 X9, X10: what never started is answered, in model order
		d.abortRest()
		return true
	default:
		return false
	}
}

func (d *Driver) committed() int {
	n := 0
	for n < len(d.state.Calls) && d.state.Calls[n].State == CallCommitted {
		n++
	}
	return n
}

func (d *Driver) running() int {
	n := 0
	for _, c := range d.state.Calls {
		if c.State == CallRunning {
			n++
		}
	}
	return n
}

// startCalls walks the list in model order: an exclusive call runs alone, parallel ones form a pool. See spec §4.8.
func (d *Driver) startCalls() {
	s := d.state
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.State != CallWaiting {
			continue
		}
		running := d.running()
		if running > 0 && (!c.Parallel || d.exclusiveRuns() || running >= d.maxParallel()) {
			return
		}
		d.startCall(c, work.ToolRun, "")
	}
}

func (d *Driver) exclusiveRuns() bool {
	for _, c := range d.state.Calls {
		if c.State == CallRunning && !c.Parallel {
			return true
		}
	}
	return false
}

// defaultMaxParallel bounds the calls in flight. See spec §4.8.
const defaultMaxParallel = 10

func (d *Driver) maxParallel() int {
	if n := d.state.Manifest.MaxParallel; n > 0 {
		return n
	}
	return defaultMaxParallel
}

// startCall appends tool/call, unless the call only needs to be settled, and runs it.
func (d *Driver) startCall(c *Call, mode, lost string) {
	s := d.state
	if c.State == CallWaiting {
		c.Seq = d.logCall(c)
	}
	c.State, c.Effect, c.Settle = CallRunning, d.effectID("tool"), mode == work.ToolSettle
	d.effect(StartTool{In: work.ToolIn{ID: c.Effect, Ident: s.ident(), Mode: mode, Turn: s.Turn, Step: s.Step, Call: c.Call, Key: d.key(c), Lost: lost}})
}

func (d *Driver) logCall(c *Call) int64 {
	s := d.state
	return d.log(session.ToolCall{Turn: s.Turn, Step: s.Step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments, ArgumentsBlob: c.Blob})
}

// key is the call's idempotency key, stable over retries and rollovers. See architecture A3.7.
func (d *Driver) key(c *Call) string {
	s := d.state
	return fmt.Sprintf("%s/%d/%d.%d/%s", s.Session, s.Epoch, s.Turn, s.Step, c.ID)
}

func (d *Driver) callOf(effect string) *Call {
	for i := range d.state.Calls {
		if c := &d.state.Calls[i]; c.State == CallRunning && c.Effect == effect {
			return c
		}
	}
	return nil
}

// onToolDone notes a call's outcome; its result is committed in model order. See spec §4.8.5, §5 X10.
func (d *Driver) onToolDone(in ToolDone) {
	c := d.callOf(in.ID)
	if c == nil {
		return
	}
	out := in.Out
	c.State, c.Effect = CallFinished, ""
	d.learn(out.Worker, "")
	d.acts(out.Acts)
	if d.state.Cancelled != nil && !out.IsError {
		out = aborted(work.CodeAborted, "Error: tool call aborted", out.Contexts)
	}
	c.Out = &out
}

// onToolLost asks the effect ledger what became of the call, or answers itself if that is lost too.
func (d *Driver) onToolLost(in ToolLost) {
	c := d.callOf(in.ID)
	if c == nil {
		return
	}
	if !c.Settle {
		d.startCall(c, work.ToolSettle, string(in.Why))
		return
	}
	c.State, c.Effect = CallFinished, ""
	c.Out = &work.ToolOut{IsError: true, Content: session.TextContent(session.TextToolOutcomeUnknown),
		Error: &session.CodedError{Name: session.NameToolOutcomeUnknown, Code: session.CodeToolOutcomeUnknown}}
}

// aborted is the result of a call that a cancel stopped. See spec §5.
func aborted(code, text string, contexts []session.Message) work.ToolOut {
	return work.ToolOut{IsError: true, Content: session.TextContent(text), Contexts: contexts,
		Error: &session.CodedError{Name: "AbortError", Code: code}}
}

// commitResults appends the results whose predecessors are all in the log.
func (d *Driver) commitResults() {
	s := d.state
	for i := d.committed(); i < len(s.Calls) && s.Calls[i].State == CallFinished; i++ {
		d.commitResult(i)
	}
}

func (d *Driver) commitResult(i int) {
	s := d.state
	c := &s.Calls[i]
	result, err := loggable(d.result(i))
	if err != nil { // §4.8, pipeline 6
		c.Out = &work.ToolOut{IsError: true, Content: session.TextContent("Error: the tool's result cannot be logged: " + clip(err.Error())),
			Error: &session.CodedError{Name: "InvalidToolOutputError", Code: "INVALID_TOOL_OUTPUT"}}
		result = d.result(i)
	}
	d.log(result, c.Seq)
	for _, m := range c.Out.Contexts { // §4.8.11
		d.insertContext(m)
	}
	s.Concluded = s.Concluded || c.Out.Concludes && !c.Out.IsError
	c.State, c.Out = CallCommitted, nil
}

// result is the event of a finished call.
func (d *Driver) result(i int) session.ToolResult {
	s := d.state
	c := &s.Calls[i]
	return session.ToolResult{
		Turn: s.Turn, Step: s.Step, Error: c.Out.Error, Meta: c.Out.Meta,
		Message: session.Message{
			ID:      fmt.Sprintf("r%d.%d.%d", s.Turn, s.Step, i+1),
			Role:    session.RoleUser,
			Content: session.Content{session.ToolResultBlock{ToolCallID: c.ID, Content: c.Out.Content, IsError: c.Out.IsError}},
			Source:  session.Source{Kind: session.SourceTool, CallID: c.ID},
		},
	}
}

// loggable is a result as the log's readers will see it. One that cannot be written and read again would close the
// session for good.
func loggable(result session.ToolResult) (session.ToolResult, error) {
	raw, err := json.Marshal(session.NewRecord(0, result))
	if err != nil {
		return result, err
	}
	var r session.Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return result, err
	}
	return r.Event.(session.ToolResult), nil
}

// insertContext puts a result's context into next-step: no cap and no wake apply. What the log would refuse is reported
// and left out. See spec §4.8.11.
func (d *Driver) insertContext(m session.Message) {
	if _, err := (session.Inbox{}).Insert(session.NextStep, m); err != nil {
		d.notify("agent/refused", Receipt{ID: m.ID, Disposition: Refused, Code: RefusedInvalid, Message: err.Error()})
		return
	}
	if d.isPending(m.ID) {
		d.notify("agent/refused", Receipt{ID: m.ID, Disposition: Refused, Code: RefusedDuplicateID, Message: "a message with the id of this context is pending"})
		return
	}
	d.insert(session.NextStep, m, bodySize(m))
}

// abortRest answers the calls that a cancel kept from starting. See spec §5 X9, X10.
func (d *Driver) abortRest() {
	s := d.state
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.State != CallWaiting {
			continue
		}
		c.Seq = d.logCall(c)
		out := aborted(work.CodeAbortedBeforeDispatch, "Error: tool call aborted before dispatch", nil)
		c.State, c.Out = CallFinished, &out
		d.commitResults()
	}
}

// callsOver ends the step's tools: a request is owed unless a result concluded the turn. See spec §4.8.12.
func (d *Driver) callsOver() {
	owed := !d.state.Concluded
	d.state.Calls = nil
	d.stepOver(owed)
}
