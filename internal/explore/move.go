package explore

import (
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/session"
)

// A move is something that can happen now.
type move struct {
	name string
	coin Coin // what it costs; free if negative
	do   func(*node)
}

const (
	free     = Coin(-1)
	rollOver = "roll over"
)

// moves lists everything that can happen in a state, in a fixed order.
func (n *node) moves() []move {
	if n.closed {
		return nil
	}
	var all []move
	for _, more := range [][]move{n.sends(), n.cancels(), n.others(), n.edits(), n.decisions()} {
		all = append(all, more...)
	}
	for _, r := range n.open {
		all = append(all, n.answers(r)...)
	}
	enabled := all[:0]
	for _, m := range all {
		if m.coin < 0 || n.has(m.coin) {
			enabled = append(enabled, m)
		}
	}
	return enabled
}

// after is the state that a move leads to.
func (n *node) after(m move) *node {
	c := n.clone()
	if m.coin >= 0 {
		c.pay(m.coin)
	}
	m.do(c)
	c.check()
	return c
}

// kinds are the aliases of spec §3.1.
var kinds = []struct {
	name, target string
	wake         bool
}{
	{"followup", session.NextTurn, true},
	{"steer", session.NextStep, true},
	{"inject", session.NextStep, false},
}

// sends are the messages of the two senders: one signals, one waits for its receipt.
func (n *node) sends() []move {
	var out []move
	for _, k := range kinds {
		out = append(out,
			move{"A: " + k.name, SenderA, func(n *node) { n.send("", k.target, k.wake) }},
			move{"B: " + k.name, SenderB, func(n *node) { n.send(n.ref(), k.target, k.wake) }})
	}
	return out
}

func (n *node) send(ref, target string, wake bool) {
	m := n.message()
	n.accept(m.ID)
	want := n.model.Send(m.ID, target, wake)
	n.input(driver.Sent{Ref: ref, Request: m.ID, Message: m, Bytes: 1, Target: target, Wakeup: wake})
	if ref != "" {
		n.want(ref, want)
	}
}

// cause is the cause of the coming cancel: each has its own, so that the first one can be told.
func (n *node) cause() session.Cause {
	if n.purse[Cancels]%2 == 1 {
		return session.Cause{Kind: session.CauseUser}
	}
	return session.Cause{Kind: session.CauseHook, Reason: "why"}
}

func causeText(c session.Cause) string {
	if c.Reason != "" {
		return string(c.Kind) + " " + c.Reason
	}
	return string(c.Kind)
}

func (n *node) cancels() []move {
	var out []move
	for _, keep := range []bool{false, true} {
		name := map[bool]string{false: "cancel", true: "cancel, keepInbox"}[keep]
		out = append(out, move{name, Cancels, func(n *node) {
			ref, cause := n.ref(), n.cause()
			n.cancel(func(m *Model) { m.Cancel(causeText(cause), keep) })
			n.input(driver.CancelAsked{Ref: ref, Cause: cause, KeepInbox: keep, Via: driver.ViaAPI})
			n.want(ref, "done")
		}})
	}
	return append(out, move{"native cancel", Natives, func(n *node) {
		n.cancel(func(m *Model) { m.NativeCancel("user", false) })
		n.input(driver.CancelAsked{Cause: session.Cause{Kind: session.CauseUser}, Via: driver.ViaNative})
	}})
}

// cancel tells the model, and what follows for calls that are not running.
func (n *node) cancel(tell func(*Model)) {
	was := n.model.Cause
	tell(n.model)
	if was == "" && n.model.Cause != "" {
		n.stopCalls()
	}
}

// others are the acts that are neither a message nor a cancel.
func (n *node) others() []move {
	out := []move{
		{"dispose", Disposals, func(n *node) {
			ref := n.ref()
			n.cancel((*Model).Dispose)
			n.input(driver.DisposeAsked{Ref: ref})
		}},
		{"maintain", Upkeeps, (*node).maintain},
		{"batch: cancel, followup", Batches, func(n *node) { n.batch(true) }},
		{"batch: followup, cancel", Batches, func(n *node) { n.batch(false) }},
		{"a rollover is asked for", Rollovers, func(n *node) { n.input(driver.RollAsked{}) }},
	}
	out = append(out, move{"interrupt", Interrupts, (*node).interrupt})
	if n.state.Rolling {
		out = append(out, move{rollOver, free, (*node).rollover})
	}
	return out
}

// interrupt sends a message that cancels what runs and comes first.
func (n *node) interrupt() {
	ref, m, want := n.ref(), n.message(), ""
	n.accept(m.ID)
	n.cancel(func(model *Model) { want = model.Interrupt(m.ID) })
	n.input(driver.Sent{Ref: ref, Message: m, Bytes: 1, Target: session.NextTurn, Wakeup: true, Interrupt: true})
	n.want(ref, want)
}

func (n *node) maintain() {
	ref, ok := n.ref(), n.model.Maintain()
	n.input(driver.MaintainAsked{Ref: ref, Task: "tidy"})
	if !ok {
		n.want(ref, "refused")
	}
}

// batch applies two acts before the driver advances, architecture D24.
func (n *node) batch(cancelFirst bool) {
	ref, m := n.ref(), n.message()
	n.accept(m.ID)
	cause := session.Cause{Kind: session.CauseParent}
	acts := []driver.Input{
		driver.CancelAsked{Cause: cause, Via: driver.ViaAPI},
		driver.Sent{Message: m, Bytes: 1, Target: session.NextTurn, Wakeup: true},
	}
	tell := []func(){
		func() { n.cancel(func(m *Model) { m.Cancel("parent", false) }) },
		func() { n.model.Send(m.ID, session.NextTurn, true) },
	}
	if !cancelFirst {
		acts[0], acts[1] = acts[1], acts[0]
		tell[0], tell[1] = tell[1], tell[0]
	}
	tell[0]()
	tell[1]()
	n.input(driver.Batch{Ref: ref, Acts: acts})
	if r := n.want(ref, "done"); len(r.Receipts) != len(acts) {
		n.failf("%d receipts for %d acts of a batch", len(r.Receipts), len(acts))
	}
}

// edits are the changes of the inbox of spec §3.3.
func (n *node) edits() []move {
	out := []move{{"clear", Edits, func(n *node) {
		ref := n.ref()
		n.model.Clear()
		n.input(driver.Cleared{Ref: ref})
		n.want(ref, "done")
	}}}
	for _, id := range append(pendingIDs(n.state.NextStep), pendingIDs(n.state.NextTurn)...) {
		for _, target := range []string{session.NextStep, session.NextTurn} {
			out = append(out, move{"promote " + id + " in " + target, Moves, func(n *node) {
				ref, found := n.ref(), n.model.Promote(id, target)
				n.input(driver.Promoted{Ref: ref, ID: id, Target: target})
				n.found(ref, found)
			}})
		}
		out = append(out,
			move{"remove " + id, Edits, func(n *node) {
				ref, found := n.ref(), n.model.Remove(id)
				n.input(driver.Removed{Ref: ref, ID: id})
				n.found(ref, found)
			}},
			move{"replace " + id, Edits, func(n *node) {
				ref, m := n.ref(), n.message()
				n.accept(m.ID)
				found := n.model.Replace(id, m.ID)
				n.input(driver.Replaced{Ref: ref, ID: id, Message: m, Bytes: 1})
				n.found(ref, found)
			}})
	}
	return out
}

func (n *node) found(ref string, found bool) {
	if r := n.want(ref, "done"); r.Found == nil || *r.Found != found {
		n.failf("an edit reports found wrongly: want %t", found)
	}
}

// decisions are a person's answers to calls that ask.
func (n *node) decisions() []move {
	var out []move
	for _, c := range n.state.Calls {
		if c.Ask == nil {
			continue
		}
		id, call := c.Ask.ID, c.ID
		out = append(out,
			move{"approve " + call, free, func(n *node) { n.decide(id, call, true) }},
			move{"deny " + call, free, func(n *node) { n.decide(id, call, false) }})
	}
	return out
}

func (n *node) decide(id, call string, grant bool) {
	ref := n.ref()
	n.decided(call, grant)
	n.input(driver.Decided{Ref: ref, ID: id, Grant: grant, By: "someone"})
	n.want(ref, "done")
}

// rollover moves the state to another run: its timers are gone, everything else is in the state.
func (n *node) rollover() {
	for _, r := range n.open {
		if !isTimer(r.effect) {
			n.failf("rolled over while %s runs", r.id)
		}
	}
	n.open = nil
	restored, err := n.state.Clone()
	if err != nil {
		n.failf("the state cannot be restored: %w", err)
		return
	}
	n.state = restored
	n.input(driver.Resumed{})
}

func pendingIDs(list []driver.Pending) []string {
	var ids []string
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	return ids
}
