package session

import (
	"cmp"
	"iter"
	"slices"
	"sync/atomic"
)

// surface is the ordered list of the events that produce model messages, after replacements. See spec §1, §2.1.
//
// A node keeps the slot it was given for life; a replacement takes the slot of its first shadowed node and empties the
// others, so order is slot order. Nodes only grow and are sorted by seq, which makes both look-up and append cheap;
// dead ones are swept when they outnumber the living.
type surface struct {
	nodes []node
	slots []int32 // index of the node that lives there, or gone
	live  int

	shared atomic.Bool // a clone reads slots: copy them before writing in place
}

type node struct {
	rec  Record
	slot int32
}

const gone = -1

// sweepSlack is how many dead nodes are always tolerated.
const sweepSlack = 64

// cloneInto makes to a copy that sees none of from's later changes, nor the other way round.
func (from *surface) cloneInto(to *surface) {
	from.shared.Store(true)
	to.nodes, to.slots, to.live = slices.Clip(from.nodes), slices.Clip(from.slots), from.live
	to.shared.Store(true)
}

// append adds a node at the tail.
func (s *surface) append(r Record) {
	s.slots = append(s.slots, int32(len(s.nodes)))
	s.nodes = append(s.nodes, node{r, int32(len(s.slots) - 1)})
	s.live++
}

// find returns the slot of a node that is on the surface.
func (s *surface) find(seq int64) (slot int, ok bool) {
	i, ok := slices.BinarySearchFunc(s.nodes, seq, func(n node, seq int64) int { return cmp.Compare(n.rec.Seq, seq) })
	if !ok {
		return 0, false
	}
	slot = int(s.nodes[i].slot)
	return slot, s.slots[slot] == int32(i)
}

// span yields the nodes from one slot to another, both included, in order.
func (s *surface) span(first, last int) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for _, i := range s.slots[first : last+1] {
			if i != gone && !yield(s.nodes[i].rec) {
				return
			}
		}
	}
}

// all yields the whole surface in order.
func (s *surface) all() iter.Seq[Record] { return s.span(0, len(s.slots)-1) }

// replace puts r in the place of the nodes from one slot to another, both included.
func (s *surface) replace(r Record, first, last int) {
	if s.shared.Load() {
		s.slots = slices.Clone(s.slots)
		s.shared.Store(false)
	}
	for i := first; i <= last; i++ {
		if s.slots[i] != gone {
			s.slots[i] = gone
			s.live--
		}
	}
	s.slots[first] = int32(len(s.nodes))
	s.nodes = append(s.nodes, node{r, int32(first)})
	s.live++
	if len(s.nodes) > 2*s.live+sweepSlack {
		s.sweep()
	}
}

// sweep drops dead nodes and empty slots.
func (s *surface) sweep() {
	moved := make([]int32, len(s.slots)) // old slot to new slot
	n := int32(0)
	for i, at := range s.slots {
		moved[i] = n
		if at != gone {
			n++
		}
	}
	nodes, slots := make([]node, 0, s.live), make([]int32, s.live)
	for i, nd := range s.nodes {
		if s.slots[nd.slot] == int32(i) {
			slot := moved[nd.slot]
			slots[slot] = int32(len(nodes))
			nodes = append(nodes, node{nd.rec, slot})
		}
	}
	s.nodes, s.slots = nodes, slots
}
