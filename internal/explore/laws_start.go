package explore

import (
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// checkStep holds a step's order against what may run now.
func (n *node) checkStep(in work.StepIn) {
	n.checkTail(in.Head, in.Tail)
	_, open := n.log.Step()
	switch {
	case in.Mode == work.StepSettle:
		if !n.lossy {
			n.failf("%s settles, and nothing was lost", in.ID)
		}
		return
	case n.lossy:
		n.failf("a lost step is run again as %s", in.ID)
	case open != (in.Attempt > 1):
		n.failf("attempt %d, the step is open: %t", in.Attempt, open)
	case in.Attempt > 1 && in.Attempt != n.tries+1:
		n.failf("attempt %d follows attempt %d", in.Attempt, n.tries)
	}
	n.tries = in.Attempt
}

// checkTail: a writer is lent what follows the head.
func (n *node) checkTail(head work.Head, tail []session.Record) {
	for i, r := range tail {
		if r.Seq != head.Count+int64(i) {
			n.failf("event %d is lent at place %d", r.Seq, head.Count+int64(i))
		}
	}
	if head.Count+int64(len(tail)) > n.log.Count() {
		n.failf("more events are lent than there are")
	}
}

// checkHook: session-start is announced once. See spec §6.1.6.
func (n *node) checkHook(in work.HookIn) {
	if in.Point == work.HookSessionStart {
		if n.greeted {
			n.failf("session-start comes twice")
		}
		n.greeted = true
	}
}

// checkTool holds the start of a stage against the schedule of spec §4.8: pre stages one at a time, an exclusive body
// alone, nothing new after a cancel, a body at most once and only if it was let.
func (n *node) checkTool(in work.ToolIn) {
	c := n.view(in.Call.ID)
	switch in.Mode {
	case work.ToolPost:
		return
	case work.ToolSettle:
		if !c.lost {
			n.failf("call %s is settled, and was not lost", c.ID)
		}
		return
	}
	switch {
	case !c.logged:
		n.failf("call %s starts before its tool/call", c.ID)
	case in.Mode == work.ToolGate && slices.ContainsFunc(n.calls, func(c view) bool { return n.gating(c.ID) }):
		n.failf("two pre stages run")
	case in.Mode == work.ToolRun:
		n.checkBody(c)
	}
}

func (n *node) checkBody(c *view) {
	if c.ran || c.over || c.Gated && !c.cleared {
		n.failf("call %s runs: ran %t, over %t, cleared %t", c.ID, c.ran, c.over, c.cleared)
	}
	c.ran = true
	before := true
	for _, o := range n.calls {
		if o.ID == c.ID {
			before = false
			continue
		}
		alone := !c.Parallel || !o.Parallel
		if alone && (before && !o.over || o.ran && !o.over) {
			n.failf("call %s runs beside %s", c.ID, o.ID)
		}
	}
}
