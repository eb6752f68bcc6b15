package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// commit logs what the request adds to the log, system prompt, users, header and context in this order, and makes it
// durable: §4.5.6–9, barrier (a) of §4.11.
func (s *step) commit(ctx context.Context) (*work.StepOut, error) {
	before, start := s.state.Clone(), len(s.pending)
	added, system, err := s.reconcile()
	if err != nil { // nothing of the request is logged
		s.state, s.pending, s.users = before, s.pending[:start], nil
		return s.fail(ctx, err)
	}
	s.request = s.build(before.Messages(), added, system)
	if err := s.write(ctx, quickTries); err != nil {
		return s.unwritten(ctx, work.StepFailed, fmt.Errorf("request not logged: %w", err))
	}
	s.committed = true
	return nil, nil
}

// reconcile returns the messages that the request adds, nil if it rewrites history, and the prompt the header anchors.
func (s *step) reconcile() (added []session.Message, system string, err error) {
	n := 0
	updates, system := s.state.Reconcile(s.proposal, s.in.Turn, s.in.Step, s.now(), func() string {
		n++
		return fmt.Sprintf("s%d.%d.%d-%d", s.in.Turn, s.in.Step, s.in.Attempt, n)
	})
	added = []session.Message{}
	for _, r := range updates {
		if err := s.add(r); err != nil {
			return nil, "", err
		}
		if e, ok := r.Event.(session.SystemMessage); ok && !r.Surface.Replace {
			added = append(added, e.Message)
		} else {
			added = nil
		}
	}
	rewrites := added == nil
	users, err := s.logUsers()
	if err != nil {
		return nil, "", err
	}
	if err := s.logHeader(system); err != nil {
		return nil, "", err
	}
	if rewrites {
		return nil, system, nil
	}
	return append(added, users...), system, nil
}

// logUsers logs the entered messages, on the first attempt only: §4.5.7.
func (s *step) logUsers() ([]session.Message, error) {
	if s.in.Attempt > 1 {
		return nil, nil
	}
	for _, m := range s.asm.Entered {
		if err := s.log(session.UserMessage{Message: m}); err != nil {
			return nil, fmt.Errorf("message %s: %w", m.ID, err)
		}
		s.users = append(s.users, m.ID)
	}
	return s.asm.Entered, nil
}

// logHeader logs header and context if they are due: §4.5.8.
func (s *step) logHeader(system string) error {
	if h := s.state.HeaderDue(s.proposal.Header(system), s.proposal.SeriesDeclared); h != nil {
		if err := s.log(*h); err != nil {
			return err
		}
	}
	if c := s.state.ContextDue(s.proposal.Context); c != nil {
		return s.log(*c)
	}
	return nil
}

// begin writes the attempt's first journal part: from here on another execution goes on instead of beginning anew. See
// architecture A3.6.
func (s *step) begin(ctx context.Context) (*work.StepOut, error) {
	if s.kept != nil {
		k := <-s.kept
		if k.err != nil {
			return s.unbegun(ctx, k.err)
		}
		s.asmHash = k.hash
	}
	acts, err := s.take(ctx, s.acts)
	if err != nil {
		return nil, err
	}
	b := begun{Echo: s.echo(), Head: s.head, Assembly: s.asmHash, Start: s.asm.Start, Users: s.users, Acts: slices.Concat(s.earlier, acts)}
	if s.asmHash == "" {
		b.Whole = &s.asm
	}
	if err := s.beginJournal(ctx, b); err != nil {
		return s.unbegun(ctx, err)
	}
	s.tidy(ctx)
	if err := s.point(ctx, "request/committed"); err != nil {
		return nil, err
	}
	return s.check(ctx)
}

// unbegun gives up a request that could not be recorded.
func (s *step) unbegun(ctx context.Context, err error) (*work.StepOut, error) {
	if errors.Is(err, store.ErrExists) {
		return nil, err // another execution goes by this one's number: the next one will find what it left
	}
	return s.unwritten(ctx, work.StepFailed, fmt.Errorf("request not recorded: %w", err))
}
