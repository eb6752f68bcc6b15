package explore

import (
	"slices"
	"strings"
)

// Promote moves a pending message to the head of a list, its own if target is empty. Like every edit of §3.3 it wakes nobody.
func (m *Model) Promote(id, target string) bool {
	for _, own := range []string{"next-step", "next-turn"} {
		list := m.list(own)
		i := slices.Index(*list, id)
		if i < 0 {
			continue
		}
		if target == "" {
			target = own
		}
		if target != own || i > 0 {
			*list = slices.Delete(*list, i, i+1)
			to := m.list(target)
			*to = slices.Insert(*to, 0, id)
			m.log("ISm(%s@0:%s)", target, id)
		}
		return true
	}
	return false
}

// Reorder gives a list another order of its messages; what stays at both ends is not named.
func (m *Model) Reorder(target string, ids []string) {
	list := m.list(target)
	start, end := 0, len(ids)
	for start < end && ids[start] == (*list)[start] {
		start++
	}
	for end > start && ids[end-1] == (*list)[end-1] {
		end--
	}
	if start < end {
		m.log("ISm(%s@%d:%s)", target, start, strings.Join(ids[start:end], ","))
	}
	*list = slices.Clone(ids)
}

// Interrupt sends a followup that cancels what runs, keeps the inbox and comes before everything that is queued.
func (m *Model) Interrupt(id string) string {
	if m.Stage == Gone {
		return "refused"
	}
	if m.Cause == "" {
		m.Cancel("user", true)
	}
	m.NextTurn = slices.Insert(m.NextTurn, 0, id)
	m.log("IS+(next-turn:%s)", id)
	return m.wake("next-turn")
}
