package explore

import (
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// answers are the ways in which an open effect can end.
func (n *node) answers(r running) []move {
	switch e := r.effect.(type) {
	case driver.StartPersist:
		return n.persists(r.id, e.In)
	case driver.StartTimer:
		return []move{{"timer " + e.Summary, free, func(n *node) { n.fire(r.id) }}}
	case driver.StartHook:
		return n.hookEnds(r.id, e.In)
	case driver.StartMaintain:
		return n.upkeepEnds(r.id, e.In)
	case driver.StartTool:
		return n.toolEnds(r.id, e.In)
	case driver.StartStep:
		return n.stepEnds(r, e.In)
	default:
		return nil
	}
}

func (n *node) persists(id string, in work.PersistIn) []move {
	end := in.Head.Count + int64(len(in.Tail))
	head := work.Head{Hash: fmt.Sprintf("h%d", end), Count: end}
	return []move{
		{"persisted", free, func(n *node) {
			n.finish(id)
			n.input(driver.Persisted{ID: id, Out: work.PersistOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: head}})
		}},
		{"the store refuses", StoreFails, func(n *node) {
			n.finish(id)
			n.input(driver.PersistFailed{ID: id, Message: "disk full"})
		}},
	}
}

// fire lets a timer fire: a retry's, an approval's deadline, or that of a failed flush.
func (n *node) fire(id string) {
	n.finish(id)
	if id == n.state.Awaiting {
		n.model.Retried()
	}
	for _, c := range n.state.Calls {
		if c.Ask != nil && c.Ask.Timer == id {
			n.decided(c.ID, false)
		}
	}
	n.input(driver.TimerFired{ID: id})
}

// A deed is what a gate, tool, hook or task does through plugin.Agent; see architecture A3.8.
type deed struct {
	name string
	act  func(*node) []work.Act // made when it happens, and told to the model
}

var deeds = []deed{
	{"", func(*node) []work.Act { return nil }},
	{", which steers", func(n *node) []work.Act {
		m := n.message()
		return []work.Act{{Kind: work.ActSend, Message: &m, Target: session.NextStep, Wakeup: true}}
	}},
	{", which cancels", func(*node) []work.Act {
		return []work.Act{{Kind: work.ActCancel, Cause: &session.Cause{Kind: session.CauseHook, Reason: "act"}}}
	}},
}

// acted tells the model of acts, when they are applied.
func (n *node) acted(acts []work.Act) {
	for _, a := range acts {
		if a.Kind == work.ActSend {
			n.accept(a.Message.ID)
			n.model.Send(a.Message.ID, a.Target, a.Wakeup)
		} else {
			n.cancel(func(m *Model) { m.Cancel(causeText(*a.Cause), a.KeepInbox) })
		}
	}
}

// deeply makes moves of an end without a deed, for free, and with one.
func deeply(name string, do func(*node, []work.Act)) []move {
	var out []move
	for i, d := range deeds {
		coin := Acts
		if i == 0 {
			coin = free
		}
		out = append(out, move{name + d.name, coin, func(n *node) { do(n, d.act(n)) }})
	}
	return out
}

func (n *node) hookEnds(id string, in work.HookIn) []move {
	end := func(n *node, failure string) {
		if in.Point == work.HookSessionStart {
			n.model.Greeted()
		} else {
			n.model.Objected(failure)
		}
	}
	return append(deeply("hook "+in.Point, func(n *node, acts []work.Act) {
		n.finish(id)
		n.acted(acts)
		end(n, "")
		n.input(driver.HookDone{ID: id, Out: work.HookOut{Acts: acts}})
	}),
		move{"hook " + in.Point + " fails", Failures, func(n *node) {
			n.finish(id)
			end(n, "HOOK")
			n.input(driver.HookDone{ID: id, Out: work.HookOut{Failure: &session.Failure{Code: "HOOK", Message: "failed"}}})
		}},
		move{"hook " + in.Point + " is lost", ToolLosses, func(n *node) {
			n.finish(id)
			end(n, work.CodeUnknown)
			n.input(driver.HookLost{ID: id, Message: "gone"})
		}})
}

func (n *node) upkeepEnds(id string, in work.MaintainIn) []move {
	return append(deeply("maintenance ends", func(n *node, acts []work.Act) {
		n.finish(id)
		head := in.Head
		if end := in.Head.Count + int64(len(in.Tail)); len(in.Tail) > 0 {
			head = work.Head{Hash: fmt.Sprintf("h%d", end), Count: end}
		}
		n.model.Returned()
		n.acted(acts)
		n.model.Maintained()
		n.input(driver.MaintainDone{ID: id, Out: work.MaintainOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: head, Acts: acts}})
	}),
		move{"maintenance is lost", ToolLosses, func(n *node) {
			n.finish(id)
			n.model.Returned()
			n.model.Maintained()
			n.input(driver.MaintainLost{ID: id, Why: driver.LostExhausted, Message: "gone"})
		}})
}
