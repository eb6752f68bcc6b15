package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/worker"
)

// The bounds of streams.
const (
	feedP95    = 10  // ms, in process
	heartbeats = 10  // in a streamed minute, in the stock profile
	pushP99    = 40  // ms
	hintP99    = 250 // ms
)

// measureStream looks at answers while they are made: what is added to the model's own time, how soon subscribers have a
// token, and what a minute costs in heartbeats.
func measureStream(ctx context.Context, b *bench) error {
	s, err := b.open(ctx, plan{file: true, voice: true})
	if err != nil {
		return err
	}
	defer s.close()
	a, err := s.create(ctx, "stream", speaking)
	if err != nil {
		return err
	}
	if err := b.overhead(ctx, s, a); err != nil {
		return err
	}
	if err := b.feed(ctx, s, a); err != nil {
		return err
	}
	before := s.beats.Load()
	if err := speak(ctx, a, b.scale.minute); err != nil {
		return err
	}
	minutes := (time.Duration(b.scale.minute) * tokenEvery).Minutes()
	b.atMost("heartbeats in a streamed minute, stock profile", float64(s.beats.Load()-before)/minutes, "", heartbeats)
	return nil
}

// speak has an agent answer with so many tokens, and waits for the end.
func speak(ctx context.Context, a *agents.Agent, tokens int) error {
	answer, err := a.Ask(ctx, speech{Tokens: tokens}.asked())
	if err != nil {
		return err
	}
	return answer.Err()
}

// overhead compares what a client sees with what the model did.
func (b *bench) overhead(ctx context.Context, s *site, a *agents.Agent) error {
	var first, end []time.Duration
	for range b.scale.streams {
		begin, seen, idle, err := s.listen(ctx, a, 50)
		if err != nil {
			return err
		}
		written := s.voice.times()
		if len(seen) != 50 || len(written) != 50 {
			return fmt.Errorf("50 tokens were asked for: %d were written, %d seen", len(written), len(seen))
		}
		first = append(first, seen[0].Sub(begin)-firstTokenAfter)
		end = append(end, idle.Sub(written[49]))
	}
	b.add("added to the time to the first token (300 ms), p50", millis(quantile(first, 0.5)), "ms")
	b.add("  p95", millis(quantile(first, 0.95)), "ms")
	b.add("from the model's last token (50 a second) to idle, p50", millis(quantile(end, 0.5)), "ms")
	b.add("  p95", millis(quantile(end, 0.95)), "ms")
	return nil
}

// listen has an agent answer, and says when it was asked, when each token was seen, and when it was idle again.
func (s *site) listen(ctx context.Context, a *agents.Agent, tokens int) (begin time.Time, seen []time.Time, idle time.Time, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	state, err := a.State(ctx)
	if err != nil {
		return
	}
	deltas := a.Tail(ctx)
	var wait sync.WaitGroup
	wait.Go(func() { seen = tokensSeen(deltas) })
	begin = time.Now()
	if _, err = a.Followup(ctx, agents.Text(speech{Tokens: tokens}.asked())); err == nil {
		_, err = a.WhenIdleAfter(ctx, state.IdleGeneration)
	}
	idle = time.Now()
	if err != nil {
		cancel()
	}
	wait.Wait()
	return
}

// tokensSeen notes when each token of one answer comes.
func tokensSeen(deltas func(func(agents.Delta, error) bool)) (seen []time.Time) {
	for d, err := range deltas {
		if _, token := d.Chunk.(session.TextDelta); token {
			seen = append(seen, time.Now())
		}
		if err != nil || d.End {
			return seen
		}
	}
	return seen
}

// feed measures how long a token takes from the model to each of many subscribers.
func (b *bench) feed(ctx context.Context, s *site, a *agents.Agent) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make([][]time.Time, b.scale.subscribers)
	var wait sync.WaitGroup
	for i := range seen {
		deltas := a.Tail(ctx)
		wait.Go(func() { seen[i] = tokensSeen(deltas) })
	}
	if err := speak(ctx, a, 200); err != nil {
		return err
	}
	wait.Wait()
	written := s.voice.times()
	var late []time.Duration
	for _, tokens := range seen {
		if len(tokens) != len(written) {
			return fmt.Errorf("%d tokens were written, and a subscriber has seen %d", len(written), len(tokens))
		}
		for i, t := range tokens {
			late = append(late, t.Sub(written[i]))
		}
	}
	b.add(fmt.Sprintf("token of the model → each of %d subscribers, p50", b.scale.subscribers), millis(quantile(late, 0.5)), "ms")
	b.atMost("  p95", millis(quantile(late, 0.95)), "ms", feedP95)
	return nil
}

// measureCancel measures how long it takes from the call of Cancel until the model's HTTP request is closed.
func measureCancel(ctx context.Context, b *bench) error {
	pushless := []string{"--dynamic-config", "frontend.WorkerCommandsEnabled=false", "--dynamic-config", "system.enableCancelActivityWorkerCommand=false"}
	return errors.Join(
		b.cancels(ctx, "embedded server, which pushes", plan{file: true, voice: true, profile: worker.Embedded}, pushP99),
		b.cancels(ctx, "stock server, by hint", plan{file: true, voice: true, server: pushless}, hintP99))
}

func (b *bench) cancels(ctx context.Context, what string, p plan, limit float64) error {
	s, err := b.open(ctx, p)
	if err != nil {
		return err
	}
	defer s.close()
	a, err := s.create(ctx, "cancel", speaking)
	if err != nil {
		return err
	}
	var took []time.Duration
	var late int64
	for range b.scale.cancels {
		d, read, err := s.cancelled(ctx, a)
		if err != nil {
			return err
		}
		took, late = append(took, d), late+read
	}
	b.add("cancel → request closed, "+what+", p50", millis(quantile(took, 0.5)), "ms")
	b.atMost("  p99", millis(quantile(took, 0.99)), "ms", limit)
	b.atMost("  read of the answers after that", float64(late), "bytes", 0)
	return nil
}

// cancelled cancels one answer in the middle. It says how long it took until the request was closed, and how many bytes were
// read of the answer after that.
func (s *site) cancelled(ctx context.Context, a *agents.Agent) (took time.Duration, late int64, err error) {
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	deltas := a.Tail(short)
	if _, err := a.Followup(ctx, agents.Text(speech{Tokens: 100_000}.asked())); err != nil {
		return 0, 0, err
	}
	for d, err := range deltas {
		if _, token := d.Chunk.(session.TextDelta); token {
			break
		}
		if err != nil || d.End {
			return 0, 0, fmt.Errorf("the answer ended before it was cancelled: %w", err)
		}
	}
	begin := time.Now()
	if err := a.Cancel(ctx, agents.CancelOptions{}); err != nil {
		return 0, 0, err
	}
	h, err := s.voice.wait(ctx, "", s.voice.requests(""), givenUp)
	read := s.ear.bytes.Load()
	if err != nil {
		return 0, 0, err
	}
	err = a.WhenIdle(ctx)
	return h.gone.Sub(begin), s.ear.bytes.Load() - read, err
}
