package explore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/soak"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

var (
	manyFlag  = flag.Int("schedules", 0, "how many schedules are played; 0 means the default of the test")
	firstFlag = flag.Int("first", 1, "seed of the first schedule")
	soakFlag  = flag.Bool("soak", false, "explore larger worlds, play more schedules")
)

// quantity is how many schedules a test plays.
func quantity(usual, soak, short int) int {
	switch {
	case *manyFlag > 0:
		return *manyFlag
	case *soakFlag:
		return soak
	case testing.Short():
		return short
	default:
		return usual
	}
}

// must is what enough schedules have to meet.
var must = []string{signals.Followup, signals.Steer, signals.Inject, signals.SendTo, "cancel", "cancel, keepInbox", "remove", "replace", "clear", "promote", "reorder", "interrupt",
	"batch", "maintain", "native cancel", "dispose", "rollover asked for", "cancels that hit", "wakes latched", "attempts repeated", "rollovers", "turns"}

const enough = 300

// TestLocalSchedules plays random schedules on the local engine and on the [Model], and compares what can be seen.
func TestLocalSchedules(t *testing.T) {
	soak.Play(t, soak.Config{Name: "local engine", First: *firstFlag, N: quantity(10_000, 100_000, 300), Lanes: 2 * runtime.GOMAXPROCS(0), Must: must, Enough: enough},
		func(c *soak.Run, seed int) { playLocally(t, seed, c) })
}

func playLocally(t *testing.T, seed int, c *soak.Run) {
	r := rand.New(rand.NewPCG(uint64(seed), 2))
	kind := []string{plain, hooked}[r.IntN(2)]
	th := newLocalTheatre(t, kind, []int{0, 1, 2, 5}[r.IntN(4)], r.IntN(3))
	newPlayer(t, th, r, c, "a", kind, onDemand).play(fmt.Sprintf("-run LocalSchedules -args -schedules 1 -first %d", seed))
}

func newPlayer(t testing.TB, th theatre, r *rand.Rand, c *soak.Run, id, kind string, time clock) *player {
	hooks := kind == hooked
	p := &player{t: t, theatre: th, Rand: r, c: c, id: id, clock: time, retried: map[string]bool{},
		model: &Model{Stage: Rest, Greets: hooks, Objects: hooks}}
	require.NoError(t, th.Start(t.Context(), id, signals.Create{Definition: kind, Model: string(time)}))
	return p
}

// play plays one schedule to its end; again is how it is played another time.
func (p *player) play(again string) {
	defer func() {
		if p.t.Failed() {
			p.t.Logf("go test ./internal/explore %s\n%s", again, strings.Join(p.history, "\n"))
		}
		p.leave()
	}()
	p.compare()
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
	if p.model.Stage == Rest {
		p.dispose()
		p.compare()
	}
	p.finish()
}

// A sight is what can be seen of an agent.
type sight struct {
	Status  string
	Pending []string
	Told    []string // statuses so far
	Turn    int
	Stand   []string
}

// compare lets the model settle and holds everything that can be seen against it.
func (p *player) compare() {
	p.propose()
	m := p.model
	p.events, m.Events = append(p.events, m.Events...), nil
	p.statuses, m.Statuses = append(p.statuses, m.Statuses...), nil
	want, have := p.foreseen(), sight{}
	p.until(func() bool {
		have = p.seen()
		return reflect.DeepEqual(want, have)
	})
	if !reflect.DeepEqual(want, have) {
		require.Equal(p.t, want, have, "the model is %s, logged %v", m.Stage, p.events)
	}
}

func (p *player) foreseen() sight {
	m := p.model
	s := sight{Status: driver.StatusIdle, Pending: slices.Concat(m.NextStep, m.NextTurn), Told: p.statuses, Turn: m.Turn, Stand: p.stands()}
	switch {
	case m.Stage == Gone:
		s.Status = "closed"
	case m.Running:
		s.Status = driver.StatusRunning
	}
	slices.Sort(s.Stand)
	return s
}

func (p *player) seen() sight {
	now := p.now()
	s := sight{Status: now.Status, Pending: inbox(now), Told: p.told(), Turn: now.Turn}
	for _, h := range p.held() {
		s.Stand = append(s.Stand, h.String())
	}
	slices.Sort(s.Stand)
	return s
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
	if p.model.Stage == Waiting && p.clock == atOnce {
		p.again()
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

// finish holds the whole log, which keeps every rule, against the model's.
func (p *player) finish() {
	head := p.now().Log
	var log []session.Record
	for r, err := range p.log().Records(p.t.Context(), p.id, store.Head{Hash: head.Hash, Count: head.Count}, 0) {
		require.NoError(p.t, err)
		log = append(log, r)
	}
	_, err := session.Fold(0, log)
	require.NoError(p.t, err)
	require.Equal(p.t, strings.Join(p.events, " "), strings.Join(reduce(log, session.Inbox{}), " "), "log")
	p.c.Met("turns", p.model.Turn)
	p.c.Met("rollovers", p.runs()-1)
}
