package session

import (
	"reflect"
	"slices"
)

// An Inbox is the pending input of an agent: two ordered lists. Its methods compute the splice to log; [Inbox.Apply]
// performs a logged one. None of them changes a message or shares memory with the caller's copy. See spec §2.4.1.
type Inbox struct {
	NextTurn []Message `json:"nextTurn,omitempty"`
	NextStep []Message `json:"nextStep,omitempty"`
}

// Empty reports whether nothing is pending.
func (b Inbox) Empty() bool { return len(b.NextTurn) == 0 && len(b.NextStep) == 0 }

// list returns the list of a name, nil for an unknown name.
func (b *Inbox) list(name string) *[]Message {
	switch name {
	case NextTurn:
		return &b.NextTurn
	case NextStep:
		return &b.NextStep
	default:
		return nil
	}
}

// Find says where a message is pending.
func (b Inbox) Find(id string) (list string, index int, ok bool) {
	for _, name := range [...]string{NextStep, NextTurn} {
		for i, m := range *b.list(name) {
			if m.ID == id {
				return name, i, true
			}
		}
	}
	return "", 0, false
}

// Insert adds m to the tail of a list. It is refused when m is no user message, is not lossless JSON or is pending.
func (b Inbox) Insert(list string, m Message) (InboxSpliced, error) {
	items := b.list(list)
	if items == nil {
		return InboxSpliced{}, unknownList(list)
	}
	s := InboxSpliced{Target: list, Start: len(*items), Inserted: []Message{m}}
	return s, b.check(s)
}

// ClaimStep takes all of next-step; nil when there is nothing. See spec §4.3.1.
func (b Inbox) ClaimStep() *InboxSpliced { return claim(NextStep, len(b.NextStep)) }

// ClaimTurn takes the head of next-turn; nil when there is nothing. See spec §4.3.2.
func (b Inbox) ClaimTurn() *InboxSpliced { return claim(NextTurn, min(1, len(b.NextTurn))) }

func claim(list string, n int) *InboxSpliced {
	if n == 0 {
		return nil
	}
	return &InboxSpliced{Target: list, RemovedCount: n, Inserted: []Message{}}
}

// Remove discards a pending message; ok says whether it was pending. See spec §3.3.
func (b Inbox) Remove(id string) (s *InboxSpliced, ok bool) {
	list, i, ok := b.Find(id)
	if !ok {
		return nil, false
	}
	return &InboxSpliced{Target: list, Start: i, RemovedCount: 1, Inserted: []Message{}, Outcome: OutcomeCanceled}, true
}

// Replace puts m in the place of a pending message; ok says whether that was pending. See spec §3.3.
func (b Inbox) Replace(id string, m Message) (s *InboxSpliced, ok bool, err error) {
	if s, ok = b.Remove(id); !ok {
		return nil, false, nil
	}
	s.Inserted = []Message{m}
	if err := b.check(*s); err != nil {
		return nil, true, err
	}
	return s, true, nil
}

// Clear discards everything, next-step first: one splice for each list that is not empty. See spec §3.3.
func (b Inbox) Clear() []InboxSpliced {
	var out []InboxSpliced
	for _, name := range [...]string{NextStep, NextTurn} {
		if n := len(*b.list(name)); n > 0 {
			out = append(out, InboxSpliced{Target: name, RemovedCount: n, Inserted: []Message{}, Outcome: OutcomeCanceled})
		}
	}
	return out
}

// Splice clamps the caller's coordinates like a normal list splice: a negative start counts from the end, what lies
// beyond the end is the end. It is nil when nothing would change. See spec §2.4.1.
func (b Inbox) Splice(list string, start, remove int, insert ...Message) (*InboxSpliced, error) {
	items := b.list(list)
	if items == nil {
		return nil, unknownList(list)
	}
	n := len(*items)
	if start < 0 {
		start = max(0, start+n)
	}
	start = min(start, n)
	remove = min(max(0, remove), n-start)
	if remove == 0 && len(insert) == 0 {
		return nil, nil
	}
	s := InboxSpliced{Target: list, Start: start, RemovedCount: remove, Inserted: append([]Message{}, insert...)}
	if remove > 0 {
		s.Outcome = OutcomeCanceled
	}
	if err := b.check(s); err != nil {
		return nil, err
	}
	return &s, nil
}

// Apply performs a logged splice, strictly: one that does not fit is refused and changes nothing.
func (b *Inbox) Apply(s InboxSpliced) error {
	if err := b.check(s); err != nil {
		return err
	}
	*b = b.clip()
	b.splice(s)
	return nil
}

// clip makes a copy whose appends the original never sees.
func (b Inbox) clip() Inbox {
	return Inbox{NextTurn: slices.Clip(b.NextTurn), NextStep: slices.Clip(b.NextStep)}
}

// splice performs a checked splice. Appending may use spare capacity, which only the owner of the list may do.
func (b *Inbox) splice(s InboxSpliced) {
	items := b.list(s.Target)
	switch {
	case s.Start == len(*items):
		*items = append(*items, s.Inserted...)
	case s.Start == 0 && len(s.Inserted) == 0:
		*items = (*items)[s.RemovedCount:]
	default:
		*items = slices.Concat((*items)[:s.Start], s.Inserted, (*items)[s.Start+s.RemovedCount:])
	}
	if len(*items) == 0 {
		*items = nil
	}
}

// check refuses a splice that does not fit. See spec §2.4.1.
func (b Inbox) check(s InboxSpliced) error {
	if err := firstOf(checkSpliceShape(s), checkInserted(s.Inserted)); err != nil {
		return err
	}
	items := *b.list(s.Target)
	if s.Start > len(items) || s.RemovedCount > len(items)-s.Start {
		return refuse(RuleInboxRange, "splice removes %d at %d of %s, which has %d messages", s.RemovedCount, s.Start, s.Target, len(items))
	}
	return b.checkFree(s)
}

// checkSpliceShape checks what can be said without the lists.
func checkSpliceShape(s InboxSpliced) error {
	removes, inserts := s.RemovedCount > 0, len(s.Inserted) > 0
	switch {
	case s.Target != NextTurn && s.Target != NextStep:
		return unknownList(s.Target)
	case s.Start < 0 || s.RemovedCount < 0:
		return refuse(RuleInboxRange, "splice has a negative position or count")
	case !removes && !inserts:
		return refuse(RuleInboxNothing, "splice removes nothing and inserts nothing")
	case s.Outcome != "" && s.Outcome != OutcomeCanceled:
		return refuse(RuleInboxOutcome, "unknown outcome %.40q", s.Outcome)
	case s.Outcome != "" && !removes:
		return refuse(RuleInboxOutcome, "outcome %s, but nothing is removed", s.Outcome)
	case s.Outcome == "" && removes && inserts:
		return refuse(RuleInboxOutcome, "a claim is a pure deletion; a replacement has outcome %s", OutcomeCanceled)
	}
	return nil
}

func checkInserted(messages []Message) error {
	for _, m := range messages {
		if err := checkMessage(m, RoleUser); err != nil {
			return err
		}
		if err := lossless(reflect.ValueOf(m)); err != nil {
			return refuse(RuleData, "message %s is not lossless JSON: %v", m.ID, err)
		}
	}
	return nil
}

// checkFree refuses an inserted id that is pending in either list and not removed by the same splice.
func (b Inbox) checkFree(s InboxSpliced) error {
	for i, m := range s.Inserted {
		for _, other := range s.Inserted[:i] {
			if other.ID == m.ID {
				return refuse(RuleInboxDuplicate, "message %s is inserted twice", m.ID)
			}
		}
		list, at, ok := b.Find(m.ID)
		removed := list == s.Target && at >= s.Start && at < s.Start+s.RemovedCount
		if ok && !removed {
			return refuse(RuleInboxDuplicate, "message %s is already pending in %s", m.ID, list)
		}
	}
	return nil
}

func unknownList(name string) error {
	return refuse(RuleInboxTarget, "unknown inbox list %.40q, want %s or %s", name, NextTurn, NextStep)
}

// checkMessage checks the id and the role of a message. See spec §2.3.
func checkMessage(m Message, role Role) error {
	if m.Role != role {
		return refuse(RuleMessage, "message %.40q has role %.40q, want %s", m.ID, m.Role, role)
	}
	if nestsResult(m.Content) {
		return refuse(RuleMessage, "message %.40q: %v", m.ID, errNestedResult)
	}
	return checkID("message id", m.ID)
}

func nestsResult(c Content) bool {
	for _, b := range c {
		result, _ := b.(ToolResultBlock)
		for _, inner := range result.Content {
			if _, ok := inner.(ToolResultBlock); ok {
				return true
			}
		}
	}
	return false
}
