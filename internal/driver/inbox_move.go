package driver

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/session"
)

// stale refuses an edit of an inbox that is not any more what the caller saw. See docs/decisions/0014.
func (d *Driver) stale(ref, id string, revision *int64) bool {
	if revision == nil || *revision == d.state.Revision {
		return false
	}
	d.reply(ref, Receipt{ID: id, Disposition: Refused, Code: RefusedRevision,
		Message: fmt.Sprintf("the inbox is at revision %d, not %d: look at it again", d.state.Revision, *revision)})
	return true
}

// onPromoted moves a pending message to the head of a list. Like every edit it wakes nobody: in next-step the message is
// claimed at the next boundary. See spec §3.3, docs/decisions/0014.
func (d *Driver) onPromoted(in Promoted) {
	if d.seen(in.Ref, in.Request, in.ID) || d.closed(in.Ref, in.ID) || d.stale(in.Ref, in.ID, in.Revision) {
		return
	}
	d.remember(in.Request)
	target, i, found := d.find(in.ID)
	if in.Target == "" {
		in.Target = target
	}
	if found && (target != in.Target || i > 0) {
		d.move(in.Target, 0, []string{in.ID})
	}
	d.reply(in.Ref, Receipt{ID: in.ID, Disposition: Done, Found: &found})
}

// onReordered gives a list another order. Who names other messages than are pending looked at another inbox. See spec
// §3.3, docs/decisions/0014.
func (d *Driver) onReordered(in Reordered) {
	if d.seen(in.Ref, in.Request, "") || d.closed(in.Ref, "") || d.stale(in.Ref, "", in.Revision) {
		return
	}
	if in.Target == "" {
		in.Target = session.NextTurn
		if len(in.IDs) > 0 && slices.Contains(d.ids(session.NextStep), in.IDs[0]) {
			in.Target = session.NextStep
		}
	}
	start, end, err := session.Reordered(in.Target, d.ids(in.Target), in.IDs)
	if err != nil {
		d.reply(in.Ref, Receipt{Disposition: Refused, Code: RefusedInvalid, Message: err.Error()})
		return
	}
	d.remember(in.Request)
	if start < end {
		d.move(in.Target, start, in.IDs[start:end])
	}
	d.reply(in.Ref, Receipt{Disposition: Done})
}

// ids are those of a list, in its order.
func (d *Driver) ids(target string) (ids []string) {
	for _, p := range *d.list(target) {
		ids = append(ids, p.ID)
	}
	return ids
}

// move lets pending messages stand elsewhere: one event, and no message is discarded or inserted.
func (d *Driver) move(target string, start int, ids []string) {
	d.needs(rulesPeople)
	d.log(session.InboxMoved{Target: target, Start: start, IDs: slices.Clone(ids)})
	moved := make([]Pending, 0, len(ids))
	for _, id := range ids {
		from, i, _ := d.find(id)
		list := d.list(from)
		moved = append(moved, (*list)[i])
		*list = slices.Delete(slices.Clone(*list), i, i+1)
	}
	list := d.list(target)
	*list = slices.Insert(slices.Clone(*list), start, moved...)
	d.state.Revision++
	for _, id := range ids {
		d.notify("agent/inbox/moved", note{ID: id, Target: target})
	}
}
