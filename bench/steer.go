package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
)

// measureSteer sends steers at about the moment at which a turn ends. Each must be in the next request of the running turn, or
// wake the agent for a turn of its own.
func measureSteer(ctx context.Context, b *bench) error {
	var m starts
	s, err := b.open(ctx, plan{answers: m.echo, sync: store.SyncNone})
	if err != nil {
		return err
	}
	defer s.close()
	racers := make([]racer, b.scale.racers)
	for i := range racers { // all are born before the first race: a busy worker is slow to look after new agents
		if racers[i].agent, err = s.create(ctx, fmt.Sprintf("racer-%d", i), plain); err != nil {
			return err
		}
	}
	begin := time.Now()
	err = beside(len(racers), func(i int) error { return racers[i].run(ctx, &m, b.scale.races/b.scale.racers) })
	took := time.Since(begin)
	if err != nil {
		return err
	}
	var all verdict
	var aims []time.Duration
	for _, r := range racers {
		all, aims = all.plus(r.verdict), append(aims, r.aim)
	}
	n := all.joined + all.woke + all.lost + all.doubled
	b.add(fmt.Sprintf("steers at the end of turns, of %d agents", b.scale.racers), float64(n), "")
	b.atLeast("  joined the turn", float64(all.joined), "", 1)
	b.atLeast("  woke the agent for another", float64(all.woke), "", 1)
	b.atMost("  lost, or taken with a later message", float64(all.lost), "", 0)
	b.atMost("  taken twice", float64(all.doubled), "", 0)
	b.add("  races", float64(n)/took.Seconds(), "/s")
	b.add("  sent so long after the model was asked, p50", millis(quantile(aims, 0.5)), "ms")
	return nil
}

// starts tells who waits when the model is asked for a message.
type starts struct{ waiting sync.Map } // of channels, by text

func (m *starts) expect(text string) <-chan struct{} {
	c := make(chan struct{})
	m.waiting.Store(text, c)
	return c
}

// echo is a model that repeats what the user said last.
func (m *starts) echo(req llm.Request) scripted.Answer {
	said, _ := turnOf(req.Messages)
	if c, ok := m.waiting.LoadAndDelete(said); ok {
		close(c.(chan struct{}))
	}
	return scripted.Text(said)
}

// A racer has one agent make turns, and races the end of each with a steer.
type racer struct {
	agent *agents.Agent
	// aim is the pause between the model's request and a steer, in the middle. It goes where half of the steers join the turn:
	// that is where the turn ends.
	aim     time.Duration
	verdict verdict
}

// settleIn is how long an agent may take to come to rest after a steer, on a machine that is busy with others.
const settleIn = 2 * time.Minute

func (r *racer) run(ctx context.Context, m *starts, races int) (err error) {
	r.aim = 20 * time.Millisecond
	turns := 0
	for n := range races {
		if turns, err = r.race(ctx, m, n, turns); err != nil {
			return fmt.Errorf("race %d: %w", n, err)
		}
	}
	r.verdict, err = judge(r.agent.Log(ctx, 0), races)
	return err
}

// race has a turn made and sends a steer at about its end. It returns how many turns the agent has made then.
func (r *racer) race(ctx context.Context, m *starts, n, turns int) (int, error) {
	opening := raceText(opens, n, r.agent.ID())
	asked := m.expect(opening)
	if _, err := r.agent.Followup(ctx, agents.Text(opening)); err != nil {
		return 0, err
	}
	select {
	case <-asked:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if err := pause(ctx, rand.N(2*r.aim)); err != nil {
		return 0, err
	}
	if _, err := r.agent.Steer(ctx, agents.Text(raceText(steers, n, r.agent.ID()))); err != nil {
		return 0, err
	}
	settling, cancel := context.WithTimeout(ctx, settleIn)
	defer cancel()
	if err := r.agent.WhenIdle(settling); err != nil {
		return 0, err
	}
	state, err := r.agent.State(ctx)
	if err != nil {
		return 0, err
	}
	if joined := state.Turn == turns+1; joined {
		r.aim += r.aim / 2
	} else {
		r.aim -= r.aim / 3
	}
	return state.Turn, nil
}

// The messages of a race.
const (
	opens  = "open"  // a followup
	steers = "steer" // at the end of its turn
)

func raceText(kind string, n int, id string) string { return fmt.Sprintf("%s %d of %s", kind, n, id) }

// A verdict counts what became of steers.
type verdict struct {
	joined  int // the turn that they raced
	woke    int // the agent, and had a turn of their own
	lost    int // not there, not answered, or only taken when the next message came
	doubled int
}

func (v verdict) plus(w verdict) verdict {
	return verdict{v.joined + w.joined, v.woke + w.woke, v.lost + w.lost, v.doubled + w.doubled}
}

// A taken is where the messages of one race are in the log: the turn of each time.
type taken struct {
	open, steer []int
	answered    bool // the steer was the last word of a request
}

// judge finds in an agent's log what became of the steers of its races.
func judge(log iter.Seq2[session.Record, error], races int) (v verdict, err error) {
	all, err := takenIn(log, races)
	if err != nil {
		return v, err
	}
	for n, x := range all {
		switch {
		case len(x.open) != 1:
			return v, fmt.Errorf("race %d was opened in the turns %v", n, x.open)
		case len(x.steer) > 1:
			v.doubled++
		case len(x.steer) == 0, !x.answered, n+1 < races && x.steer[0] >= all[n+1].turn():
			v.lost++
		case x.steer[0] == x.turn():
			v.joined++
		default:
			v.woke++
		}
	}
	return v, nil
}

// turn is the one that a race is about.
func (x taken) turn() int {
	if len(x.open) == 0 {
		return math.MaxInt
	}
	return x.open[0]
}

func takenIn(log iter.Seq2[session.Record, error], races int) ([]taken, error) {
	all, turn := make([]taken, races), 0
	for r, err := range log {
		if err != nil {
			return nil, err
		}
		switch e := r.Event.(type) {
		case session.TurnStart:
			turn = e.Turn
		case session.UserMessage:
			switch kind, n := raceOf(e.Text()); kind {
			case opens:
				all[n].open = append(all[n].open, turn)
			case steers:
				all[n].steer = append(all[n].steer, turn)
			}
		case session.AssistantMessage:
			if kind, n := raceOf(e.Message.Text()); kind == steers {
				all[n].answered = true
			}
		}
	}
	return all, nil
}

func raceOf(text string) (kind string, n int) {
	_, _ = fmt.Sscanf(text, "%s %d", &kind, &n) // another text is of no kind
	return kind, n
}
