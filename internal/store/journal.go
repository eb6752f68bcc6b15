package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Journal keeps what a running attempt has shown so far, so that a successor of a dead worker, or a late reader, can
// take it up. It belongs to one attempt of one step in one epoch; every execution of that attempt writes its own parts.
//
// Parts lie flat, named turn.step.attempt.execution.n in a folder of the session and epoch, or deep, in a folder of each
// execution. They are read wherever they lie. A folder of its own costs a store of files a flush of each folder above it.
type Journal struct {
	s       *Store
	folder  string // of session and epoch
	attempt string // the rest of the prefix of its parts, flat
	deep    string // the same, deep
	flat    bool   // where new parts go
	err     error
}

// A JournalPart is one object of a journal.
type JournalPart struct {
	Execution int
	N         int // position within its execution
	Data      []byte
}

// JournalExecution is what one execution left behind: its parts in order of N. A part that is missing in the middle was
// never written or is still on its way. Damage says why there are no more parts than these, if that is why.
type JournalExecution struct {
	Execution int
	Parts     []JournalPart
	Damage    error
}

// Journal returns the journal of an attempt. It does no I/O. New parts go deep, unless it is [Journal.Flat].
func (s *Store) Journal(sessionID string, turn, step, attempt int, epoch int64) *Journal {
	return &Journal{
		s:       s,
		folder:  fmt.Sprintf("journal/%s/%s/", escape(sessionID), number(epoch)),
		attempt: fmt.Sprintf("%010d.%010d.%010d.", turn, step, attempt),
		deep:    fmt.Sprintf("%010d.%010d/%010d/", turn, step, attempt),
		err:     checkSession(sessionID),
	}
}

// Flat is the same journal, whose new parts lie flat. Workers that go by rules below 4 do not find them there.
func (j *Journal) Flat() *Journal {
	flat := *j
	flat.flat = true
	return &flat
}

func (j *Journal) key(execution, n int) string {
	if j.flat {
		return fmt.Sprintf("%s%s%010d.%010d", j.folder, j.attempt, execution, n)
	}
	return fmt.Sprintf("%s%s%010d/%010d", j.folder, j.deep, execution, n)
}

// Put stores a part. The same bytes again are fine, other bytes are a [*ConflictError].
func (j *Journal) Put(ctx context.Context, execution, n int, data []byte) error {
	if j.err != nil {
		return fmt.Errorf("journal: %w", j.err)
	}
	if execution < 0 || n < 0 {
		return fmt.Errorf("journal: execution %d part %d is negative", execution, n)
	}
	return j.s.createSame(ctx, "journal", j.key(execution, n), seal(data))
}

// Executions returns everything the journal holds, executions and their parts in order. A part that is damaged ends its
// execution, as one that is missing does.
func (j *Journal) Executions(ctx context.Context) ([]JournalExecution, error) {
	parts, err := j.parts(ctx)
	if err != nil {
		return nil, err
	}
	var out []JournalExecution
	for _, p := range parts {
		if len(out) == 0 || out[len(out)-1].Execution != p.Execution {
			out = append(out, JournalExecution{Execution: p.Execution})
		}
		if last := &out[len(out)-1]; last.Damage == nil {
			if err := j.take(ctx, last, p); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// take reads a part of an execution.
func (j *Journal) take(ctx context.Context, e *JournalExecution, p keyedPart) (err error) {
	var damage *CorruptError
	if p.Data, err = j.read(ctx, p.key); errors.As(err, &damage) {
		e.Damage = err
		return nil
	}
	e.Parts = append(e.Parts, p.JournalPart)
	return err
}

// A keyedPart is a part that was listed.
type keyedPart struct {
	JournalPart
	key string
}

// parts lists the parts in order, without their data.
func (j *Journal) parts(ctx context.Context) ([]keyedPart, error) {
	if j.err != nil {
		return nil, fmt.Errorf("journal: %w", j.err)
	}
	step, _, _ := strings.Cut(j.deep, "/")
	keys, err := j.s.keys(ctx, j.folder+step) // both ways, and of every attempt of the step
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var parts []keyedPart
	for _, key := range keys {
		name, ok := j.within(key)
		if !ok {
			continue
		}
		p, err := parsePart(key, name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, keyedPart{p, key})
	}
	slices.SortFunc(parts, func(a, b keyedPart) int {
		return cmp.Or(cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.N, b.N))
	})
	return parts, nil
}

// within is what the key of a part of this attempt says of it, execution/n; false for one of another attempt.
func (j *Journal) within(key string) (name string, ok bool) {
	key = strings.TrimPrefix(key, j.folder)
	if name, ok = strings.CutPrefix(key, j.deep); ok {
		return name, true
	}
	name, ok = strings.CutPrefix(key, j.attempt)
	return strings.Replace(name, ".", "/", 1), ok
}

// Tail returns the parts after (execution, n) in order; n = -1 begins with the execution. It is for readers that follow
// a running attempt.
func (j *Journal) Tail(ctx context.Context, execution, n int) ([]JournalPart, error) {
	listed, err := j.parts(ctx)
	if err != nil {
		return nil, err
	}
	var parts []JournalPart
	for _, p := range listed {
		if cmp.Or(cmp.Compare(p.Execution, execution), cmp.Compare(p.N, n)) <= 0 {
			continue
		}
		if p.Data, err = j.read(ctx, p.key); err != nil {
			return nil, err
		}
		parts = append(parts, p.JournalPart)
	}
	return parts, nil
}

func (j *Journal) read(ctx context.Context, key string) ([]byte, error) {
	sealed, err := j.s.objects.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return unseal(key, sealed)
}

// Drop removes the journal. Call it when the attempt is settled in the log. Later parts go first, so that a journal
// which is only half gone never looks complete.
func (j *Journal) Drop(ctx context.Context) error {
	parts, err := j.parts(ctx)
	if err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	for _, p := range slices.Backward(parts) {
		if err := j.s.objects.Delete(ctx, p.key); err != nil {
			return fmt.Errorf("drop journal: %w", err)
		}
	}
	return nil
}

func parsePart(key, name string) (p JournalPart, err error) {
	execution, n, _ := strings.Cut(name, "/")
	if p.Execution, err = strconv.Atoi(execution); err == nil {
		p.N, err = strconv.Atoi(n)
	}
	if err != nil {
		return p, damaged(key, "its name is no journal part", err)
	}
	return p, nil
}
