package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A Delta is a piece of an answer as it is being made. It is a hint: the log decides. See architecture A3.14.
type Delta struct {
	Turn      int
	Step      int
	Attempt   int
	Execution int           // of the attempt, when workers died; from 1
	Chunk     session.Chunk // nil at the start and at the end of a stream
	Reset     bool          // what was shown of this step is superseded
	End       bool          // the stream's outcome is in the log
}

// Tail yields answers while they are made, from now on, until ctx ends. Beside a worker in the same process it is the
// live feed; elsewhere it reads what workers leave in the store, at most a quarter of a second later.
func (a *Agent) Tail(ctx context.Context) iter.Seq2[Delta, error] {
	if a.client.Broker != nil {
		return a.tailBroker(ctx)
	}
	return a.tailStore(ctx)
}

func (a *Agent) tailBroker(ctx context.Context) iter.Seq2[Delta, error] {
	frames := a.client.Broker.Subscribe(ctx, a.id)
	return func(yield func(Delta, error) bool) {
		for f := range stream.Merge(nil, frames) {
			d := Delta{Turn: f.Turn, Step: f.Step, Attempt: f.Attempt, Execution: f.Execution, Chunk: f.Chunk, Reset: f.Reset, End: f.Kind == stream.KindEnd}
			if f.Kind != stream.KindNotice && f.Kind != stream.KindGap && !yield(d, nil) {
				return
			}
		}
	}
}

// A place is where a reader of the journals is.
type place struct {
	turn, step, attempt int
	execution, n        int
	epoch               int64
}

// tailStore reads the journals of the step that runs.
func (a *Agent) tailStore(ctx context.Context) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		var at place
		for ctx.Err() == nil {
			next, err := a.runningStep(ctx)
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, ErrNoWorker) { // that passes; what a dead one left can be read
				next, err = at, nil
			}
			if err != nil {
				yield(Delta{}, a.wrap("tail", err))
				return
			}
			if next.turn != at.turn || next.step != at.step || next.attempt != at.attempt {
				if at.turn > 0 && !a.readJournal(ctx, &at, true, yield) {
					return
				}
				at = next
			}
			if at.turn > 0 && !a.readJournal(ctx, &at, false, yield) {
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// runningStep asks which attempt streams now; none is the zero place.
func (a *Agent) runningStep(ctx context.Context) (place, error) {
	var s signals.State
	if err := a.client.Backend.Query(ctx, a.id, signals.QueryState, nil, &s); err != nil {
		return place{}, err
	}
	if s.Phase != "step" {
		return place{}, nil
	}
	return place{turn: s.Turn, step: s.Step, attempt: s.Attempt, epoch: s.Log.Epoch}, nil
}

// readJournal yields what the journal gained; end says that the attempt is over.
func (a *Agent) readJournal(ctx context.Context, at *place, end bool, yield func(Delta, error) bool) bool {
	parts, err := a.client.Store.Journal(a.id, at.turn, at.step, at.attempt, at.epoch).Tail(ctx, at.execution, at.n)
	if err != nil {
		return yield(Delta{}, fmt.Errorf("tail agent %s: %w", a.id, err))
	}
	base := Delta{Turn: at.turn, Step: at.step, Attempt: at.attempt}
	for _, p := range parts {
		d := base
		d.Execution, d.Reset = p.Execution, at.execution > 0 && p.Execution != at.execution
		at.execution, at.n = p.Execution, p.N
		if d.Reset && !yield(d, nil) { // its first part holds no chunk
			return false
		}
		d.Reset = false
		for _, d.Chunk = range chunksOf(p.Data) {
			if !yield(d, nil) {
				return false
			}
		}
	}
	base.End, base.Execution = true, at.execution
	return !end || yield(base, nil)
}

// chunksOf reads the chunks of a journal part; a part of another kind has none.
func chunksOf(part []byte) []session.Chunk {
	var p struct {
		Chunks []session.Record `json:"chunks"`
	}
	if json.Unmarshal(part, &p) != nil {
		return nil
	}
	var out []session.Chunk
	for _, r := range p.Chunks {
		if c, ok := r.Event.(session.AssistantChunk); ok {
			out = append(out, c.Chunk)
		}
	}
	return out
}
