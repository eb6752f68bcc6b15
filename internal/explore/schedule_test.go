package explore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

var (
	seedFlag  = flag.Int("seed", 0, "run this schedule only; with -run Schedules")
	firstFlag = flag.Int("first", 1, "seed of the first schedule")
	soakFlag  = flag.Bool("soak", false, "run 100,000 schedules")
)

// counts say what the schedules met.
type counts struct{ schedules, acts, cancels, rollovers, turns, latches atomic.Int64 }

// TestSchedules plays random schedules on the local engine and on the [Model], and compares what can be seen.
func TestSchedules(t *testing.T) {
	n := 10_000
	switch {
	case *soakFlag:
		n = 100_000
	case testing.Short():
		n = 300
	}
	first := *firstFlag
	if *seedFlag > 0 {
		first, n = *seedFlag, 1
	}
	var c counts
	const groups = 4
	t.Run("group", func(t *testing.T) {
		for g := range groups {
			t.Run(fmt.Sprint(g), func(t *testing.T) {
				t.Parallel()
				for i := g; i < n && !t.Failed(); i += groups {
					play(t, uint64(first+i), &c)
				}
			})
		}
	})
	t.Logf("%d schedules from seed %d: %d acts, %d cancels that hit, %d rollovers, %d turns, %d latched wakes",
		c.schedules.Load(), first, c.acts.Load(), c.cancels.Load(), c.rollovers.Load(), c.turns.Load(), c.latches.Load())
}

// play plays one schedule to its end.
func play(t *testing.T, seed uint64, c *counts) {
	r := rand.New(rand.NewPCG(seed, 2))
	hooks := r.IntN(2) == 0
	p := &player{Rand: r, c: c, model: &Model{Stage: Rest, Greets: hooks, Objects: hooks},
		retried: map[string]bool{}, theatre: newTheatre(t, hooks, []int{0, 1, 2, 5}[r.IntN(4)], r.IntN(3))}
	defer func() {
		if t.Failed() {
			t.Logf("go test ./internal/explore -run Schedules -args -seed %d\n%s", seed, strings.Join(p.history, "\n"))
		}
		require.NoError(t, p.Close())
	}()
	for n := 8 + p.IntN(14); n > 0 && p.model.Stage != Gone; n-- {
		if p.model.Stage == Rest || p.IntN(2) == 0 {
			p.act()
		} else {
			p.onward()
		}
		p.compare()
	}
	for p.model.Stage != Rest && p.model.Stage != Gone {
		p.onward()
		p.compare()
	}
	p.finish()
}

// compare lets the model settle and holds everything that can be seen against it.
func (p *player) compare() {
	t, m := p.t, p.model
	p.propose()
	p.events, m.Events = append(p.events, m.Events...), nil
	p.statuses, m.Statuses = append(p.statuses, m.Statuses...), nil
	s := p.state()
	require.Equal(t, m.Running, s.Status == "running", "status is %s, the model is %s", s.Status, m.Stage)
	require.Equal(t, m.Stage == Gone, s.Status == "closed", "status is %s, the model is %s", s.Status, m.Stage)
	require.Equal(t, slices.Concat(m.NextStep, m.NextTurn), inbox(s), "pending")
	require.Equal(t, len(p.statuses), len(p.told()), "statuses: %v, want %v", p.told(), p.statuses)
	require.Equal(t, m.Turn, s.Turn, "turn")
	want, have := p.stands(), p.standing()
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		require.Fail(t, "elsewhere", "%v stand, want %v; the model is %s, logged %v", have, want, m.Stage, p.events)
	}
}

// propose notes what the next step claims.
func (p *player) propose() {
	was := p.model.Stage
	before := p.model.Clone()
	p.model.Settle(Writer{})
	if p.model.Stage == Asking && was != Asking {
		p.at, p.batch, p.calls = atAssembled, slices.Clone(p.model.batch), nil
		if before.Turn != p.model.Turn {
			p.owed = false
		}
	}
}

func inbox(s signals.State) []string {
	var step, turn []string
	for _, m := range s.Inbox {
		if m.Target == session.NextStep {
			step = append(step, m.ID)
		} else {
			turn = append(turn, m.ID)
		}
	}
	return slices.Concat(step, turn)
}

// stands says who must stand where.
func (p *player) stands() []string {
	switch p.model.Stage {
	case Upkeep:
		return []string{atTask}
	case Greeting, Objecting:
		return []string{atHook}
	case Asking:
		if p.at != "" {
			return []string{p.at}
		}
	case Calling:
		var out []string
		for _, c := range p.calls {
			if c.running {
				out = append(out, atBody+" "+c.tool)
			}
		}
		return out
	}
	return nil
}

// finish holds the whole log against the model's, and the statuses as they were told.
func (p *player) finish() {
	log := p.log()
	require.Equal(p.t, strings.Join(p.events, " "), strings.Join(reduce(log, session.Inbox{}), " "), "log")
	require.Equal(p.t, p.statuses, p.told(), "statuses")
	p.c.schedules.Add(1)
	p.c.turns.Add(int64(p.model.Turn))
	p.c.rollovers.Add(int64(p.Runs("a") - 1))
}
