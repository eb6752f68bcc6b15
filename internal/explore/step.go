package explore

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// An end is how a step comes out.
type end struct {
	name      string
	coin      Coin
	out       work.StepOut
	keepOut   bool // the gate keeps the first message out
	unwritten bool // not even the tail was written
	ends      string
}

const codeServer = "SERVER"

func failure(code string) *session.Failure { return &session.Failure{Code: code, Message: "failed"} }

// stepEnds are the ways in which a step can end in its situation, plus its loss.
func (n *node) stepEnds(r running, in work.StepIn) []move {
	var out []move
	for _, e := range n.ends(r, in) {
		if e.coin == free && e.out.Outcome == work.StepMessage && !e.out.Interrupted {
			out = append(out, deeply("step: "+e.name, func(n *node, acts []work.Act) { n.stepDone(r.id, in, e, acts) })...)
			continue
		}
		out = append(out, move{"step: " + e.name, e.coin, func(n *node) { n.stepDone(r.id, in, e, nil) }})
	}
	why := driver.LostExhausted
	if r.cancelled {
		why = driver.LostCancelled
	}
	return append(out, move{"the step is lost: " + string(why), StepLosses, func(n *node) {
		n.finish(r.id)
		n.losing(in)
		n.input(driver.StepLost{ID: r.id, Why: why, Message: "gone"})
	}})
}

// losing tells the model what a loss comes to: the first one is settled by another step, which still has the log.
func (n *node) losing(in work.StepIn) {
	n.lossy = in.Mode != work.StepSettle
	if n.lossy {
		return
	}
	gone := Answer{Ends: "error " + work.CodeWorkerLost}
	n.model.Answered(gone)
	n.model.Decide(gone)
}

// ends follow spec §4.4–4.7.3 and §5.
func (n *node) ends(r running, in work.StepIn) []end {
	first := in.Attempt == 1 // the step is not open, its users are not committed
	if in.Mode == work.StepSettle {
		return settlements(first)
	}
	out := []end{
		{name: "answer", coin: free, out: work.StepOut{Outcome: work.StepMessage, Finish: session.FinishStop}},
		{name: "answer with calls", coin: ToolSteps, out: work.StepOut{Outcome: work.StepMessage, Finish: session.FinishToolCalls, Calls: n.world.calls()}},
		{name: "cut answer", coin: Cuts, out: work.StepOut{Outcome: work.StepMessage, Finish: session.FinishMaxTokens}},
	}
	if r.cancelled {
		return append(out, stopped(first)...)
	}
	out = append(out, attempts(in)...)
	if first {
		return append(out, unentered(in)...)
	}
	return append(out, again("failed in the preparation", Failures, work.StepOut{Outcome: work.StepFailed, Failure: failure(work.CodeUnknown)}, "error "+work.CodeUnknown)...)
}

// settlements are what a step can say of a lost one: what was shown, that nothing was, or that it never began.
func settlements(first bool) []end {
	lost, ends := failure(work.CodeWorkerLost), "error "+work.CodeWorkerLost
	return []end{
		{name: "settled, something was shown", coin: free, out: work.StepOut{Outcome: work.StepMessage, Interrupted: true, Failure: lost}, ends: ends},
		{name: "settled, nothing was shown", coin: free, out: work.StepOut{Outcome: work.StepAttempt, Failure: lost}, ends: ends},
		{name: "settled, never begun", coin: free, out: work.StepOut{Outcome: work.StepFailed, Failure: lost, Entered: !first, Committed: !first}, ends: ends, unwritten: true},
	}
}

// stopped are the ends of a step that was told of a cancel: X3–X7.
func stopped(first bool) []end {
	out := []end{
		{name: "stopped, something was shown", coin: free, out: work.StepOut{Outcome: work.StepMessage, Interrupted: true}},
		{name: "stopped, nothing was shown", coin: free, out: work.StepOut{Outcome: work.StepAttempt}},
	}
	if first {
		out = append(out,
			end{name: "stopped in the request gate", coin: free, out: work.StepOut{Outcome: work.StepCancelled, Entered: true}},
			end{name: "stopped in the pre-step", coin: free, out: work.StepOut{Outcome: work.StepCancelled}},
			end{name: "stopped before the stream", coin: free, out: work.StepOut{Outcome: work.StepCancelled, Entered: true, Committed: true}})
		return out
	}
	return append(out, again("stopped before the stream", free, work.StepOut{Outcome: work.StepCancelled}, "")...)
}

// again are the ends of a later attempt before its stream: the first one wrote step/start and the users, so it says that
// they are there, and may have nothing of its own to write.
func again(name string, coin Coin, out work.StepOut, ends string) []end {
	out.Entered, out.Committed = true, true
	return []end{{name: name, coin: coin, out: out, ends: ends, unwritten: true}}
}

// attempts are failures of the model, with and without recovery.
func attempts(in work.StepIn) []end {
	bad := work.StepOut{Outcome: work.StepAttempt, Finish: session.FinishError, Failure: failure(codeServer)}
	later, again := bad, bad
	later.Recovery = &work.Recovery{Provider: "p", Mode: "normal", DelayMS: 10, Retry: in.Attempt, Maximum: 5}
	again.Recovery = &work.Recovery{}
	return []end{
		{name: "failed attempt", coin: Failures, out: bad, ends: "error " + codeServer},
		{name: "failed attempt, recovery waits", coin: Retries, out: later},
		{name: "failed attempt, recovery tries at once", coin: Retries, out: again},
	}
}

// unentered are the outcomes of the gates and barriers before the model is asked.
func unentered(in work.StepIn) []end {
	bad, code := work.StepOut{Outcome: work.StepFailed, Failure: failure(work.CodeUnknown)}, "error "+work.CodeUnknown
	entered, committed := bad, bad
	entered.Entered, committed.Entered, committed.Committed = true, true, true
	out := []end{
		{name: "failed before it began", coin: Failures, out: bad, ends: code, unwritten: true},
		{name: "failed in the pre-step", coin: Failures, out: bad, ends: code},
		{name: "failed in the preparation", coin: Failures, out: entered, ends: code},
		{name: "failed at the barrier", coin: Failures, out: committed, ends: code},
		{name: "rejected", coin: Refusals, out: work.StepOut{Outcome: work.StepRejected}, ends: "blocked"},
	}
	if !in.Owed {
		out = append(out, end{name: "emptied", coin: Refusals, out: work.StepOut{Outcome: work.StepEmpty}, ends: "empty"})
	}
	if len(in.Batch) > 0 {
		out = append(out, end{name: "a message is kept out", coin: Refusals, keepOut: true,
			out: work.StepOut{Outcome: work.StepMessage, Finish: session.FinishStop}})
	}
	return out
}

// stepDone answers a step after writing what it says it wrote.
func (n *node) stepDone(id string, in work.StepIn, e end, acts []work.Act) {
	n.finish(id)
	n.lossy = false
	out := e.out
	out.Echo, out.Head, out.Acts = work.EchoOf(in.Head.Count, in.Tail), in.Head, acts
	settled := out.Outcome == work.StepMessage || out.Outcome == work.StepAttempt
	out.Committed = out.Committed || settled
	out.Entered = out.Entered || out.Committed
	if out.Users = slices.Clone(in.Batch); e.keepOut {
		out.Users = out.Users[1:]
	}
	settlement := n.write(in, out)
	if !e.unwritten {
		out.Head = n.head()
	}
	a := Answer{Entered: out.Entered, Committed: out.Committed, Users: out.Users, Settled: settlement, Calls: len(out.Calls),
		Cut: out.Finish == session.FinishMaxTokens, Ends: e.ends}
	if r := out.Recovery; r != nil {
		a.Later, a.Again = r.Mode != "", r.Mode == ""
	}
	n.model.Answered(a)
	n.acted(acts)
	n.begin(out.Calls)
	n.model.Decide(a)
	n.input(driver.StepDone{ID: id, Out: out})
}

// write appends a step's own events, spec §4.4.7–4.7.3, and names its settlement.
func (n *node) write(in work.StepIn, out work.StepOut) string {
	if _, open := n.log.Step(); out.Entered && !open {
		n.put(session.StepStart{Turn: in.Turn, Step: in.Step})
	}
	if out.Committed {
		for _, id := range out.Users {
			n.put(session.UserMessage{Message: userMessage(id)})
		}
		if n.log.LastHeader() == nil {
			n.put(session.RequestHeader{Header: session.HeaderContent{Config: session.CallConfig{Provider: "p", Model: "m"}}, Reason: session.HeaderInitial})
		}
	}
	switch {
	case out.Outcome == work.StepAttempt:
		n.put(session.AssistantAttempt{Turn: in.Turn, Step: in.Step, ChunkSeqs: []int64{}, Failure: out.Failure})
		return "AA"
	case out.Outcome != work.StepMessage:
		return ""
	}
	content := session.TextContent("answer")
	for _, c := range out.Calls {
		content = append(content, session.ToolCallBlock{ID: c.ID, Name: c.Name, Arguments: "{}"})
	}
	n.put(session.AssistantMessage{Turn: in.Turn, Step: in.Step, Interrupted: out.Interrupted,
		Message: session.Message{ID: fmt.Sprintf("a%d", n.log.Count()), Role: session.RoleAssistant, Content: content,
			Source: session.Source{Kind: session.SourceModel, Provider: "p", Model: "m"}}})
	if out.Interrupted {
		return "AM!"
	}
	return "AM"
}

// put appends an event that is not the driver's.
func (n *node) put(e session.Event) {
	r := session.NewRecord(now, e)
	r.Seq = n.log.Count()
	if _, ok := e.(session.AssistantMessage); ok {
		r.Sources = []int64{}
	}
	n.append(r)
}
