package session

import (
	"slices"
)

// Promote moves a pending message to the head of a list, its own if list is empty; nil if it stands there. ok says
// whether it was pending. See docs/decisions/0014.
func (b Inbox) Promote(id, list string) (m *InboxMoved, ok bool, err error) {
	at, i, ok := b.Find(id)
	if !ok {
		return nil, false, nil
	}
	if list == "" {
		list = at
	}
	if b.list(list) == nil {
		return nil, true, unknownList(list)
	}
	if at == list && i == 0 {
		return nil, true, nil
	}
	return &InboxMoved{Target: list, IDs: []string{id}}, true, nil
}

// Reorder gives a list the order of ids, which are those of its messages; nil if it has it. Only what changes its place
// is named.
func (b Inbox) Reorder(list string, ids []string) (*InboxMoved, error) {
	items := b.list(list)
	if items == nil {
		return nil, unknownList(list)
	}
	have := make([]string, len(*items))
	for i, m := range *items {
		have[i] = m.ID
	}
	start, end, err := Reordered(list, have, ids)
	if err != nil || start == end {
		return nil, err
	}
	return &InboxMoved{Target: list, Start: start, IDs: slices.Clone(ids[start:end])}, nil
}

// Reordered compares the order that a list has with the one that is wanted: they differ from start to before end. They
// must name the same messages.
func Reordered(list string, have, want []string) (start, end int, err error) {
	for i, id := range want {
		switch {
		case slices.Contains(want[:i], id):
			return 0, 0, refuse(RuleInboxDuplicate, "message %s is named twice", id)
		case !slices.Contains(have, id):
			return 0, 0, refuse(RuleInboxUnknown, "message %s is not pending in %s", id, list)
		}
	}
	if len(want) != len(have) {
		i := slices.IndexFunc(have, func(id string) bool { return !slices.Contains(want, id) })
		return 0, 0, refuse(RuleInboxRange, "%s has %d messages, the order names %d: message %s is missing", list, len(have), len(want), have[i])
	}
	for end = len(want); end > 0 && want[end-1] == have[end-1]; {
		end--
	}
	for start < end && want[start] == have[start] {
		start++
	}
	return start, end, nil
}

// ApplyMove performs a logged move, strictly: one that does not fit is refused and changes nothing.
func (b *Inbox) ApplyMove(e InboxMoved) error {
	if err := b.checkMove(e); err != nil {
		return err
	}
	b.move(e)
	return nil
}

// move performs a checked move; the lists are made anew, so that nobody's copy changes.
func (b *Inbox) move(e InboxMoved) {
	moved := make([]Message, 0, len(e.IDs))
	for _, id := range e.IDs {
		list, i, _ := b.Find(id)
		moved = append(moved, (*b.list(list))[i])
	}
	left := b.without(e.IDs)
	items := left.list(e.Target)
	*items = slices.Concat((*items)[:e.Start], moved, (*items)[e.Start:])
	*b = left
}

// without is the inbox that is left when messages are taken out.
func (b Inbox) without(ids []string) (out Inbox) {
	for _, name := range [...]string{NextStep, NextTurn} {
		for _, m := range *b.list(name) {
			if !slices.Contains(ids, m.ID) {
				*out.list(name) = append(*out.list(name), m)
			}
		}
	}
	return out
}

// checkMove refuses a move that does not fit, or that would change nothing.
func (b Inbox) checkMove(e InboxMoved) error {
	if err := checkMoveShape(e); err != nil {
		return err
	}
	stay := e.Start >= 0
	for i, id := range e.IDs {
		list, at, ok := b.Find(id)
		if !ok {
			return refuse(RuleInboxUnknown, "message %.40q is moved, but not pending", id)
		}
		stay = stay && list == e.Target && at == e.Start+i
	}
	left := b.without(e.IDs)
	if n := len(*left.list(e.Target)); e.Start > n {
		return refuse(RuleInboxRange, "messages are moved to %d of %s, which has %d others", e.Start, e.Target, n)
	}
	if stay {
		return refuse(RuleInboxNothing, "a move that leaves every message where it is")
	}
	return nil
}

// checkMoveShape checks what can be said without the lists.
func checkMoveShape(e InboxMoved) error {
	switch {
	case e.Target != NextTurn && e.Target != NextStep:
		return unknownList(e.Target)
	case e.Start < 0:
		return refuse(RuleInboxRange, "move to a negative position")
	case len(e.IDs) == 0:
		return refuse(RuleInboxNothing, "move names no message")
	}
	for i, id := range e.IDs {
		if err := checkID("message id", id); err != nil {
			return err
		}
		if slices.Contains(e.IDs[:i], id) {
			return refuse(RuleInboxDuplicate, "message %s is moved twice", id)
		}
	}
	return nil
}
