package e2e

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/soak"
	"github.com/everturn/everturn/signals"
)

// A random round has victims and agents that work in parallel, while one fault follows another.
const (
	roundFaults  = 10
	roundAgents  = 6
	roundVictims = 2
)

// chances are the points at which a worker may be trapped in a random round.
var chances = []string{
	"create segments before", "create segments after", "create journal before", "create journal after", "create heads before", "create heads after",
	"create effects/started before", "create effects/started after", "create effects/done before", "create effects/done after",
	"RecordActivityTaskHeartbeat before", "RecordActivityTaskHeartbeat after", "RespondActivityTaskCompleted before", "RespondActivityTaskCompleted after",
	"RespondWorkflowTaskCompleted before", "RespondWorkflowTaskCompleted after", "rollover before", "rollover after",
	"step/start", "step/assembled", "step/prepared", "request/committed", "chunk", "stream/end", "assistant/message", "step/settled",
	"tool/started", "tool/body-done", "tool/done", "body before", "body after", "gate pre-step", "gate pre-execute", "gate post-execute",
}

// TestRandomFaults plays rounds of random faults, each from its seed: an even one on a server with --sync full.
func TestRandomFaults(t *testing.T) {
	long(t)
	t.Parallel()
	rounds := (*randomFaults + roundFaults - 1) / roundFaults
	soak.Play(t, soak.Config{Name: fmt.Sprintf("rounds of %d random faults", roundFaults), First: *firstRound, N: rounds, Lanes: 1,
		Must: mishapNames(), Enough: 10}, func(r *soak.Run, seed int) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { playRound(t, r, seed) })
	})
}

// A mishap is one kind of random fault. It is over when it returns.
type mishap struct {
	name   string
	weight int
	happen func(s *scene, rng *rand.Rand)
}

var mishaps = []mishap{
	{"worker killed", 4, func(s *scene, rng *rand.Rand) {
		s.anybody(rng).kill()
		s.victim()
	}},
	{"worker killed at a point", 8, func(s *scene, rng *rand.Rand) {
		if x := s.chance(rng, die); x != nil {
			s.victim()
		}
	}},
	{"zombie", 2, func(s *scene, rng *rand.Rand) {
		x := s.anybody(rng)
		x.signal(syscall.SIGSTOP)
		lasts(between(rng, 500*time.Millisecond, 5*time.Second))
		x.signal(syscall.SIGCONT)
	}},
	{"zombie at a point", 4, func(s *scene, rng *rand.Rand) {
		if x := s.chance(rng, halt); x != nil {
			lasts(between(rng, 500*time.Millisecond, pause))
			x.signal(syscall.SIGCONT)
		}
	}},
	{"torn object", 2, func(s *scene, rng *rand.Rand) {
		if x := s.chanceAt(rng, pick(rng, "create segments before", "create journal before", "create heads before", "create effects/started before", "create effects/done before"), tear); x != nil {
			s.victim()
		}
	}},
	{"all workers killed", 1, func(s *scene, rng *rand.Rand) {
		for _, x := range s.alive() {
			x.kill()
		}
		for range roundVictims {
			s.victim()
		}
	}},
	{"server killed", 3, func(s *scene, rng *rand.Rand) {
		s.serverDies(func() { lasts(between(rng, 0, 2*time.Second)) })
	}},
	{"server stands", 1, func(s *scene, rng *rand.Rand) {
		s.signalServer(syscall.SIGSTOP)
		lasts(between(rng, 0, 4*time.Second))
		s.signalServer(syscall.SIGCONT)
	}},
	{"server and worker killed", 1, func(s *scene, rng *rand.Rand) {
		s.anybody(rng).kill()
		s.serverDies(nil)
		s.victim()
	}},
	{"network cut", 2, func(s *scene, rng *rand.Rand) {
		s.proxy.be(cuts)
		lasts(between(rng, 0, 6*time.Second))
		s.proxy.be(carries)
	}},
	{"network silent", 1, func(s *scene, rng *rand.Rand) {
		s.proxy.be(swallows)
		lasts(between(rng, 0, 6*time.Second))
		s.proxy.be(carries)
	}},
	{"store trouble", 3, func(s *scene, rng *rand.Rand) {
		s.suffers(pick(rng, away, full, slow))
		lasts(between(rng, 100*time.Millisecond, 4*time.Second))
		s.suffers("")
	}},
}

func mishapNames() (names []string) {
	for _, m := range mishaps {
		names = append(names, m.name)
	}
	return names
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

// draw takes a kind of fault by its weight.
func draw(rng *rand.Rand) mishap {
	total := 0
	for _, m := range mishaps {
		total += m.weight
	}
	n := rng.IntN(total)
	for _, m := range mishaps {
		if n -= m.weight; n < 0 {
			return m
		}
	}
	panic("unreachable: the weights add up")
}

func playRound(t *testing.T, r *soak.Run, seed int) {
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	s := newScene(t, true, map[int]string{0: "full", 1: "normal"}[seed%2], toll{Unknown: true, Store: true, Again: true})
	defer s.tell()
	s.working(roundVictims)
	var talks sync.WaitGroup
	var over atomic.Bool
	for i := range roundAgents {
		a := s.born(fmt.Sprint(i), pick(rng, acting, gated))
		words := rand.New(rand.NewPCG(uint64(seed), uint64(1+i)))
		talks.Go(func() { s.talk(a, words, &over) })
	}
	for range roundFaults {
		lasts(between(rng, 100*time.Millisecond, time.Second))
		m := draw(rng)
		t.Logf("%s", m.name)
		m.happen(s, rng)
		r.Met(m.name, 1)
		if t.Failed() {
			break
		}
	}
	over.Store(true)
	talks.Wait()
	if !t.Failed() {
		s.check()
	}
}

// talk is what a user says to an agent until the faults are over: errands one after the other, with notes between them.
// The last errand wakes an agent whose turn had failed.
func (s *scene) talk(a *agents.Agent, rng *rand.Rand, over *atomic.Bool) {
	for n := 1; !over.Load() && !s.t.Failed(); n++ {
		x := s.say(a, signals.Followup, fmt.Sprintf("act %d", n))
		if rng.IntN(3) == 0 {
			s.say(a, signals.Steer, fmt.Sprintf("note %d", 1000+n))
		}
		s.hear(a, x)
	}
	s.act(a, "999")
}

// alive are the workers that run.
func (s *scene) alive() (out []*process) {
	for _, x := range s.workers {
		if !x.gone() {
			out = append(out, x)
		}
	}
	return out
}

func (s *scene) anybody(rng *rand.Rand) *process { return pick(rng, s.alive()...) }

func (s *scene) signalServer(sig syscall.Signal) { _ = s.server.cmd.Process.Signal(sig) }

// chance sets a trap at a random point.
func (s *scene) chance(rng *rand.Rand, do deed) *process {
	return s.chanceAt(rng, pick(rng, chances...), do)
}

// chanceAt sets a trap and returns who came into it; nobody if it was not met for a while.
func (s *scene) chanceAt(rng *rand.Rand, point string, do deed) *process {
	s.t.Helper()
	s.traps++
	x := trap{Name: fmt.Sprintf("trap-%d", s.traps), Point: point, Skip: rng.IntN(4), Do: do}
	s.set(x)
	deadline := time.After(4 * time.Second)
	for s.exists(trapsSet + "/" + x.Name) {
		select {
		case <-deadline:
			if s.disarm(x) {
				return nil
			}
		case <-time.After(5 * time.Millisecond):
		}
	}
	return s.sprang(x)
}
