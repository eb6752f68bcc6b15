package driver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

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
	case d.stopped():
		if d.busy() {
			return false
		}
		d.abortRest() // §5 X9, X10: what never started is answered, in model order
		return true
	default:
		d.dispatchCalls() // before others start: what is cleared comes first in model order
		d.openCalls()
		return d.rollWhileAsking()
	}
}

func (d *Driver) committed() int {
	n := 0
	for n < len(d.state.Calls) && d.state.Calls[n].State == CallCommitted {
		n++
	}
	return n
}

func (d *Driver) count(states ...CallState) int {
	n := 0
	for _, c := range d.state.Calls {
		if slices.Contains(states, c.State) {
			n++
		}
	}
	return n
}

// busy reports whether an effect of a call runs.
func (d *Driver) busy() bool { return d.state.busyCalls() > 0 }

// openCalls walks the list in model order and starts calls: an exclusive call runs alone, parallel ones form a pool, and
// pre stages run one at a time. See spec §4.8, scheduling.
func (d *Driver) openCalls() {
	s := d.state
	for i := range s.Calls {
		c := &s.Calls[i]
		switch {
		case c.State == CallGating:
			return
		case c.State != CallWaiting:
			continue
		case !c.Gated && !d.mayRun(i), c.Gated && !d.mayAsk(i):
			return
		}
		c.Seq = d.logCall(c)
		if c.Gated {
			d.startStage(c, CallGating, work.ToolGate)
			return
		}
		d.startStage(c, CallRunning, work.ToolRun)
	}
}

// dispatchCalls runs what its gate or a person cleared.
func (d *Driver) dispatchCalls() {
	for i := range d.state.Calls {
		if c := &d.state.Calls[i]; c.State == CallCleared && d.mayRun(i) {
			d.startStage(c, CallRunning, work.ToolRun)
		}
	}
}

// mayRun reports whether the schedule lets call i run now: an exclusive one when everything before it is finished and
// nothing runs, a parallel one when no exclusive call before it is unfinished and the pool has room.
func (d *Driver) mayRun(i int) bool {
	c := d.state.Calls[i]
	for _, before := range d.state.Calls[:i] {
		if !before.over() && (!c.Parallel || !before.Parallel) {
			return false
		}
	}
	flying := d.flying()
	if !c.Parallel {
		return flying == 0
	}
	return flying < d.maxParallel()
}

// flying counts the calls whose body runs, or has handed them to somebody else, or whose outcome is judged.
func (d *Driver) flying() int {
	n := d.count(CallPosting)
	for _, c := range d.state.Calls {
		if c.flies() {
			n++
		}
	}
	return n
}

// mayAsk reports whether the pre stage of call i may run now. A call that waits for a decision frees its slot, so that
// later gates run while it waits; one whose body asked keeps it. See architecture D21.
func (d *Driver) mayAsk(i int) bool {
	c := d.state.Calls[i]
	for _, before := range d.state.Calls[:i] {
		if !before.over() && !before.undecided() && (!c.Parallel || !before.Parallel) {
			return false
		}
	}
	return !c.Parallel || d.count(CallGating, CallCleared)+d.flying() < d.maxParallel()
}

// over reports whether a call holds up no other: its body will not run any more, and its post stage does not run now.
func (c Call) over() bool {
	switch c.State {
	case CallExecuted, CallFinished, CallCommitted:
		return true
	default:
		return false
	}
}

// defaultMaxParallel bounds the calls in flight. See spec §4.8.
const defaultMaxParallel = 10

func (d *Driver) maxParallel() int {
	if n := d.state.Manifest.MaxParallel; n > 0 {
		return n
	}
	return defaultMaxParallel
}

// startStage runs one stage of a call.
func (d *Driver) startStage(c *Call, state CallState, mode string) {
	c.State, c.Effect, c.Settle = state, d.effectID("tool"), false
	in := d.toolIn(c, mode)
	if mode == work.ToolPost {
		in.Out = c.Out
	}
	d.effect(StartTool{In: in})
}

// settleCall asks the effect ledger what became of a call whose worker is gone.
func (d *Driver) settleCall(c *Call, why Lost) {
	c.Effect, c.Settle = d.effectID("tool"), true
	in := d.toolIn(c, work.ToolSettle)
	in.Lost = string(why)
	d.effect(StartTool{In: in})
}

func (d *Driver) toolIn(c *Call, mode string) work.ToolIn {
	s := d.state
	in := work.ToolIn{ID: c.Effect, Ident: s.ident(), Mode: mode, Turn: s.Turn, Step: s.Step, Call: c.Call, Key: d.key(c, c.Epoch), Approved: c.Approved, Plan: s.Plan}
	for _, epoch := range s.Abandoned {
		if epoch != c.Epoch {
			in.Before = append(in.Before, d.key(c, epoch))
		}
	}
	return in
}

// nameLater tells every stage that is started now which parallel calls are not: whoever answers says whether they still
// are parallel. The first one is named, and not all that follow it: with a thousand calls in a step, a thousand stages
// would each carry a thousand names. See spec §4.8.3.
func (d *Driver) nameLater() {
	i := slices.IndexFunc(d.state.Calls, func(c Call) bool { return c.State == CallWaiting && c.Parallel })
	if i < 0 {
		return
	}
	for n, e := range d.effects {
		if start, ok := e.(StartTool); ok && start.In.Mode != work.ToolSettle && start.In.Mode != work.ToolCollect && start.In.Mode != work.ToolCheck {
			head := d.state.Log.Head
			start.In.Head = &head
			if d.state.Rules >= rulesFrom {
				start.In.From = d.state.Calls[i].ID
			} else {
				start.In.Later = d.later(i)
			}
			d.effects[n] = start
		}
	}
}

// rulesFrom is the behaviour version whose workers know what the first later call stands for. An older one does not take
// the work of an agent that has met it.
const rulesFrom = 3

// later are the ids of the parallel calls from the i-th on that are not started.
func (d *Driver) later(i int) (ids []string) {
	for _, c := range d.state.Calls[i:] {
		if c.State == CallWaiting && c.Parallel {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func (d *Driver) logCall(c *Call) int64 {
	s := d.state
	return d.log(session.ToolCall{Turn: s.Turn, Step: s.Step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments, ArgumentsBlob: c.Blob})
}

// key is the call's idempotency key, stable over retries, rollovers and resets. See architecture A3.7.
func (d *Driver) key(c *Call, epoch int64) string {
	s := d.state
	return work.EffectKey(s.Session, cmp.Or(epoch, s.Epoch), s.Turn, s.Step, c.ID)
}

func (d *Driver) callOf(effect string) *Call {
	for i := range d.state.Calls {
		if c := &d.state.Calls[i]; effect != "" && c.Effect == effect {
			return c
		}
	}
	return nil
}

// onToolDone notes what a stage of a call came to. See spec §4.8.5, §5 X10.
func (d *Driver) onToolDone(in ToolDone) {
	c := d.callOf(in.ID)
	if c == nil {
		return
	}
	out := in.Out
	c.Effect = ""
	d.learn(out.Worker, "")
	for i := range d.state.Calls {
		if later := &d.state.Calls[i]; later.State == CallWaiting && (out.Alone || slices.Contains(out.Exclusive, later.ID)) {
			later.Parallel = false
		}
	}
	stage := c.State
	c.State, c.Settle = CallFinished, false // for acts that cancel: this stage is over
	d.acts(out.Acts)
	out.Acts, out.Exclusive, out.Alone = nil, nil, false
	switch stage {
	case CallGating:
		d.afterGate(c, out)
	case CallChecking:
		d.onChecked(c, out)
	case CallPosting:
		c.Out = &out
	default:
		d.afterBody(c, out)
	}
}

// afterBody notes the body's outcome. A success that comes after a cancel is not one; what comes after a cancel has no
// post stage. See spec §5 X10.
func (d *Driver) afterBody(c *Call, out work.ToolOut) {
	if out.Delegate != nil && !out.IsError {
		d.delegate(c, out)
		return
	}
	if out.Defer != nil && !out.IsError {
		d.deferCall(c, out)
		return
	}
	cancelled := d.state.Cancelled != nil
	if cancelled {
		out = afterCancel(out)
	}
	d.executed(c, out, c.Posted && !out.SkipPost && !cancelled)
}

// executed notes an outcome that may still go through the post stage, in its turn.
func (d *Driver) executed(c *Call, out work.ToolOut, post bool) {
	c.State, c.Out, c.Ask = CallFinished, &out, nil
	if post && d.state.Defect == nil {
		c.State = CallExecuted
	}
}

// onToolLost asks the effect ledger what became of the call, or answers itself if there is nothing to ask. See
// architecture A3.7.
func (d *Driver) onToolLost(in ToolLost) {
	c := d.callOf(in.ID)
	if c == nil {
		return
	}
	if c.State == CallChecking { // nothing was done yet
		d.uncheckedAnswer(c, in.Message)
		return
	}
	if in.Why == LostFailed {
		d.failCalls(in.Message)
	}
	switch {
	case c.State == CallRunning && c.Child != "" && d.state.Cancelled != nil:
		d.finish(c, afterCancel(work.ToolOut{}))
	case c.State == CallRunning && c.Child != "": // the child has answered, and nobody could read it
		d.finish(c, unknownOutcome())
	case c.State == CallRunning && !c.Settle:
		d.settleCall(c, in.Why)
	case c.State == CallRunning:
		d.finish(c, unknownOutcome())
	case c.State == CallGating && d.stopped(): // X11
		d.finish(c, d.unstarted())
	case c.State == CallPosting && d.state.Cancelled != nil: // X10: nobody judged a success
		d.finish(c, afterCancel(*c.Out))
	default: // a gate that failed on every worker, §4.8, pipeline 4 and 7
		d.finish(c, gateFailed(in.Message))
	}
}

func gateFailed(why string) work.ToolOut {
	return work.ToolOut{IsError: true, Content: session.TextContent("Error: a gate of this tool failed: " + clip(why))}
}

func (d *Driver) finish(c *Call, out work.ToolOut) {
	c.State, c.Effect, c.Out, c.Settle, c.Ask = CallFinished, "", &out, false, nil
}

func unknownOutcome() work.ToolOut {
	return work.ToolOut{IsError: true, Content: session.TextContent(session.TextToolOutcomeUnknown),
		Error: &session.CodedError{Name: session.NameToolOutcomeUnknown, Code: session.CodeToolOutcomeUnknown}}
}

// afterCancel is what an outcome counts for that comes after a cancel: a failure keeps its own error. See spec §5 X10.
func afterCancel(out work.ToolOut) work.ToolOut {
	if out.IsError {
		return out
	}
	return aborted(work.CodeAborted, "Error: tool call aborted", out.Contexts)
}

func abortedBeforeDispatch() work.ToolOut {
	return aborted(work.CodeAbortedBeforeDispatch, "Error: tool call aborted before dispatch", nil)
}

// aborted is the result of a call that a cancel stopped. See spec §5.
func aborted(code, text string, contexts []session.Message) work.ToolOut {
	return work.ToolOut{IsError: true, Content: session.TextContent(text), Contexts: contexts,
		Error: &session.CodedError{Name: "AbortError", Code: code}}
}

// commitResults appends the results whose predecessors are all in the log; a post stage runs when it is its call's turn.
func (d *Driver) commitResults() {
	s := d.state
	for i := d.committed(); i < len(s.Calls); i++ {
		switch c := &s.Calls[i]; c.State {
		case CallExecuted:
			d.startStage(c, CallPosting, work.ToolPost)
			return
		case CallFinished:
			d.commitResult(i)
		default:
			return
		}
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
	var call []int64
	if c.Seq > 0 { // it was started
		call = []int64{c.Seq}
	}
	seq := d.log(result, call...)
	d.project(result, seq, c.Out.Projection)
	for _, m := range c.Out.Contexts { // §4.8.11
		d.insertContext(m)
	}
	s.Concluded = s.Concluded || c.Out.Concludes && !c.Out.IsError
	c.State, c.Out = CallCommitted, nil
}

// project shows the model something shorter in the place of a large result. A projection that cannot be logged is left
// out: it never fails the call. See spec §9.4.3.
func (d *Driver) project(result session.ToolResult, seq int64, content session.Content) {
	if len(content) == 0 {
		return
	}
	block := result.Message.Content[0].(session.ToolResultBlock)
	block.Content = content
	result.Message.Content = session.Content{block}
	if projection, err := loggable(result); err == nil {
		d.logInPlace(projection, seq)
	}
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

// abortRest answers the calls that were kept from starting: by a cancel, with their tool/call, or by a defect, as a repair
// would. See spec §5 X9, X10, §4.8, §7.2.
func (d *Driver) abortRest() {
	s := d.state
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.State == CallWaiting {
			if s.Cancelled != nil {
				c.Seq = d.logCall(c)
			}
			d.finish(c, d.unstarted())
		}
		d.commitResults()
	}
}

// callsOver ends the step's tools: a request is owed unless a result concluded the turn. See spec §4.8.12.
func (d *Driver) callsOver() {
	s := d.state
	owed, defect := !s.Concluded, s.Defect
	s.Calls, s.Defect = nil, nil
	if defect != nil {
		d.failTurn(defect)
		return
	}
	d.stepOver(owed)
}
