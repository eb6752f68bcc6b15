package stream

import (
	"context"
	"iter"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func notice(session, name string) Frame { return Frame{Session: session, Kind: KindNotice, Name: name} }

// first takes n frames and leaves the loop.
func first(seq iter.Seq[Frame], n int) []Frame {
	var out []Frame
	for f := range seq {
		if out = append(out, f); len(out) == n {
			break
		}
	}
	return out
}

func (m *Memory) sizes() (topics, subscribers, hints int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.topics {
		subscribers += len(t.subscribers)
	}
	return len(m.topics), subscribers, len(m.hints)
}

func requireNobody(t *testing.T, m *Memory) {
	t.Helper()
	topics, subscribers, hints := m.sizes()
	require.Zero(t, topics)
	require.Zero(t, subscribers)
	require.Zero(t, hints)
}

func TestSubscribersGetTheirSessionsFramesInOrder(t *testing.T) {
	t.Parallel()
	var m Memory
	a1, a2 := m.Subscribe(t.Context(), "a"), m.Subscribe(t.Context(), "a")
	b := m.Subscribe(t.Context(), "b")
	for _, name := range []string{"1", "2", "3"} {
		m.Publish(notice("a", name))
		m.Publish(notice("c", name))
	}
	m.Publish(notice("b", "4"))
	one, two := first(a1, 3), first(a2, 3)
	require.Equal(t, one, two)
	for i, f := range one {
		require.Equal(t, []string{"1", "2", "3"}[i], f.Name)
		require.EqualValues(t, i+1, f.Revision)
	}
	require.Equal(t, "4", first(b, 1)[0].Name)
	requireNobody(t, &m)
}

func TestRevisionsRiseAcrossSubscriptions(t *testing.T) {
	t.Parallel()
	var m Memory
	last := int64(0)
	for range 3 {
		m.Publish(notice("a", "nobody listens"))
		s := m.Subscribe(t.Context(), "a")
		m.Publish(notice("a", "x"))
		m.Publish(notice("a", "y"))
		got := first(s, 2)
		require.Greater(t, got[0].Revision, last)
		require.Equal(t, got[0].Revision+1, got[1].Revision)
		last = got[1].Revision
		requireNobody(t, &m)
	}
}

func TestSlowSubscriberIsToldOfTheGap(t *testing.T) {
	t.Parallel()
	m := Memory{Buffer: 4}
	slow, quick := m.Subscribe(t.Context(), "a"), m.Subscribe(t.Context(), "a")
	next, stop := iter.Pull(quick)
	defer stop()
	for i := range 10 {
		m.Publish(Frame{Session: "a", Kind: KindChunk, N: i})
		f, ok := next()
		require.True(t, ok)
		require.Equal(t, i, f.N, "the quick one is not disturbed")
	}
	got := first(slow, 5)
	require.Equal(t, Frame{Session: "a", Kind: KindGap, Revision: 6, N: 6}, got[0])
	for i, f := range got[1:] {
		require.Equal(t, 6+i, f.N)
		require.EqualValues(t, 7+i, f.Revision)
	}
}

func TestReaderWaitsForFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		ctx, cancel := context.WithCancel(t.Context())
		s := m.Subscribe(ctx, "a")
		var got []string
		var wg sync.WaitGroup
		wg.Go(func() {
			for f := range s {
				got = append(got, f.Name)
			}
		})
		for _, name := range []string{"1", "2", "3"} {
			synctest.Wait()
			m.Publish(notice("a", name))
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		require.Equal(t, []string{"1", "2", "3"}, got)
		synctest.Wait()
		requireNobody(t, &m)
	})
}

func TestSubscriptionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		ctx, cancel := context.WithCancel(t.Context())
		never := m.Subscribe(ctx, "a")
		m.Publish(notice("a", "1"))
		cancel()
		synctest.Wait()
		requireNobody(t, &m)
		require.Empty(t, first(never, 1), "a dead subscription yields nothing")
		require.Empty(t, first(m.Subscribe(ctx, "a"), 1), "nor does one that is born dead")
		synctest.Wait()
		requireNobody(t, &m)
	})
}

func TestSequenceCanBeUsedOnce(t *testing.T) {
	t.Parallel()
	var m Memory
	s := m.Subscribe(t.Context(), "a")
	m.Publish(notice("a", "1"))
	m.Publish(notice("a", "2"))
	require.Len(t, first(s, 1), 1)
	require.Empty(t, first(s, 1))
	requireNobody(t, &m)
}

func TestManyPublishersAndSubscribers(t *testing.T) {
	t.Parallel()
	const publishers, each = 8, 200
	m := Memory{Buffer: publishers * each}
	var readers, writers sync.WaitGroup
	for range 4 {
		s := m.Subscribe(t.Context(), "a")
		readers.Go(func() {
			last := int64(0)
			for _, f := range first(s, publishers*each) {
				if f.Kind == KindGap || f.Revision != last+1 {
					t.Errorf("revision %d after %d", f.Revision, last)
					return
				}
				last = f.Revision
			}
		})
	}
	for range publishers {
		writers.Go(func() {
			for range each {
				m.Publish(notice("a", "x"))
				_, stop := m.OnHint("a", "e")
				ctx, cancel := context.WithCancel(t.Context())
				m.Subscribe(ctx, "a")
				m.Hint("a", "e")
				cancel()
				stop()
			}
		})
	}
	writers.Wait()
	readers.Wait()
}

func TestHints(t *testing.T) {
	t.Parallel()
	var m Memory
	m.Hint("a", "1")
	one, stopOne := m.OnHint("a", "1")
	two, stopTwo := m.OnHint("a", "1")
	other, stopOther := m.OnHint("a", "2")
	require.Empty(t, one, "an earlier hint is lost")
	m.Hint("a", "1")
	m.Hint("a", "1")
	require.Len(t, one, 1)
	require.Len(t, two, 1)
	require.Empty(t, other)
	<-one
	stopTwo()
	m.Hint("a", "1")
	require.Len(t, one, 1)
	stopOne()
	stopOne()
	stopOther()
	requireNobody(t, &m)
}

func BenchmarkPublish(b *testing.B) {
	for name, subscribers := range map[string]int{"nobody": 0, "one": 1, "ten": 10} {
		b.Run(name, func(b *testing.B) {
			var m Memory
			for range subscribers {
				m.Subscribe(b.Context(), "a")
			}
			b.ReportAllocs()
			for b.Loop() {
				m.Publish(Frame{Session: "a", Kind: KindChunk})
			}
		})
	}
}
