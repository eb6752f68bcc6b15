package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// The journal of an attempt is what a later execution, or a settling, knows of an earlier one. Its parts are numbered
// per execution: part 0 is written before the provider is called, then come the chunks that were shown, at last the
// answer. See architecture A3.6.

// A part is one object of the journal; one field is set.
type part struct {
	Begun   *begun           `json:"begun,omitempty"`
	Chunks  []session.Record `json:"chunks,omitempty"`
	Settled *work.StepOut    `json:"settled,omitempty"`
}

// begun is what an execution knew when it called the provider.
type begun struct {
	Echo     work.Echo  `json:"echo"` // of what it was lent
	Head     work.Head  `json:"head"` // everything up to header and context
	Assembly string     `json:"assembly,omitempty"`
	Whole    *assembly  `json:"whole,omitempty"` // instead of Assembly, which is stored if another attempt needs it
	Start    int64      `json:"start"`           // seq of step/start
	Users    []string   `json:"users,omitempty"`
	Acts     []work.Act `json:"acts,omitempty"`
}

// rulesLean is the behaviour version from which on a step makes fewer objects: its journal lies flat, and holds the assembly.
// A step whose state goes by lower rules may have to be taken up by a worker that reads nothing else. See decision 0015.
const rulesLean = 4

func (s *step) lean() bool { return s.in.Ident.Rules >= rulesLean }

// The bounds of what may be missing from the journal of a worker that died. See architecture D25.
const (
	journalEvery = 250 * time.Millisecond
	journalBytes = 16 << 10
)

// A journal writes the parts of one execution.
type journal struct {
	put   func(n int, p part) error
	every time.Duration // how long a chunk may wait
	// broken is told once that a part could not be written.
	broken func(error)

	mu     sync.Mutex
	n      int // of the next part
	chunks []session.Record
	bytes  int
	timer  *time.Timer
	err    error
	closed bool
}

func (s *step) openJournal(ctx context.Context, broken func(error)) *journal {
	return &journal{n: 1, every: s.journalEvery, broken: broken, put: func(n int, p part) error { return s.putPart(ctx, n, p) }}
}

func (s *step) beginJournal(ctx context.Context, b begun) error {
	return s.putPart(ctx, 0, part{Begun: &b})
}

func (s *step) putPart(ctx context.Context, n int, p part) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("journal part %d: %w", n, err)
	}
	return s.try(ctx, quickTries, func(ctx context.Context) error { return s.stored().Put(ctx, s.exec, n, data) })
}

func (s *step) stored() *store.Journal {
	j := s.Store.Journal(s.in.Ident.Session, s.in.Turn, s.in.Step, s.in.Attempt, s.in.Ident.Epoch)
	if s.lean() {
		return j.Flat()
	}
	return j
}

// add notes a chunk that was shown. It is written soon; a stream that ends sooner needs no part.
func (j *journal) add(r session.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	j.chunks = append(j.chunks, r)
	if raw, err := json.Marshal(r); err == nil {
		j.bytes += len(raw)
	}
	if j.bytes >= journalBytes {
		return j.flush()
	}
	if j.timer == nil {
		j.timer = time.AfterFunc(j.every, j.due)
	}
	return nil
}

// due writes what has waited long enough.
func (j *journal) due() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed && j.err == nil && j.flush() != nil {
		j.broken(j.err)
	}
}

// flush writes the chunks that wait. The caller holds the lock.
func (j *journal) flush() error {
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
	if len(j.chunks) == 0 {
		return nil
	}
	if err := j.put(j.n, part{Chunks: j.chunks}); err != nil {
		j.err = unrecorded{err}
		return j.err
	}
	j.n, j.chunks, j.bytes = j.n+1, nil, 0
	return nil
}

// close ends the writing of chunks and waits for a part that is on its way. keep writes the rest, for the execution that
// takes over.
func (j *journal) close(keep bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if keep && j.err == nil {
		_ = j.flush() // at worst the evidence is shorter
	}
	if j.timer != nil {
		j.timer.Stop()
	}
	j.closed = true
}

// unrecorded is the error of a chunk that could not be written.
type unrecorded struct{ error }

func (u unrecorded) Error() string { return "chunk not recorded: " + u.error.Error() }

func (u unrecorded) Unwrap() error { return u.error }

// settle writes the answer. Without it another execution would call the model again, so it comes before the answer.
func (j *journal) settle(out work.StepOut) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.put(j.n, part{Settled: &out})
}

// outdate notes the journal of the attempt before this one, whose answer the given head proves to be heard.
func (s *step) outdate(before *session.State) {
	turn, _ := before.Turn()
	step, _ := before.Step()
	attempt := max(1, s.in.Attempt-1)
	if step == 0 || s.in.Attempt == 1 && turn == s.in.Turn && step == s.in.Step {
		return
	}
	s.old = s.Store.Journal(s.in.Ident.Session, turn, step, attempt, s.in.Ident.Epoch)
}

// tidy drops the outdated journal. It waits for this attempt's own, so that their folder stays: a new one must be flushed.
func (s *step) tidy(ctx context.Context) {
	old := s.old
	if s.old = nil; old == nil {
		return
	}
	s.beside.Go(func() {
		ctx, cancel := bounded(ctx)
		defer cancel()
		if err := old.Drop(ctx); err != nil {
			s.Log(ctx, "old journal not dropped", "session_id", s.in.Ident.Session, "error", err)
		}
	})
}

// A legacy is what the earlier executions of an attempt left.
type legacy struct {
	echo    work.Echo
	begun   *begun // of the latest that called the provider; nil: none did
	losses  int    // how many called the provider
	exec    int
	chunks  []session.Record // what it showed
	settled *work.StepOut    // of the latest that answered
}

func (s *step) readJournal(ctx context.Context) (legacy, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	executions, err := s.stored().Executions(ctx)
	if err != nil {
		return legacy{}, err
	}
	l := legacy{echo: s.echo()}
	for _, e := range executions {
		if e.Damage != nil {
			s.Log(ctx, "journal damaged", "session_id", s.in.Ident.Session, "execution", e.Execution, "error", e.Damage)
		}
		if err := l.read(e); err != nil {
			return legacy{}, err
		}
	}
	return l, nil
}

// read takes the parts of one execution up to the first that is missing or damaged. An execution that was lent other events belongs
// to a history that never happened, such as one before a reset.
func (l *legacy) read(e store.JournalExecution) error {
	for i, raw := range e.Parts {
		var p part
		if err := json.Unmarshal(raw.Data, &p); err != nil {
			return fmt.Errorf("journal of execution %d part %d: %w", e.Execution, raw.N, err)
		}
		if raw.N != i || p.Begun != nil && p.Begun.Echo != l.echo {
			return nil
		}
		if p.Begun != nil {
			l.begun, l.exec, l.chunks = p.Begun, e.Execution, nil
			l.losses++
		}
		if p.Settled != nil {
			l.settled = p.Settled
		}
		l.chunks = append(l.chunks, p.Chunks...)
	}
	return nil
}
