package session

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// chunked is a log with one step that streamed n chunks.
func chunked(b *testing.B, n int) []Record {
	return newScribe(b, fmt.Sprintf("%s UM(a) RH(initial) CH×%d AM SE TE(completed)", opened, n)).log.Records()
}

func BenchmarkFoldChunks(b *testing.B) {
	for _, n := range []int{1000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			records := chunked(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Fold(0, records); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/chunk")
		})
	}
}

// BenchmarkFoldTurns shows that the cost of an event does not grow with the log.
func BenchmarkFoldTurns(b *testing.B) {
	for _, turns := range []int{100, 10_000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			s := newScribe(b)
			for i := range turns {
				s.write(fmt.Sprintf("IS+(next-turn:m%d) TS%d IS-(next-turn:1) SS%d.1 UM(m%d) CH×4 AM[c] TC(c) TR(c) SE TE(completed)", i, i+1, i+1, i))
			}
			records := s.log.Records()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Fold(0, records); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(records)), "ns/event")
		})
	}
}

// BenchmarkReplacements shadows one node over and over, on a long surface.
func BenchmarkReplacements(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newScribe(b)
			for range n {
				s.write("UM(a)")
			}
			state, last := s.log.State().Clone(), int64(0)
			b.ReportAllocs()
			for b.Loop() {
				r := NewRecord(1, UserMessage{user("s")}, last)
				r.Seq, r.Surface = state.Count(), ReplaceOp(last, last)
				if err := state.Apply(r); err != nil {
					b.Fatal(err)
				}
				last = r.Seq
			}
		})
	}
}

func BenchmarkClone(b *testing.B) {
	s := newScribe(b, goldenTurn1, goldenTurn2).log.State()
	b.ReportAllocs()
	for b.Loop() {
		s.Clone()
	}
}

func BenchmarkAssemble(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		a := &Assembler{}
		for range 50_000 {
			a.Add(TextDelta{Text: "four"})
		}
		if c, _ := a.Message(); len(c.Text()) != 200_000 {
			b.Fatal("lost text")
		}
	}
}

func BenchmarkReadChunks(b *testing.B) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, r := range chunked(b, 10_000) {
		if err := w.Write(r); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(buf.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseLog(buf.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteChunks(b *testing.B) {
	records := chunked(b, 10_000)
	w := NewWriter(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range records {
			if err := w.Write(r); err != nil {
				b.Fatal(err)
			}
		}
	}
}
