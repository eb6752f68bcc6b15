package driver

import (
	"slices"
	"strconv"
	"strings"

	"github.com/everturn/everturn/session"
)

// fatesLimit bounds the bytes of State.Fates: a state with a full inbox stays small. What does not fit, the log knows.
const fatesLimit = 2 << 10

// ended remembers what became of a message, for callers who await it. how is more of it: the cause of a discard, with the
// id of what took its place; of a claimed message its step, with the reason why it was dropped.
func (d *Driver) ended(e Ended, how string) {
	s := d.state
	s.Ended = append(s.Ended, e)
	if n := len(s.Ended) - endedLimit; n > 0 {
		s.Ended = slices.Delete(s.Ended, 0, n)
	}
	s.Fates = append(s.Fates, how)
	bytes, first := 0, len(s.Fates)
	for first > 0 && len(s.Fates)-first < len(s.Ended) && bytes+len(s.Fates[first-1]) <= fatesLimit {
		first--
		bytes += len(s.Fates[first])
	}
	s.Fates = slices.Delete(s.Fates, 0, first)
}

// noteClaim remembers which step the batch was claimed for. States of earlier workers say it of none.
func (d *Driver) noteClaim() {
	s := d.state
	for len(s.ClaimedAt) < len(s.Claimed) {
		s.ClaimedAt = slices.Insert(s.ClaimedAt, 0, 0)
	}
	for _, id := range s.Batch {
		s.Claimed, s.ClaimedAt = append(s.Claimed, id), append(s.ClaimedAt, d.proposed())
	}
	s.Claimed, s.ClaimedAt = bounded(s.Claimed), bounded(s.ClaimedAt)
}

// endClaimed remembers what became of the messages of a turn that ends. Who was given up by this very input was so
// because the turn ends; who was before, a gate kept out of a step.
func (d *Driver) endClaimed(kind session.TurnKind) {
	s := d.state
	for i, id := range s.Claimed {
		e := Ended{ID: id, Turn: s.Turn, Kind: kind, Dropped: slices.Contains(s.Dropped, id)}
		how := strconv.Itoa(s.claimedAt(i))
		switch {
		case e.Dropped && slices.Contains(d.last, id):
			how += " " + session.DropReason(kind)
		case e.Dropped:
			how += " " + session.DropRewritten
		}
		d.ended(e, how)
	}
}

// claimedAt is the step that the i-th of State.Claimed was claimed for; 0 if that is not known.
func (s *State) claimedAt(i int) int {
	if i -= len(s.Claimed) - len(s.ClaimedAt); i >= 0 {
		return s.ClaimedAt[i]
	}
	return 0
}

// Fate is where a message is, or what became of it, as far as the agent remembers it; the log knows all. See
// [session.Fate].
func (s *State) Fate(id string) session.Fate {
	if list, ok := s.pendingIn(id); ok {
		return session.Fate{State: session.FatePending, Target: list, Edited: s.edited(id)}
	}
	if i := slices.Index(s.Claimed, id); i >= 0 {
		return s.claimedFate(id, i)
	}
	for i := len(s.Ended) - 1; i >= 0; i-- {
		if s.Ended[i].ID == id {
			return s.endedFate(i)
		}
	}
	return session.Fate{}
}

func (s *State) pendingIn(id string) (list string, ok bool) {
	is := func(p Pending) bool { return p.ID == id }
	switch {
	case slices.ContainsFunc(s.NextStep, is):
		return session.NextStep, true
	case slices.ContainsFunc(s.NextTurn, is):
		return session.NextTurn, true
	default:
		return "", false
	}
}

// edited reports whether what is known last of a message is that it was replaced under its own id.
func (s *State) edited(id string) bool {
	for i := len(s.Ended) - 1; i >= 0; i-- {
		if s.Ended[i].ID == id {
			return s.endedFate(i).ReplacedBy == id
		}
	}
	return false
}

func (s *State) claimedFate(id string, i int) session.Fate {
	f := session.Fate{State: session.FateClaimed, Turn: s.Turn, Step: s.claimedAt(i), Edited: s.edited(id)}
	switch {
	case slices.Contains(s.Dropped, id):
		f.Reason = session.DropRewritten
	case !slices.Contains(s.Batch, id):
		f.Consumed = true
	}
	return f
}

func (s *State) endedFate(i int) session.Fate {
	e, how, more := s.Ended[i], "", ""
	if j := i - (len(s.Ended) - len(s.Fates)); j >= 0 {
		how, more, _ = strings.Cut(s.Fates[j], " ")
	}
	if e.Discarded {
		return session.Fate{State: session.FateDiscarded, Cause: how, ReplacedBy: more}
	}
	f := session.Fate{State: session.FateEnded, Turn: e.Turn, Kind: e.Kind, Consumed: !e.Dropped, Reason: more}
	if e.Dropped {
		f.State = session.FateDropped
	}
	f.Step, _ = strconv.Atoi(how) // 0 is unknown
	return f
}
