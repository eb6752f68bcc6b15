package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// The bounds of an ordinary turn, as ratios to the floor.
const (
	turnP50        = 1.15
	turnP99        = 1.30
	turnThroughput = 0.85
	turnCPU        = 1.20
	turnActions    = 5
)

// A turner makes turns, one after another.
type turner interface {
	turn(ctx context.Context) error
}

// An asker is a client of an agent: a signal, and an update that waits, as the floor's has.
type asker struct {
	site       *site
	agent      *agents.Agent
	generation int64
	turns      int
}

func (s *site) newAsker(ctx context.Context, id, definition string) (*asker, error) {
	a, err := s.create(ctx, id, definition)
	if err != nil {
		return nil, err
	}
	state, err := a.State(ctx)
	return &asker{site: s, agent: a, generation: state.IdleGeneration}, err
}

func (a *asker) turn(ctx context.Context) error {
	if _, err := a.agent.Followup(ctx, agents.Text(ordinary.asked())); err != nil {
		return err
	}
	var out signals.Idle
	for after := a.generation; !out.Idle; {
		if err := update(ctx, a.site.sdk, a.agent.ID(), signals.QueryWhenIdle, signals.WhenIdle{After: &after}, &out); err != nil {
			return err
		}
	}
	a.generation = out.Generation
	a.turns++
	return nil
}

// check makes sure that every turn was made, with its tool call and its answer.
func (a *asker) check(ctx context.Context) error {
	turns, results, answers := 0, 0, 0
	for r, err := range a.agent.Log(ctx, 0) {
		if err != nil {
			return err
		}
		switch e := r.Event.(type) {
		case session.TurnEnd:
			if e.Reason.Kind == session.TurnCompleted {
				turns++
			}
		case session.ToolResult:
			results++
		case session.AssistantMessage:
			if e.Message.Text() == done {
				answers++
			}
		}
	}
	if turns != a.turns || results != a.turns || answers != a.turns {
		return fmt.Errorf("agent %s was asked for %d turns: %d completed, %d tool results, %d answers", a.agent.ID(), a.turns, turns, results, answers)
	}
	return nil
}

// measureTurn compares ordinary turns with the floor's.
func measureTurn(ctx context.Context, b *bench) error {
	s, err := b.open(ctx, plan{file: true})
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.floorWorker(); err != nil {
		return err
	}
	if err := b.oneByOne(ctx, s); err != nil {
		return err
	}
	if err := b.bill(ctx, s); err != nil {
		return err
	}
	return b.together(ctx, s)
}

// block is how many turns are made before it is the other one's turn: enough for the CPU time to be read.
const block = 10

// oneByOne makes turns of one agent and one floor alternately.
func (b *bench) oneByOne(ctx context.Context, s *site) error {
	f, err := s.newFloor(ctx, "floor")
	if err != nil {
		return err
	}
	a, err := s.newAsker(ctx, "turn", plain)
	if err != nil {
		return err
	}
	var floors, turns series
	for n := range b.scale.blocks + 1 {
		if n == 1 { // the first blocks warm up
			floors, turns = series{}, series{}
		}
		if err := errors.Join(floors.run(ctx, s, f, block), turns.run(ctx, s, a, block)); err != nil {
			return err
		}
	}
	if err := a.check(ctx); err != nil {
		return err
	}
	b.add("floor p50", millis(floors.quantile(0.5)), "ms")
	b.add("turn p50", millis(turns.quantile(0.5)), "ms")
	b.add("floor p99", millis(floors.quantile(0.99)), "ms")
	b.add("turn p99", millis(turns.quantile(0.99)), "ms")
	b.add("floor CPU of client and worker", millis(floors.own)/floors.n(), "ms")
	b.add("  server", millis(floors.server)/floors.n(), "ms")
	b.add("turn CPU of client and worker", millis(turns.own)/turns.n(), "ms")
	b.add("  server", millis(turns.server)/turns.n(), "ms")
	b.atMost("turn ÷ floor, p50", ratio(turns.quantile(0.5), floors.quantile(0.5)), "", turnP50)
	b.atMost("turn ÷ floor, p99", ratio(turns.quantile(0.99), floors.quantile(0.99)), "", turnP99)
	b.atMost("turn ÷ floor, CPU", ratio(turns.own+turns.server, floors.own+floors.server), "", turnCPU)
	return nil
}

// bill counts the billable actions of one turn, and the objects that another one makes in the store.
func (b *bench) bill(ctx context.Context, s *site) error {
	a, err := s.newAsker(ctx, "bill", plain)
	if err != nil {
		return err
	}
	before, attributesBefore, err := s.actions(ctx, "bill")
	if err != nil {
		return err
	}
	if err := a.turn(ctx); err != nil {
		return err
	}
	after, attributes, err := s.actions(ctx, "bill")
	b.atMost("billable actions of a turn, without search attributes", float64(after-before), "", turnActions)
	b.add("  changes of search attributes, where they are registered", float64(attributes-attributesBefore), "")
	made := s.made.Load()
	err = errors.Join(err, a.turn(ctx))
	b.add("objects that a turn makes in the store", float64(s.made.Load()-made), "")
	return err
}

// together makes turns of many agents and many floors at a time, alternately.
func (b *bench) together(ctx context.Context, s *site) error {
	var floors, askers []turner
	for n := range b.scale.many {
		f, err := s.newFloor(ctx, fmt.Sprintf("floor-%d", n))
		if err != nil {
			return err
		}
		a, err := s.newAsker(ctx, fmt.Sprintf("turn-%d", n), plain)
		if err != nil {
			return err
		}
		floors, askers = append(floors, f), append(askers, a)
	}
	var floorTime, turnTime time.Duration
	for n := range b.scale.rounds + 1 {
		took, err := crowd(ctx, floors, b.scale.each)
		if err != nil {
			return err
		}
		tookTurns, err := crowd(ctx, askers, b.scale.each)
		if err != nil {
			return err
		}
		if n > 0 { // the first round warms up
			floorTime, turnTime = floorTime+took, turnTime+tookTurns
		}
	}
	for _, a := range askers {
		if err := a.(*asker).check(ctx); err != nil {
			return err
		}
	}
	made := float64(b.scale.many * b.scale.each * b.scale.rounds)
	b.add(fmt.Sprintf("%d floors at a time", b.scale.many), made/floorTime.Seconds(), "turns/s")
	b.add(fmt.Sprintf("%d agents at a time", b.scale.many), made/turnTime.Seconds(), "turns/s")
	b.atLeast("agents ÷ floors, throughput", floorTime.Seconds()/turnTime.Seconds(), "", turnThroughput)
	return nil
}

// crowd has everybody make n turns, at the same time, and says how long that took.
func crowd(ctx context.Context, all []turner, n int) (time.Duration, error) {
	begin := time.Now()
	failed := make([]error, len(all))
	var wait sync.WaitGroup
	for i, t := range all {
		wait.Go(func() {
			for range n {
				if failed[i] = t.turn(ctx); failed[i] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return time.Since(begin), errors.Join(failed...)
}
