package scripted

import (
	"context"
	"time"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A player performs answers.
type player struct {
	probes *Probes
	sleep  func(ctx context.Context, d time.Duration) error
	pace   time.Duration

	started bool // a chunk was sent
}

// play yields the chunks of an answer until it ends, its reader stops or ctx ends.
func (p *player) play(ctx context.Context, a Answer, yield func(session.Chunk, error) bool) {
	for _, s := range a.steps {
		if err := p.before(ctx, s); err != nil {
			yield(nil, err)
			return
		}
		if s.chunk == nil {
			continue
		}
		p.started = true
		if !yield(fresh(s.chunk), nil) {
			return
		}
	}
}

// before does everything of a step but sending its chunk.
func (p *player) before(ctx context.Context, s step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case s.hold != "":
		return p.probes.arrive(ctx, s.hold)
	case s.delay > 0:
		return p.sleep(ctx, s.delay)
	case s.failure != nil:
		return &llm.Error{Failure: *s.failure}
	case p.pace > 0 && p.started && isDelta(s.chunk):
		return p.sleep(ctx, p.pace*time.Duration(max(s.slow, 1)))
	}
	return nil
}

func isDelta(c session.Chunk) bool {
	switch c.(type) {
	case session.TextDelta, session.ReasoningDelta, session.ToolCallDelta:
		return true
	default:
		return false
	}
}

// fresh protects the script from a reader that changes what it was given.
func fresh(c session.Chunk) session.Chunk {
	f, ok := c.(session.Finish)
	if !ok {
		return c
	}
	if f.Reason.Failure != nil {
		failure := *f.Reason.Failure
		f.Reason.Failure = &failure
	}
	f.Replay = copyReplay(f.Replay)
	return f
}

// sleep waits with a timer.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
