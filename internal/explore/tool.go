package explore

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// A view is what the environment knows of a call: how far it may be, and what its result must be.
type view struct {
	Tool
	logged    bool // tool/call is in the log
	kept      bool // a defect kept it from starting
	asked     bool // its gate has asked a person
	cleared   bool // its gate, or a person, let it run
	ran       bool // its body was started
	lost      bool // and its worker was lost
	over      bool // the body will not run any more
	done      bool // the result is in the log
	want      string
	contexts  []string
	concludes bool
}

// begin notes the calls of a message; a cancel that came before leaves none to start (X9).
func (n *node) begin(calls []work.Call) {
	n.calls = nil
	for i := range calls {
		n.calls = append(n.calls, view{Tool: n.world.Tools[i]})
	}
	if n.model.Cause != "" {
		n.stopCalls()
	}
}

func (n *node) view(id string) *view {
	for i := range n.calls {
		if n.calls[i].ID == id {
			return &n.calls[i]
		}
	}
	n.failf("there is no call %s", id)
	return &view{}
}

// stopCalls notes that what does not run is answered without having been dispatched: X9, X10, X11.
func (n *node) stopCalls() {
	for i := range n.calls {
		if c := &n.calls[i]; !c.over && !c.ran && (!c.Gated || !n.gating(c.ID)) {
			c.settle("TR!(" + c.ID + "," + work.CodeAbortedBeforeDispatch + ")")
		}
	}
}

// gating reports whether the call's pre stage runs.
func (n *node) gating(id string) bool {
	return slices.ContainsFunc(n.open, func(r running) bool {
		t, ok := r.effect.(driver.StartTool)
		return ok && t.In.Call.ID == id && t.In.Mode == work.ToolGate
	})
}

func (c *view) settle(want string) { c.over, c.want = true, want }

// A result is how a stage of a call ends.
type result struct {
	name string
	coin Coin
	out  work.ToolOut
}

func failed(id string) string { return "TR!(" + id + ")" }

// toolEnds are the ways in which a stage of a call can end, plus its loss.
func (n *node) toolEnds(id string, in work.ToolIn) []move {
	var out []move
	call := in.Call.ID
	for _, r := range n.results(id, in) {
		name := fmt.Sprintf("%s %s: %s", stage(in.Mode), call, r.name)
		do := func(n *node, acts []work.Act) { n.toolDone(id, in, r.out, acts) }
		if r.coin == free {
			out = append(out, deeply(name, do)...)
			continue
		}
		out = append(out, move{name, r.coin, func(n *node) { do(n, nil) }})
	}
	lost := move{fmt.Sprintf("%s %s is lost", stage(in.Mode), call), ToolLosses, func(n *node) {
		n.finish(id)
		n.lose(n.view(call), in.Mode)
		n.input(driver.ToolLost{ID: id, Why: driver.LostExhausted, Message: "gone"})
	}}
	broken := move{fmt.Sprintf("%s %s fails for good", stage(in.Mode), call), Defects, func(n *node) {
		n.finish(id)
		n.defect(n.view(call), in.Mode)
		n.input(driver.ToolLost{ID: id, Why: driver.LostFailed, Message: "defect"})
	}}
	return append(out, lost, broken)
}

// defect notes that nothing new starts, and that the turn will fail, §4.8.
func (n *node) defect(c *view, mode string) {
	n.model.Defect()
	c.kept = true
	n.lose(c, mode)
	for i := range n.calls {
		o := &n.calls[i]
		o.kept = true
		if o.logged && !o.over && !o.ran && !n.gating(o.ID) && o.ID != c.ID {
			o.settle(notStarted(o.ID))
		}
	}
}

func notStarted(id string) string { return "TR!(" + id + "," + session.CodeToolNotStarted + ")" }

func stage(mode string) string {
	if mode == work.ToolRun {
		return "tool"
	}
	return mode
}

func (n *node) results(id string, in work.ToolIn) []result {
	ok := work.ToolOut{Content: session.TextContent("result")}
	bad := work.ToolOut{Content: session.TextContent("Error: no"), IsError: true}
	switch in.Mode {
	case work.ToolGate:
		return n.verdicts(in, bad)
	case work.ToolPost:
		same := *in.Out
		return []result{{"accepted", free, same}, {"blocked", BadResults, bad}}
	case work.ToolSettle:
		unknown := bad
		unknown.Error = &session.CodedError{Name: session.NameToolOutcomeUnknown, Code: session.CodeToolOutcomeUnknown}
		return []result{{"it was done", free, ok}, {"nobody knows", free, unknown}}
	}
	concludes, context := ok, ok
	concludes.Concludes = true
	context.Contexts = []session.Message{userMessage("context-" + id)}
	return []result{{"ok", free, ok}, {"fails", BadResults, bad}, {"concludes", BadResults, concludes}, {"brings a context", BadResults, context}}
}

func (n *node) verdicts(in work.ToolIn, bad work.ToolOut) []result {
	deny, fault := bad, bad
	deny.Verdict, fault.Verdict = work.Deny, work.Fault
	out := []result{{"allow", free, work.ToolOut{Verdict: work.Allow}}, {"deny", BadResults, deny}, {"fault", BadResults, fault}}
	if c := n.view(in.Call.ID); c.Asking {
		ask := work.ToolOut{Verdict: work.Ask}
		if c.Deadline {
			ask.DeadlineMS = 1000
		}
		out = append(out, result{"ask", free, ask})
	}
	return out
}

// toolDone answers a stage of a call, after noting what must become of it.
func (n *node) toolDone(id string, in work.ToolIn, out work.ToolOut, acts []work.Act) {
	n.finish(id)
	c := n.view(in.Call.ID)
	if in.Mode != work.ToolGate {
		c.over = true // an act that cancels comes after it
	}
	n.acted(acts)
	switch in.Mode {
	case work.ToolGate:
		n.judged(c, out)
	case work.ToolPost:
		c.outcome(out)
	default:
		n.bodyOver(c, out)
	}
	out.Acts = acts
	n.input(driver.ToolDone{ID: id, Out: out})
}

// judged notes a gate's verdict; one that comes after a cancel lets nothing run (X11).
func (n *node) judged(c *view, out work.ToolOut) {
	switch {
	case n.model.Cause != "":
		c.settle("TR!(" + c.ID + "," + work.CodeAbortedBeforeDispatch + ")")
	case c.kept:
		c.settle(notStarted(c.ID))
	case out.Verdict == work.Allow:
		c.cleared = true
	case out.Verdict == work.Ask:
		c.asked = true
	default:
		c.settle(failed(c.ID))
	}
}

// bodyOver notes an outcome: a success that comes after a cancel is not one (X10).
func (n *node) bodyOver(c *view, out work.ToolOut) {
	c.outcome(out)
	if n.model.Cause != "" && !out.IsError {
		c.want, c.concludes = "TR!("+c.ID+","+work.CodeAborted+")", false
	}
}

func (c *view) outcome(out work.ToolOut) {
	c.over, c.want, c.concludes, c.contexts = true, "TR("+c.ID+")", out.Concludes && !out.IsError, nil
	switch {
	case out.Error != nil:
		c.want = "TR!(" + c.ID + "," + out.Error.Code + ")"
	case out.IsError:
		c.want = failed(c.ID)
	}
	for _, m := range out.Contexts {
		c.contexts = append(c.contexts, m.ID)
	}
}

// lose notes the loss of a stage: of a body the ledger is asked first.
func (n *node) lose(c *view, mode string) {
	switch {
	case mode == work.ToolRun:
		c.lost = true
	case mode == work.ToolSettle:
		c.settle("TR!(" + c.ID + "," + session.CodeToolOutcomeUnknown + ")")
		c.contexts, c.concludes = nil, false
	case mode == work.ToolGate && n.model.Cause != "":
		c.settle("TR!(" + c.ID + "," + work.CodeAbortedBeforeDispatch + ")")
	case mode == work.ToolGate && c.kept:
		c.settle(notStarted(c.ID))
	case mode == work.ToolPost && n.model.Cause != "": // nobody judged a success; a failure keeps its own error
		if c.concludes = false; c.want == "TR("+c.ID+")" {
			c.want = "TR!(" + c.ID + "," + work.CodeAborted + ")"
		}
	default:
		c.settle(failed(c.ID))
		c.contexts, c.concludes = nil, false
	}
}

// decided notes a person's answer, or that none came in time.
func (n *node) decided(call string, grant bool) {
	c := n.view(call)
	if c.asked = false; grant {
		c.cleared = true
		return
	}
	c.settle(failed(c.ID))
}

// committed holds a result against what it must be, in model order, and tells the model.
func (n *node) committed(e session.ToolResult) {
	entry := session.Trace([]session.Record{session.NewRecord(0, e)}, nil)
	for i := range n.calls {
		c := &n.calls[i]
		if c.done {
			continue
		}
		if c.kept && !c.over && !c.logged {
			c.settle(notStarted(c.ID))
		}
		if c.want != entry || !c.over {
			n.failf("result %s comes where %q belongs", entry, c.want)
		}
		c.done = true
		for _, id := range c.contexts {
			n.accept(id)
		}
		n.model.Result(entry, c.contexts, c.concludes)
		return
	}
	n.failf("result %s belongs to no call", entry)
}
