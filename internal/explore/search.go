package explore

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/session"
)

// A Report says what a search has seen.
type Report struct {
	World       string
	States      int // distinct
	Transitions int
	Depth       int // moves of the longest shortest path
	Rest        int // states in which the agent is idle
	Closed      int // states in which it is disposed
	Moved       int // rollovers
}

func (r Report) String() string {
	return fmt.Sprintf("%-12s %8d states, %9d transitions, depth %2d, idle in %d, closed in %d, %d rollovers",
		r.World, r.States, r.Transitions, r.Depth, r.Rest, r.Closed, r.Moved)
}

// A Violation is a broken law with a shortest path to it.
type Violation struct {
	World string
	Path  []string // moves, each with the phase it met and what was logged
	Law   error
}

func (v *Violation) Error() string {
	return fmt.Sprintf("world %s: %v\n%s", v.World, v.Law, strings.Join(v.Path, "\n"))
}

func (v *Violation) Unwrap() error { return v.Law }

// errTooMany ends a search that found no end within its limit.
var errTooMany = errors.New("more states than the limit")

// A step leads from one found state to another.
type step struct {
	from int32 // index of the state, -1 for the first
	move int16 // index among its moves
}

// A search is one breadth-first walk.
type search struct {
	world *World
	fault Fault
	limit int
	seen  map[Key]bool
	steps []step // how each state was found, by index
	out   Report
}

// A found state waits to be expanded.
type found struct {
	node  *node
	index int32
}

// A child is a state that a move led to; node is nil if it was seen before.
type child struct {
	step step
	key  Key
	node *node
	roll bool
}

// Search explores a world, with a fault if it is not nil, and returns the first [Violation], if any. It gives up with
// an error beyond limit states; 0 means none.
func Search(w *World, f Fault, limit int) (Report, error) {
	s := &search{world: w, fault: f, limit: limit, seen: map[Key]bool{}, out: Report{World: w.Name}}
	root := newNode(w, f)
	root.check()
	if root.err != nil {
		return s.out, &Violation{World: w.Name, Law: root.err}
	}
	level, err := s.visit([]child{{step: step{from: -1}, key: root.key(), node: root}})
	for ; err == nil && len(level) > 0; s.out.Depth++ {
		level, err = s.expand(level)
	}
	s.out.States = len(s.steps)
	return s.out, err
}

// block bounds how many states are expanded before the new ones are collected.
const block = 256

// expand tries every move of every state of a level.
func (s *search) expand(level []found) ([]found, error) {
	var next []found
	for len(level) > 0 {
		n := min(block, len(level))
		more, err := s.visit(s.tryAll(level[:n]))
		if err != nil {
			return nil, err
		}
		next, level = append(next, more...), level[n:]
	}
	return next, nil
}

// tryAll makes the children of a block, on all processors, in an order that does not depend on them.
func (s *search) tryAll(level []found) []child {
	children := make([][]child, len(level))
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := w; i < len(level); i += workers {
				children[i] = s.try(level[i])
				level[i].node = nil
			}
		}()
	}
	wg.Wait()
	var all []child
	for _, c := range children {
		all = append(all, c...)
	}
	return all
}

// try makes the children of one state.
func (s *search) try(f found) []child {
	n := f.node
	if n.err = restores(n); n.err == nil {
		n.err = ignores(n)
	}
	if n.err != nil {
		return []child{{step: s.steps[f.index], node: n}}
	}
	var out []child
	for i, m := range n.moves() {
		c := n.after(m)
		key := c.key()
		if c.err == nil && s.seen[key] {
			c = nil
		}
		out = append(out, child{step{f.index, int16(i)}, key, c, m.name == rollOver})
	}
	return out
}

// visit takes the children that are new.
func (s *search) visit(children []child) ([]found, error) {
	var fresh []found
	for _, c := range children {
		s.out.Transitions++
		if c.roll {
			s.out.Moved++
		}
		if c.node != nil && c.node.err != nil {
			return nil, s.violation(c)
		}
		if s.seen[c.key] {
			continue
		}
		s.seen[c.key] = true
		s.steps = append(s.steps, c.step)
		s.tally(c.node)
		fresh = append(fresh, found{c.node, int32(len(s.steps) - 1)})
	}
	if s.limit > 0 && len(s.steps) > s.limit {
		return nil, fmt.Errorf("world %s: %w of %d", s.world.Name, errTooMany, s.limit)
	}
	return fresh, nil
}

func (s *search) tally(n *node) {
	switch n.model.Stage {
	case Rest:
		s.out.Rest++
	case Gone:
		s.out.Closed++
	}
}

// violation walks the path again, to show it.
func (s *search) violation(c child) error {
	moves := []int16{}
	for at := c.step; at.from >= 0; at = s.steps[at.from] {
		moves = append([]int16{at.move}, moves...)
	}
	v := &Violation{World: s.world.Name, Law: c.node.err}
	n := newNode(s.world, s.fault)
	n.check()
	for _, i := range moves {
		m := n.moves()[i]
		phase := n.state.Phase
		n = n.after(m)
		v.Path = append(v.Path, fmt.Sprintf("  %-11s %s   [%s]", phase, m.name, session.Trace(n.fresh, nil)))
	}
	return v
}

// restores: what a rollover would carry is all there is. The state and the one restored from its JSON are the same, and
// so is everything that follows, for the driver knows nothing else.
func restores(n *node) error {
	restored, err := n.state.Clone()
	if err != nil {
		return fmt.Errorf("the state cannot be restored: %w", err)
	}
	c := *n
	c.state = restored
	if c.key() != n.key() {
		return errors.New("the restored state is another one")
	}
	if n.key()[0]%sample != 0 {
		return nil
	}
	for _, m := range n.moves() {
		if a, b := n.after(m), c.after(m); a.err == nil && (b.err != nil || a.key() != b.key()) {
			return fmt.Errorf("the restored state behaves differently at: %s", m.name)
		}
	}
	return nil
}

// sample: one state in so many is left by every move twice, as it is and restored.
const sample = 32

// ignores: what answers nothing that is open changes nothing.
func ignores(n *node) error {
	if n.closed {
		return nil
	}
	for _, in := range []driver.Input{
		driver.StepDone{ID: "step-0"}, driver.StepLost{ID: "step-0"}, driver.ToolDone{ID: "tool-0"}, driver.ToolLost{ID: "tool-0"},
		driver.Persisted{ID: "persist-0"}, driver.PersistFailed{ID: "persist-0"}, driver.TimerFired{ID: "retry-0"},
		driver.HookDone{ID: "hook-0"}, driver.MaintainDone{ID: "maintain-0"}, driver.Decided{ID: "0.0.c0", Grant: true},
	} {
		c := n.clone()
		if c.input(in); len(c.fresh) > 0 || len(c.open) != len(n.open) {
			return fmt.Errorf("an answer to nothing, %T, does something", in)
		}
		if c.err != nil {
			return c.err
		}
	}
	return nil
}
