package activities

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// resume takes over from an execution whose worker died. What it answered is answered again; if it had called the
// provider, its evidence is logged and the same request is sent once more; if it had not, the step begins anew. See
// architecture A3.6.
func (s *step) resume(ctx context.Context) (*work.StepOut, error) {
	if s.exec <= 1 {
		return nil, nil
	}
	left, err := s.readJournal(ctx)
	if err != nil {
		return nil, err
	}
	if left.settled != nil {
		return s.again(*left.settled), nil
	}
	if left.begun == nil {
		return nil, nil
	}
	if ctx.Err() != nil && s.halted(ctx) == nil { // cancelled while nobody worked on it
		s.in.Lost = lostCancelled
		return s.bury(ctx, left)
	}
	if left.losses >= maxLosses {
		return nil, s.refuse(work.CodeWorkerLost, fmt.Errorf("%d workers in a row were lost while the model answered: the step is given up", left.losses))
	}
	return first(ctx, s.inherit(left), s.rebind, s.begin, s.freeze, s.converse)
}

// maxLosses is how often a model call is made again after its worker was lost: a step that kills its workers must not
// go on for ever, nor be paid for ever. See architecture A3.15.
const maxLosses = 5

// again is the answer of an execution that nobody heard.
func (s *step) again(out work.StepOut) *work.StepOut {
	out.Echo = s.echo()
	out.Worker = s.worker(s.kind, s.in.Ident)
	return &out
}

// inherit goes on where the dead execution called the provider, and logs what it showed.
func (s *step) inherit(left legacy) phase {
	return func(ctx context.Context) (*work.StepOut, error) {
		if err := s.adopt(ctx, left); err != nil {
			return nil, err
		}
		lost := session.Failure{Code: work.CodeWorkerLost, Message: "the worker was lost while the model answered; the call is made again"}
		if err := s.settleAttempt(left, &lost); err != nil {
			return nil, err
		}
		return nil, s.write(ctx, quickTries)
	}
}

// adopt takes over what the dead execution knew, and its chunks.
func (s *step) adopt(ctx context.Context, left legacy) (err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	b := left.begun
	if s.state, err = s.Store.State(ctx, s.in.Ident.Session, store.Head(b.Head)); err != nil {
		return err
	}
	s.head, s.pending, s.lent = b.Head, nil, 0
	s.entered, s.committed, s.users, s.earlier = true, true, b.Users, b.Acts
	if b.Whole != nil {
		s.asm = *b.Whole
	}
	s.asmHash, s.asm.Start = b.Assembly, b.Start
	for _, r := range left.chunks {
		if err := s.add(r); err != nil {
			return fmt.Errorf("journal of execution %d: %w", left.exec, err)
		}
	}
	return nil
}

// settleAttempt logs that the chunks of a lost execution led to no message.
func (s *step) settleAttempt(left legacy, f *session.Failure) error {
	x := replay(left.chunks)
	return s.log(session.AssistantAttempt{Turn: s.in.Turn, Step: s.in.Step, ChunkSeqs: x.seqs, Failure: f, Usage: x.asm.Usage()})
}

// rebind prepares the logged request for the route once more.
func (s *step) rebind(ctx context.Context) (*work.StepOut, error) {
	h := s.state.LastHeader()
	if h == nil {
		return s.fail(ctx, fmt.Errorf("the lost execution left no request header"))
	}
	prepared, err := s.Registry.Prepare(ctx, h.Header.Config)
	switch {
	case err == nil:
		s.prepared = prepared
	case isCode(err, llm.NoAdapter):
		s.unserved = err
	default:
		return s.fail(ctx, err)
	}
	s.request = RequestAt(s.state, s.in.Ident.Session)
	s.proposal.Config = h.Header.Config
	return nil, nil
}
