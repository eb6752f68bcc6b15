// Package soak plays random schedules, a few or a million: it deals out their seeds, counts what they met, says now and
// then how far it is, and fails if something never happened that must.
package soak

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Config says what is played. Name and Lanes are required.
type Config struct {
	Name     string   // of what the schedules are played on
	First, N int      // the first seed, and how many
	Lanes    int      // schedules at a time
	Must     []string // what has to be met, in the order in which it is reported
	Enough   int      // schedules that meet all of it
}

// A Run counts what its schedules met. It is safe for concurrent use.
type Run struct {
	Config
	begin time.Time

	mu    sync.Mutex
	dealt int
	open  map[int]bool // seeds that are being played
	told  time.Time    // when progress was told last
	met   map[string]int
}

// Play plays every schedule to its end, several at a time, until one fails. The function play may end its goroutine, as
// FailNow does.
func Play(t *testing.T, c Config, play func(r *Run, seed int)) {
	t.Helper()
	now := time.Now()
	r := &Run{Config: c, begin: now, told: now, open: map[int]bool{}, met: map[string]int{}}
	var lanes sync.WaitGroup
	for range min(c.Lanes, c.N) {
		lanes.Go(func() {
			for seed, ok := r.deal(t); ok; seed, ok = r.deal(t) {
				play(r, seed)
				r.done(seed)
			}
		})
	}
	lanes.Wait()
	t.Log(r.summary())
	if c.N >= c.Enough && !t.Failed() {
		require.Empty(t, r.missing(), "never happened")
	}
}

// every is how often progress is told.
const every = time.Minute

// deal gives the next seed out.
func (r *Run) deal(t *testing.T) (seed int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.told) >= every {
		r.told = now
		t.Logf("%s: %d of %d schedules, all seeds below %d", r.Name, r.dealt-len(r.open), r.N, r.below())
	}
	if r.dealt == r.N || t.Failed() {
		return 0, false
	}
	seed = r.First + r.dealt
	r.dealt++
	r.open[seed] = true
	return seed, true
}

// below is the seed to go on with: all before it have been played. The caller holds the lock.
func (r *Run) below() int {
	seed := r.First + r.dealt
	for open := range r.open {
		seed = min(seed, open)
	}
	return seed
}

func (r *Run) done(seed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, seed)
}

// Met notes that something happened n times.
func (r *Run) Met(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.met[what] += n
}

func (r *Run) missing() (out []string) {
	for _, what := range r.Must {
		if r.met[what] == 0 {
			out = append(out, what)
		}
	}
	return out
}

func (r *Run) summary() string {
	var met []string
	for _, what := range r.Must {
		met = append(met, fmt.Sprintf("%s %d", what, r.met[what]))
	}
	took, played := time.Since(r.begin), r.dealt-len(r.open)
	return fmt.Sprintf("%s: %d schedules, seeds %d to %d, in %s, %.1f a second: %s", r.Name, played, r.First, r.First+r.dealt-1,
		took.Round(time.Second), float64(played)/took.Seconds(), strings.Join(met, ", "))
}
