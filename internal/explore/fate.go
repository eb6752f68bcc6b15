package explore

import (
	"encoding/json"
	"slices"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/session"
)

// A fate is what became of one message so far.
type fate struct {
	ID string
	At string
}

// The fates: each leads to the next, or to one of the last four.
const (
	accepted  = "accepted" // its event waits for its place
	pending   = "pending"
	claimed   = "claimed"
	entered   = "entered"
	dropped   = "dropped"
	discarded = "discarded"
)

// accept notes a message that the driver must take.
func (n *node) accept(id string) { n.fates = append(n.fates, fate{id, accepted}) }

// turn moves a message from one fate to the next; anything else loses or doubles it.
func (n *node) turn(id, from, to string) {
	i := slices.IndexFunc(n.fates, func(f fate) bool { return f.ID == id && f.At == from })
	if i < 0 {
		n.failf("message %s is %s, and was not %s before", id, to, from)
		return
	}
	n.fates[i].At = to
}

// follow notes what an event means for the messages, before it is applied.
func (n *node) follow(e session.Event) {
	switch e := e.(type) {
	case session.UserMessage:
		n.turn(e.ID, claimed, entered)
	case session.ToolCall:
		n.calledInOrder(e.CallID)
	case session.InboxSpliced:
		n.spliced(e)
	}
}

func (n *node) spliced(e session.InboxSpliced) {
	list := n.log.Inbox().NextTurn
	if e.Target == session.NextStep {
		list = n.log.Inbox().NextStep
	}
	if e.Start < 0 || e.Start+e.RemovedCount > len(list) {
		return // the log refuses it
	}
	for _, m := range list[e.Start : e.Start+e.RemovedCount] {
		if e.Outcome == session.OutcomeCanceled {
			n.turn(m.ID, pending, discarded)
		} else {
			n.turn(m.ID, pending, claimed)
		}
	}
	for _, m := range e.Inserted {
		n.turn(m.ID, accepted, pending)
	}
}

// calledInOrder: tool/call comes in model order, once per call. See spec §4.8.4.
func (n *node) calledInOrder(id string) {
	for i := range n.calls {
		if c := &n.calls[i]; !c.logged {
			if c.ID != id {
				n.failf("call %s is logged where %s belongs", id, c.ID)
			}
			c.logged = true
			return
		}
	}
	n.failf("call %s is logged twice", id)
}

// notified takes what is told beside the log.
func (n *node) notified(e driver.Notify) {
	if e.Name != "agent/inbox/dropped" {
		return
	}
	var told struct{ ID string }
	raw, err := json.Marshal(e.Data)
	if err == nil {
		err = json.Unmarshal(raw, &told)
	}
	if err != nil {
		n.failf("%s: %w", e.Name, err)
	}
	n.dropped = append(n.dropped, told.ID)
	n.turn(told.ID, claimed, dropped)
}

// replied takes a receipt: every caller gets exactly one.
func (n *node) replied(e driver.Reply) {
	i := slices.Index(n.refs, e.Ref)
	if i < 0 {
		n.failf("%s is answered, and nobody of this name waits", e.Ref)
		return
	}
	n.refs = slices.Delete(n.refs, i, i+1)
	n.replies = append(n.replies, e)
}

// want: the caller has its receipt already, and it says so.
func (n *node) want(ref, disposition string) driver.Receipt {
	for _, r := range n.replies {
		if r.Ref != ref {
			continue
		}
		if string(r.Receipt.Disposition) != disposition {
			n.failf("%s is answered %s, want %s", ref, r.Receipt.Disposition, disposition)
		}
		return r.Receipt
	}
	n.failf("%s is not answered", ref)
	return driver.Receipt{}
}
