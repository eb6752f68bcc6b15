package soak

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverySeedIsPlayedOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var played []int
	Play(t, Config{Name: "nothing", First: 17, N: 100, Lanes: 7, Must: []string{"even"}, Enough: 2}, func(r *Run, seed int) {
		mu.Lock()
		defer mu.Unlock()
		played = append(played, seed)
		r.Met("even", 1-seed%2)
	})
	slices.Sort(played)
	require.Len(t, slices.Compact(played), 100)
	require.Equal(t, []int{17, 116}, []int{played[0], played[99]})
}

func TestARunGoesOnBelowWhatIsStillPlayed(t *testing.T) {
	t.Parallel()
	r := &Run{Config: Config{First: 5, N: 10}, open: map[int]bool{}}
	for range 3 {
		_, ok := r.deal(t)
		require.True(t, ok)
	}
	r.done(7)
	r.done(5)
	require.Equal(t, 6, r.below())
	r.done(6)
	require.Equal(t, 8, r.below())
}

func TestWhatNeverHappenedIsMissing(t *testing.T) {
	t.Parallel()
	r := &Run{Config: Config{Must: []string{"a", "b", "c"}}, met: map[string]int{}}
	r.Met("b", 2)
	require.Equal(t, []string{"a", "c"}, r.missing())
}
