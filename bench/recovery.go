package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/worker"
)

// A care is how a profile looks after a step: see docs/operations.md, Timeouts.
type care struct {
	name    string
	profile worker.Profile
	beat    time.Duration // between two heartbeats
	lanes   int           // workers that are killed beside each other
	bound   string        // of the time from the loss of a worker to the next request
	q       float64       // which quantile that is
	limit   float64       // in ms
}

var cares = []care{
	{"embedded profile", worker.Embedded, 400 * time.Millisecond, 1, "p95", 0.95, 3_000},
	{"stock profile", worker.Stock, 10 * time.Second, 4, "largest", 1, 31_000},
}

// measureRecovery kills workers while a model answers, and looks whether any is taken for dead that is only slow.
func measureRecovery(ctx context.Context, b *bench) error {
	for _, c := range cares {
		if err := b.losses(ctx, c); err != nil {
			return err
		}
	}
	return b.saturated(ctx)
}

// A loss is what came of the death of a worker.
type loss struct {
	request time.Duration // until the model was asked again
	token   time.Duration // until its first token
	end     time.Duration // from its last token until the turn had ended
}

// losses kills workers, in some lanes beside each other, each with a worker, a queue and an agent of its own.
func (b *bench) losses(ctx context.Context, c care) error {
	s, err := b.open(ctx, plan{file: true, voice: true, away: true})
	if err != nil {
		return err
	}
	defer s.close()
	var all []loss
	var mu sync.Mutex
	lanes := min(c.lanes, b.scale.kills)
	err = beside(lanes, func(i int) error {
		l, err := s.lane(ctx, fmt.Sprintf("%s-%d", c.profile, i), c)
		if err != nil {
			return err
		}
		defer l.close()
		for range b.scale.kills / lanes {
			x, err := l.lose(ctx)
			if err != nil {
				return err
			}
			mu.Lock()
			all = append(all, x)
			mu.Unlock()
		}
		return l.check(ctx)
	})
	if err != nil {
		return err
	}
	request, token, end := spread(all, func(x loss) time.Duration { return x.request }),
		spread(all, func(x loss) time.Duration { return x.token }), spread(all, func(x loss) time.Duration { return x.end })
	b.add(fmt.Sprintf("kill -9 of the worker → model asked again, %s, %d times, p50", c.name, len(all)), millis(quantile(request, 0.5)), "ms")
	b.atMost("  "+c.bound, millis(quantile(request, c.q)), "ms", c.limit)
	b.add("  → its first token, p50 (300 ms are the model's)", millis(quantile(token, 0.5)), "ms")
	b.add("  last token → answer, p50", millis(quantile(end, 0.5)), "ms")
	return nil
}

// beside does n things at the same time.
func beside(n int, do func(i int) error) error {
	failed := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { failed[i] = do(i) })
	}
	wait.Wait()
	return errors.Join(failed...)
}

func spread(all []loss, part func(loss) time.Duration) (out []time.Duration) {
	for _, x := range all {
		out = append(out, part(x))
	}
	return out
}

// A lane is a worker in a process of its own, and an agent that it runs.
type lane struct {
	*site
	care  care
	queue string
	hand  *hand
	agent *agents.Agent
	lost  int
}

func (s *site) lane(ctx context.Context, queue string, c care) (l *lane, err error) {
	l = &lane{site: s, care: c, queue: queue}
	if l.hand, err = s.worker(l.orders()); err != nil {
		return nil, err
	}
	callers, err := s.callers(queue)
	if err == nil {
		l.agent, err = callers.Create(ctx, agents.CreateOptions{ID: queue, Definition: speaking})
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lane) orders() orders { return orders{Queue: l.queue, Profile: l.care.profile} }

func (l *lane) close() { l.hand.dismiss() }

// lose kills the worker at some moment between two heartbeats, and starts another one at once.
func (l *lane) lose(ctx context.Context) (x loss, err error) {
	l.lost++
	of := fmt.Sprintf("%s/%d", l.queue, l.lost)
	long := int(l.care.beat/tokenEvery) + 50
	id, err := l.agent.Followup(ctx, agents.Text(speech{Tokens: long, Of: of}.asked()))
	if err != nil {
		return x, err
	}
	if _, err := l.voice.wait(ctx, of, 1, begun); err != nil {
		return x, err
	}
	if err := pause(ctx, rand.N(l.care.beat)); err != nil {
		return x, err
	}
	killed := time.Now()
	l.close()
	next, err := l.worker(l.orders())
	if err != nil {
		return x, err
	}
	l.hand = next
	again, err := l.voice.wait(ctx, of, 2, begun)
	if err != nil {
		return x, err
	}
	answer, err := l.agent.Await(ctx, id)
	if err != nil {
		return x, err
	}
	ended := time.Now()
	said, err := l.voice.wait(ctx, of, 2, asked)
	return loss{again.asked.Sub(killed), again.written[0].Sub(killed), ended.Sub(said.written[len(said.written)-1])}, errors.Join(err, answer.Err())
}

// check makes sure that every turn was completed, after one loss.
func (l *lane) check(ctx context.Context) error {
	losses, turns := 0, 0
	for r, err := range l.agent.Log(ctx, 0) {
		if err != nil {
			return err
		}
		switch e := r.Event.(type) {
		case session.AssistantAttempt:
			if e.Failure != nil && e.Failure.Code == work.CodeWorkerLost {
				losses++
			}
		case session.TurnEnd:
			if e.Reason.Kind == session.TurnCompleted {
				turns++
			}
		}
	}
	if losses != l.lost || turns != l.lost {
		return fmt.Errorf("agent %s lost %d workers: its log has %d attempts with %s, and %d completed turns", l.agent.ID(), l.lost, losses, work.CodeWorkerLost, turns)
	}
	return nil
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
