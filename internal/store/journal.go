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
type Journal struct {
	s      *Store
	prefix string
	err    error
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

// Journal returns the journal of an attempt. It does no I/O.
func (s *Store) Journal(sessionID string, turn, step, attempt int, epoch int64) *Journal {
	return &Journal{
		s:      s,
		prefix: fmt.Sprintf("journal/%s/%s/%010d.%010d/%010d/", escape(sessionID), number(epoch), turn, step, attempt),
		err:    checkSession(sessionID),
	}
}

func (j *Journal) key(execution, n int) string {
	return fmt.Sprintf("%s%010d/%010d", j.prefix, execution, n)
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
	keys, err := j.keys(ctx)
	if err != nil {
		return nil, err
	}
	var out []JournalExecution
	for _, key := range keys {
		p, err := parsePart(j.prefix, key)
		if err != nil {
			return nil, err
		}
		if len(out) == 0 || out[len(out)-1].Execution != p.Execution {
			out = append(out, JournalExecution{Execution: p.Execution})
		}
		if last := &out[len(out)-1]; last.Damage == nil {
			if err := j.take(ctx, last, p, key); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// take reads a part of an execution.
func (j *Journal) take(ctx context.Context, e *JournalExecution, p JournalPart, key string) (err error) {
	var damage *CorruptError
	if p.Data, err = j.read(ctx, key); errors.As(err, &damage) {
		e.Damage = err
		return nil
	}
	e.Parts = append(e.Parts, p)
	return err
}

func (j *Journal) keys(ctx context.Context) ([]string, error) {
	if j.err != nil {
		return nil, fmt.Errorf("journal: %w", j.err)
	}
	keys, err := j.s.keys(ctx, j.prefix)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return keys, nil
}

// Tail returns the parts after (execution, n) in order; n = -1 begins with the execution. It is for readers that follow
// a running attempt.
func (j *Journal) Tail(ctx context.Context, execution, n int) ([]JournalPart, error) {
	keys, err := j.keys(ctx)
	if err != nil {
		return nil, err
	}
	var parts []JournalPart
	for _, key := range keys {
		p, err := parsePart(j.prefix, key)
		if err != nil {
			return nil, err
		}
		if cmp.Or(cmp.Compare(p.Execution, execution), cmp.Compare(p.N, n)) <= 0 {
			continue
		}
		if p.Data, err = j.read(ctx, key); err != nil {
			return nil, err
		}
		parts = append(parts, p)
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
	if j.err != nil {
		return fmt.Errorf("journal: %w", j.err)
	}
	keys, err := j.s.keys(ctx, j.prefix)
	if err != nil {
		return fmt.Errorf("drop journal: %w", err)
	}
	for _, key := range slices.Backward(keys) {
		if err := j.s.objects.Delete(ctx, key); err != nil {
			return fmt.Errorf("drop journal: %w", err)
		}
	}
	return nil
}

func parsePart(prefix, key string) (p JournalPart, err error) {
	execution, n, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
	if p.Execution, err = strconv.Atoi(execution); err == nil {
		p.N, err = strconv.Atoi(n)
	}
	if err != nil {
		return p, damaged(key, "its name is no journal part", err)
	}
	return p, nil
}
