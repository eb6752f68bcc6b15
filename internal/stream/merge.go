package stream

import (
	"cmp"
	"iter"
	"slices"
)

// A Merged is a frame in its order for a reader.
type Merged struct {
	Frame
	// Reset: this frame begins a new attempt or execution of a step of which something was shown already. That is
	// superseded: take it away.
	Reset bool
	// Missing: frames between the one before and this one were not seen. What is shown is incomplete until the log is read.
	Missing bool
}

// A Merger puts stream frames of one agent, from several sources and with repetitions, into the order of their turn,
// step, attempt, execution and n. The zero value is ready. It is not safe for concurrent use.
type Merger struct {
	last  Frame // the last stream frame that passed
	begun bool
}

// Add takes a frame. ok is false if a reader must not see it: it came before, or belongs to what was superseded.
// Notices and gaps always pass.
func (m *Merger) Add(f Frame) (out Merged, ok bool) {
	out = Merged{Frame: f}
	if !f.streams() {
		return out, true
	}
	if m.begun && compare(f, m.last) <= 0 {
		return out, false
	}
	same := m.begun && sameExecution(f, m.last)
	out.Reset = !same && m.begun && f.Turn == m.last.Turn && f.Step == m.last.Step
	out.Missing = same && f.N != m.last.N+1 || !same && f.N != 0
	m.last, m.begun = f, true
	return out, true
}

// Merge yields recorded frames in order and then the live ones that go on from there.
func Merge(recorded []Frame, live iter.Seq[Frame]) iter.Seq[Merged] {
	return func(yield func(Merged) bool) {
		var m Merger
		for _, f := range slices.SortedStableFunc(slices.Values(recorded), compareRecorded) {
			if out, ok := m.Add(f); ok && !yield(out) {
				return
			}
		}
		for f := range live {
			if out, ok := m.Add(f); ok && !yield(out) {
				return
			}
		}
	}
}

// streams reports whether the frame has a place in a stream.
func (f Frame) streams() bool { return f.Kind == KindStart || f.Kind == KindChunk || f.Kind == KindEnd }

// compareRecorded keeps frames without a place where they are, before the stream.
func compareRecorded(a, b Frame) int {
	if !a.streams() || !b.streams() {
		return cmp.Compare(rank(a), rank(b))
	}
	return compare(a, b)
}

func rank(f Frame) int {
	if f.streams() {
		return 1
	}
	return 0
}

func compare(a, b Frame) int {
	return cmp.Or(
		cmp.Compare(a.Turn, b.Turn),
		cmp.Compare(a.Step, b.Step),
		cmp.Compare(a.Attempt, b.Attempt),
		cmp.Compare(a.Execution, b.Execution),
		cmp.Compare(a.N, b.N),
	)
}

func sameExecution(a, b Frame) bool {
	b.N = a.N
	return compare(a, b) == 0
}
