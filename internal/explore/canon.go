package explore

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
)

// A Key identifies a state up to the names of things.
type Key [16]byte

// A form is what makes two states the same: the driver's state without its counters, what runs, what may still happen.
type form struct {
	State  driver.State
	Open   []string
	Calls  []view
	Fates  []fate
	Purse  Purse
	Twist  int8
	Header bool
	Tail   [3]bool // events are lent, wait to be, wait for a seq
	Held   []string
	Refs   int
	Odd    []bool
}

// key writes the canonical form. Ids are renamed by role or by order, seqs, counters and times are left out.
func (n *node) key() Key {
	names := namer{}
	s := copyState(&n.state)
	f := form{Purse: n.purse, Twist: n.twist, Header: n.log.LastHeader() != nil, Refs: len(n.refs),
		Odd: []bool{n.lossy, n.model.touched, n.model.normal, n.model.cut, n.model.broken}}
	f.Tail = [3]bool{s.Log.LentN > 0, len(s.Log.Tail) > s.Log.LentN, len(s.Log.Waiting) > 0}
	names.pending(s.NextStep)
	names.pending(s.NextTurn)
	for _, list := range [][]string{s.Batch, s.Claimed, s.Dropped} {
		names.all(list)
	}
	for _, c := range n.calls {
		c.contexts = slices.Clone(c.contexts)
		names.all(c.contexts)
		f.Calls = append(f.Calls, c)
		f.Held = append(f.Held, c.key())
	}
	for _, x := range n.fates {
		if x.At == accepted || x.At == pending || x.At == claimed {
			f.Fates = append(f.Fates, fate{names.of(x.ID), x.At})
		}
	}
	slices.SortFunc(f.Fates, func(a, b fate) int { return compare(a.ID, b.ID) })
	for _, e := range n.model.Held {
		f.Held = append(f.Held, names.event(e))
	}
	f.Open = n.openByRole()
	blur(&s)
	f.State = s
	raw, err := json.Marshal(f)
	if err != nil {
		panic(fmt.Sprintf("explore: %v", err)) // plain data
	}
	sum := sha256.Sum256(raw)
	return Key(sum[:16])
}

func (n *node) openByRole() []string {
	roles := n.roles()
	var out []string
	for _, r := range n.open {
		out = append(out, fmt.Sprint(roles[r.id], r.cancelled))
	}
	slices.Sort(out)
	return out
}

// key is what the exported fields of a view leave out.
func (c *view) key() string {
	return fmt.Sprint(c.logged, c.kept, c.asked, c.cleared, c.ran, c.lost, c.over, c.done, c.want, c.contexts, c.concludes)
}

// blur leaves out of a state what does not decide: counters, times, what was, and bodies. What else an id means is said
// by the open effects' roles.
func blur(s *driver.State) {
	s.Revision, s.Generation, s.Effects, s.Turn, s.LastError, s.Ended = 0, 0, 0, 0, nil, nil
	s.Fates, s.ClaimedAt = nil, nil
	s.Seen = driver.Ring{}
	s.Step, s.Attempt = min(s.Step, 1), min(s.Attempt, 2)
	s.Log = driver.Log{Appends: s.Log.Appends, Lent: mark(s.Log.Lent), Broken: s.Log.Broken}
	s.Awaiting, s.FlushAt = mark(s.Awaiting), mark(s.FlushAt)
	s.Disposers = nil
	if s.Retry != nil {
		s.Retry = &driver.Retry{}
	}
	if s.Maintenance != nil && s.Phase != driver.Maintaining {
		s.Maintenance = nil
	} else if s.Maintenance != nil {
		s.Maintenance = &driver.Maintenance{Task: s.Maintenance.Task}
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		c.Effect, c.Seq = mark(c.Effect), 0
		if c.Out != nil {
			c.Out = &work.ToolOut{IsError: c.Out.IsError, Concludes: c.Out.Concludes, Error: c.Out.Error}
		}
		if c.Ask != nil {
			c.Ask = &driver.Wait{Timer: mark(c.Ask.Timer), Kind: c.Ask.Kind}
		}
	}
}

func mark(id string) string {
	if id == "" {
		return ""
	}
	return "*"
}
