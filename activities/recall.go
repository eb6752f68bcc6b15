package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// recall goes on from the store's head to what the closed run had decided, as far as its history still tells, and to what
// its last step had written and shown. What it returns comes after b.head and is folded in b.state. See spec §7.1, D1.
func (b *rebirth) recall(ctx context.Context, last LastInputs, old int64) (records []session.Record, err error) {
	tail := last.Tail
	if last.Known && last.Head.Count >= b.head.Count {
		b.head = store.Head(last.Head)
	} else {
		tail = nil
	}
	if b.state, err = b.Store.State(ctx, b.in.Ident.Session, b.head); err != nil {
		return nil, err
	}
	if tail, err = b.Store.Hydrate(ctx, tail); err != nil {
		return nil, err
	}
	if records, err = b.apply(nil, tail); err != nil {
		return nil, fmt.Errorf("what the closed run decided last: %w", err)
	}
	left, err := b.lastStep(ctx, old)
	if err != nil {
		return nil, err
	}
	if left.begun != nil && left.begun.Head.Count >= b.state.Count() {
		if records, err = b.adopt(ctx, records, left); err != nil {
			return nil, err
		}
	}
	return b.startCalls(ctx, records, last, old)
}

// startCalls logs the calls that were started and whose tool/call is in no log, because the closed run could not say where its
// log ended: a call that may have had its effect must not be told as one that never started. The run's history names those
// whose bodies were scheduled, what an earlier run handed over names others, and so does the ledger. See spec §7.2.
func (b *rebirth) startCalls(ctx context.Context, records []session.Record, last LastInputs, old int64) ([]session.Record, error) {
	turn, _ := b.state.Turn()
	step, _ := b.state.Step()
	started := map[string]bool{}
	note := func(c session.ToolCall) {
		if c.Turn == turn && c.Step == step {
			started[c.CallID] = true
		}
	}
	for _, c := range last.Started {
		note(c)
	}
	for _, r := range last.Carried {
		if c, ok := r.Event.(session.ToolCall); ok {
			note(c)
		}
	}
	for _, c := range b.state.UnstartedCalls() {
		if e, err := b.effect(ctx, c, old); err != nil {
			return nil, err
		} else if e.State == store.EffectNone && !started[c.ID] {
			continue
		}
		var err error
		call := session.ToolCall{Turn: turn, Step: step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments}
		if records, err = b.apply(records, []session.Record{session.NewRecord(b.now(), call)}); err != nil {
			return nil, fmt.Errorf("call %s of the closed run: %w", c.ID, err)
		}
	}
	return records, nil
}

// results are those that the ledger has of calls which the closed run did not answer any more. Where a gate may change
// results before they are logged, none is taken from there. See decision 0013.
func (b *rebirth) results(ctx context.Context, old int64) (map[string]session.KnownResult, error) {
	k, err := b.kindOfBirth(b.in.Ident.Definition)
	if err != nil || k.posted() {
		return nil, err
	}
	known := map[string]session.KnownResult{}
	for _, c := range b.state.UnansweredCalls() {
		e, err := b.effect(ctx, c, old)
		if err != nil {
			return nil, err
		}
		if e.State != store.EffectDone {
			continue
		}
		if out, err := resultOf(e.Result); err == nil && out.Delegate == nil && out.Defer == nil { // else its outcome is unknown
			known[c.ID] = session.KnownResult{Content: out.Content, IsError: out.IsError, Error: out.Error, Meta: out.Meta}
		}
	}
	return known, nil
}

// effect is what the ledger has of a call of the open step, in the epoch of the closed run, whether that one published
// something or not. An entry of another call under the same key counts for nothing, as in [call.recall].
func (b *rebirth) effect(ctx context.Context, c session.ToolCallBlock, old int64) (e store.EffectEntry, err error) {
	turn, _ := b.state.Turn()
	step, _ := b.state.Step()
	sum := sha256.Sum256([]byte(c.Arguments))
	short := titleOf(work.Call{Name: c.Name, Arguments: c.Arguments})
	long := titleOf(work.Call{Name: c.Name, Blob: &session.Artifact{SHA256: hex.EncodeToString(sum[:])}})
	for _, epoch := range []int64{old, b.epoch - 1} {
		key := work.EffectKey(b.in.Ident.Session, epoch, turn, step, c.ID)
		note, found, err := b.Store.StartNote(ctx, key)
		var damage *store.CorruptError
		if errors.As(err, &damage) {
			return store.EffectEntry{State: store.EffectStarted}, nil
		}
		if err != nil {
			return e, err
		}
		if found && (len(note) == 0 || isTitle(note, short) || isTitle(note, long)) {
			return b.Store.Effect(ctx, key)
		}
	}
	return store.EffectEntry{State: store.EffectNone}, nil
}

// apply folds records, which are numbered anew, and adds them to those that are to be written.
func (b *rebirth) apply(to, records []session.Record) ([]session.Record, error) {
	for _, r := range records {
		r.Seq = b.state.Count()
		if err := b.state.Apply(r); err != nil {
			return nil, err
		}
		to = append(to, r)
	}
	return to, nil
}

// recallAttempts bounds the attempts of a step whose journals are looked for.
const recallAttempts = 32

// lastStep reads the journal of the step that may have been running: the open one, or the next.
func (b *rebirth) lastStep(ctx context.Context, old int64) (l legacy, err error) {
	turn, open := b.state.Turn()
	step, stepOpen := b.state.Step()
	switch {
	case !open:
		turn, step = turn+1, 1
	case !stepOpen:
		step++
	}
	for attempt := 1; attempt <= recallAttempts; attempt++ {
		executions, err := b.Store.Journal(b.in.Ident.Session, turn, step, attempt, old).Executions(ctx)
		if err != nil {
			return l, err
		}
		for _, e := range executions {
			if err := l.readAny(e); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

// readAny is read for somebody who does not know what the execution was lent.
func (l *legacy) readAny(e store.JournalExecution) error {
	for _, raw := range e.Parts {
		var p part
		if err := json.Unmarshal(raw.Data, &p); err != nil {
			return fmt.Errorf("journal of execution %d part %d: %w", e.Execution, raw.N, err)
		}
		if p.Begun != nil {
			l.begun, l.chunks, l.settled = p.Begun, nil, nil
		}
		if p.Settled != nil {
			l.settled = p.Settled
		}
		l.chunks = append(l.chunks, p.Chunks...)
	}
	return nil
}

// adopt goes on where the last step stood, if its log is this one's.
func (b *rebirth) adopt(ctx context.Context, records []session.Record, left legacy) ([]session.Record, error) {
	id, head := b.in.Ident.Session, left.begun.Head
	if left.settled != nil && left.settled.Head.Count > head.Count {
		head, left.chunks = left.settled.Head, nil
	}
	if cut, err := b.Store.Cut(ctx, id, store.Head(head), b.head.Count); err != nil || work.Head(cut) != work.Head(b.head) {
		return records, err
	}
	state, err := b.Store.State(ctx, id, store.Head(head))
	if err != nil {
		return nil, err
	}
	b.head, b.state = store.Head(head), state
	return b.apply(nil, left.chunks)
}
