package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
)

// A long conversation: 200,000 tokens, one chunk event per 4 tokens, 100 turns.
const (
	benchTurns  = 100
	benchChunks = 500
)

// longLog appends the conversation, one segment per turn.
func longLog(b *testing.B, s *store.Store) store.Head {
	b.Helper()
	records := storetest.Conversation(benchTurns, benchChunks)
	var head store.Head
	for per := len(records) / benchTurns; len(records) > 0; {
		n := min(per, len(records))
		var err error
		head, err = s.Append(b.Context(), "s", 0, head, records[:n])
		require.NoError(b, err)
		records = records[n:]
	}
	return head
}

func BenchmarkFold(b *testing.B) {
	dir := b.TempDir()
	head := longLog(b, open(b, dir, store.Options{Sync: store.SyncNone}))
	fold := func(b *testing.B, s *store.Store) {
		st, err := s.State(b.Context(), "s", head)
		require.NoError(b, err)
		require.Equal(b, head.Count, st.Count())
	}
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fold(b, open(b, dir, store.Options{}))
		}
	})
	b.Run("warm", func(b *testing.B) {
		s := open(b, dir, store.Options{})
		fold(b, s)
		b.ReportAllocs()
		for b.Loop() {
			fold(b, s)
		}
	})
}

func BenchmarkExport(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, store.Options{Sync: store.SyncNone})
	head := longLog(b, s)
	b.ReportAllocs()
	for b.Loop() {
		n := int64(0)
		for _, err := range s.Records(b.Context(), "s", head, 0) {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, head.Count, n)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, sync := range []string{store.SyncFull, store.SyncNone} {
		for name, chunks := range map[string]int{"short": 4, "long": benchChunks} {
			b.Run(sync+"/"+name, func(b *testing.B) {
				s := open(b, b.TempDir(), store.Options{Sync: sync})
				records := storetest.Conversation(1, chunks)
				i := int64(0)
				b.ReportAllocs()
				for b.Loop() {
					i++
					records[0].Time = i // another segment every time
					_, err := s.Append(b.Context(), "s", 0, store.Head{}, records)
					require.NoError(b, err)
				}
			})
		}
	}
}
