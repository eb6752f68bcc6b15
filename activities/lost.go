package activities

import (
	"context"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// settleLost settles what a step left from which no answer will come: no gates, no provider. See architecture A3.6.
func (s *step) settleLost(ctx context.Context) (*work.StepOut, error) {
	left, err := s.readJournal(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case left.settled != nil:
		return s.again(*left.settled), nil
	case left.begun == nil:
		return s.answer(ctx, s.lostOutcome())
	}
	return s.bury(ctx, left)
}

// bury settles the call of an execution that died, and answers.
func (s *step) bury(ctx context.Context, left legacy) (*work.StepOut, error) {
	if err := s.adopt(ctx, left); err != nil {
		return nil, err
	}
	out, err := s.settlement(left)
	if err != nil {
		return nil, err
	}
	if err := s.write(ctx, patientTries); err != nil {
		return nil, err
	}
	return s.answer(ctx, out)
}

// lostOutcome is the outcome of a step that logged nothing after its head.
func (s *step) lostOutcome() work.StepOut {
	if s.in.Lost == lostCancelled {
		return work.StepOut{Outcome: work.StepCancelled}
	}
	return work.StepOut{Outcome: work.StepFailed, Failure: s.lostFailure()}
}

func (s *step) lostFailure() *session.Failure {
	message := "the step failed on every worker that tried it"
	if s.in.Lost == lostUnavailable {
		message = "no worker took the step in time"
	}
	return &session.Failure{Code: work.CodeWorkerLost, Message: message}
}

// settlement logs the visible prefix of a cancelled call, or that the call led to no message.
func (s *step) settlement(left legacy) (work.StepOut, error) {
	out := s.lostOutcome()
	x := replay(left.chunks)
	out.Usage, out.Model = x.asm.Usage(), s.model()
	if prefix := x.asm.VisiblePrefix(); s.in.Lost == lostCancelled && len(prefix) > 0 {
		out.Outcome, out.Interrupted = work.StepMessage, true
		return out, s.logMessage(x, prefix, nil, true)
	}
	return out, s.settleAttempt(left, out.Failure)
}

// Why no answer will come.
const (
	lostCancelled   = "cancelled"
	lostUnavailable = "unavailable"
)
