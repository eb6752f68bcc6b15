package driver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/session"
)

// The bounds of the pending inbox. See architecture A3.4.
const (
	MaxPending      = 1000
	MaxPendingBytes = 256 << 20
	MaxPendingIDs   = 40 << 10 // bytes of all ids: the state stays small
	MaxMessage      = 32 << 10 // encoded; a larger body is an artifact block
)

// onSent inserts a message and, if it wakes, sees to the wake. See spec §3.1.
func (d *Driver) onSent(in Sent) {
	if d.seen(in.Ref, in.Request, in.Message.ID) {
		return
	}
	code, why := d.unmet(in)
	if code == "" {
		code, why = d.refusal(in.Target, in.Message, in.Bytes, Pending{})
	}
	if code != "" {
		d.reply(in.Ref, Receipt{ID: in.Message.ID, Disposition: Refused, Code: code, Message: why})
		return
	}
	d.remember(in.Request)
	place := 0
	if in.Interrupt {
		d.interrupt(in.Message.ID)
	}
	target := d.redirect(in.Target, in.Wakeup)
	if !in.Interrupt {
		place = len(*d.list(target))
	}
	seq := d.insertAt(target, place, in.Message, in.Bytes)
	receipt := Receipt{ID: in.Message.ID, Disposition: d.wake(target, in.Wakeup)}
	if seq >= 0 {
		receipt.Seq = &seq
	}
	d.reply(in.Ref, receipt)
}

// refusal reports why a message cannot be taken now; empty means it can. old is the pending message whose place it takes,
// if any. See spec §2.3, §2.4.1, architecture A3.4.
func (d *Driver) refusal(target string, m session.Message, bytes int, old Pending) (code, why string) {
	s := d.state
	if s.Phase == Closed {
		return RefusedClosed, closedAdvice
	}
	if _, err := (session.Inbox{}).Insert(target, m); err != nil {
		return RefusedInvalid, err.Error()
	}
	switch n := encoded(m); {
	case bytes < 0:
		return RefusedInvalid, "the size of the body is negative"
	case n > MaxMessage:
		return RefusedTooLarge, fmt.Sprintf("the message takes %d bytes, more than %d: store its body and send the reference", n, MaxMessage)
	case m.ID != old.ID && d.isPending(m.ID):
		return RefusedDuplicateID, fmt.Sprintf("message id %q is pending already: use another id", m.ID)
	case old.ID == "" && s.pending() >= MaxPending, s.PendingBytes-old.Bytes+bytes > MaxPendingBytes,
		s.idBytes()-len(old.ID)+len(m.ID) > MaxPendingIDs:
		return RefusedFull, fmt.Sprintf("%d messages (%d bytes) are pending: wait, or clear the inbox", s.pending(), s.PendingBytes)
	}
	return "", ""
}

const closedAdvice = "the agent is disposed: create another one"

// closed answers an edit of an agent that is gone.
func (d *Driver) closed(ref, id string) bool {
	if d.state.Phase != Closed {
		return false
	}
	d.reply(ref, Receipt{ID: id, Disposition: Refused, Code: RefusedClosed, Message: closedAdvice})
	return true
}

func encoded(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(raw)
}

// bodySize is the size of a message's body, wherever it is.
func bodySize(m session.Message) int {
	n := len(m.Text())
	for _, b := range m.Content {
		if a, ok := b.(session.Artifact); ok {
			n += int(a.Bytes)
		}
	}
	return n
}

// redirect turns waking input into a next-turn prompt while a cancelled activity has not converged. See spec §3.1.2.
func (d *Driver) redirect(target string, wakeup bool) string {
	if wakeup && d.state.Active() && d.state.Cancelled != nil {
		return session.NextTurn
	}
	return target
}

func (d *Driver) list(target string) *[]Pending {
	if target == session.NextStep {
		return &d.state.NextStep
	}
	return &d.state.NextTurn
}

// insert appends a message to a list's tail and returns the event's seq, or -1 if it is not known yet.
func (d *Driver) insert(target string, m session.Message, bytes int) int64 {
	return d.insertAt(target, len(*d.list(target)), m, bytes)
}

func (d *Driver) insertAt(target string, place int, m session.Message, bytes int) int64 {
	list := d.list(target)
	seq := d.log(session.InboxSpliced{Target: target, Start: place, Inserted: []session.Message{m}})
	*list = slices.Insert(*list, place, Pending{ID: m.ID, Bytes: bytes})
	d.state.PendingBytes += bytes
	d.state.Revision++
	d.notify("agent/inbox/inserted", note{ID: m.ID, Target: target})
	return seq
}

// A note is the payload of the inbox notifications.
type note struct {
	ID     string `json:"id"`
	Target string `json:"target,omitempty"`
	Turn   int    `json:"turn,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (d *Driver) find(id string) (target string, index int, ok bool) {
	for _, target := range []string{session.NextStep, session.NextTurn} {
		i := slices.IndexFunc(*d.list(target), func(p Pending) bool { return p.ID == id })
		if i >= 0 {
			return target, i, true
		}
	}
	return "", 0, false
}

func (d *Driver) isPending(id string) bool {
	_, _, ok := d.find(id)
	return ok
}

// onRemoved discards one pending message. See spec §3.3.
func (d *Driver) onRemoved(in Removed) {
	if d.seen(in.Ref, in.Request, in.ID) || d.closed(in.Ref, in.ID) || d.stale(in.Ref, in.ID, in.Revision) {
		return
	}
	d.remember(in.Request)
	target, i, found := d.find(in.ID)
	if found {
		d.log(session.InboxSpliced{Target: target, Start: i, RemovedCount: 1, Inserted: []session.Message{}, Outcome: session.OutcomeCanceled})
		d.cut(target, i, 1)
		d.discarded(in.ID, session.Removed)
	}
	d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Done, Found: &found})
}

// onReplaced puts another message in a pending one's place. See spec §3.3.
func (d *Driver) onReplaced(in Replaced) {
	if d.seen(in.Ref, in.Request, in.ID) || d.closed(in.Ref, in.ID) || d.stale(in.Ref, in.ID, in.Revision) {
		return
	}
	target, i, found := d.find(in.ID)
	if found {
		old := (*d.list(target))[i]
		if code, why := d.refusal(target, in.Message, in.Bytes, old); code != "" {
			d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Refused, Code: code, Message: why})
			return
		}
	}
	d.remember(in.Request)
	if found {
		d.log(session.InboxSpliced{Target: target, Start: i, RemovedCount: 1, Inserted: []session.Message{in.Message}, Outcome: session.OutcomeCanceled})
		p := &(*d.list(target))[i]
		d.state.PendingBytes += in.Bytes - p.Bytes
		*p = Pending{ID: in.Message.ID, Bytes: in.Bytes}
		d.state.Revision++
		d.discarded(in.ID, session.Replaced+" "+in.Message.ID)
		d.notify("agent/inbox/inserted", note{ID: in.Message.ID, Target: target})
	}
	d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Done, Found: &found})
}

// onCleared discards everything that is pending. See spec §3.3.
func (d *Driver) onCleared(in Cleared) {
	if d.seen(in.Ref, in.Request, "") || d.closed(in.Ref, "") || d.stale(in.Ref, "", in.Revision) {
		return
	}
	d.remember(in.Request)
	d.clear(session.Cleared)
	d.reply(in.Ref, Receipt{Disposition: Done})
}

// clear empties both lists, next-step first, one event per non-empty list.
func (d *Driver) clear(cause string) {
	for _, target := range []string{session.NextStep, session.NextTurn} {
		gone := slices.Clone(*d.list(target))
		if len(gone) == 0 {
			continue
		}
		d.log(session.InboxSpliced{Target: target, RemovedCount: len(gone), Inserted: []session.Message{}, Outcome: session.OutcomeCanceled})
		d.cut(target, 0, len(gone))
		for _, p := range gone {
			d.discarded(p.ID, cause)
		}
	}
}

// cut removes n entries of a list.
func (d *Driver) cut(target string, start, n int) {
	list := d.list(target)
	for _, p := range (*list)[start : start+n] {
		d.state.PendingBytes -= p.Bytes
	}
	*list = slices.Delete(slices.Clone(*list), start, start+n)
	d.state.Revision++
}

func (d *Driver) discarded(id, cause string) {
	d.ended(Ended{ID: id, Discarded: true}, cause)
	d.notify("agent/inbox/discarded", note{ID: id})
}

// claim takes the input of a proposed step: all of next-step, then one prompt if this is the turn's first proposal.
// See spec §4.3.
func (d *Driver) claim() []string {
	s := d.state
	var batch []string
	take := func(target string, n int) {
		if n == 0 {
			return
		}
		d.log(session.InboxSpliced{Target: target, RemovedCount: n, Inserted: []session.Message{}})
		for _, p := range (*d.list(target))[:n] {
			batch = append(batch, p.ID)
		}
		d.cut(target, 0, n)
	}
	take(session.NextStep, len(s.NextStep))
	if s.First {
		take(session.NextTurn, min(1, len(s.NextTurn)))
	}
	for _, id := range batch {
		d.notify("agent/inbox/claimed", note{ID: id, Turn: s.Turn})
	}
	return batch
}

// requestKey shortens a request id for the ring.
func requestKey(request string) string {
	sum := sha256.Sum256([]byte(request))
	return base64.RawURLEncoding.EncodeToString(sum[:ringKeyBytes])
}
