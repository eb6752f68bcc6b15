package activities

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// decide runs the pre-step gate and acts on its decision: §4.4.4–6. It runs once per proposed step.
func (s *step) decide(ctx context.Context) (*work.StepOut, error) {
	if s.in.Attempt > 1 {
		return nil, nil
	}
	in := plugin.PreStep{View: s.view(), Messages: s.batch}
	d, err := s.relieved().DecidePreStep(s.acts.at(ctx, "pre-step"), in, s.snapshot)
	if err != nil {
		return s.fail(ctx, err)
	}
	if out, err := s.check(ctx); out != nil || err != nil {
		return out, err
	}
	if d.Reject {
		out, err := s.end(ctx, work.StepRejected, nil)
		if out != nil {
			out.Reason = clip(d.Reason)
		}
		return out, err
	}
	if len(d.Messages) == 0 && !s.in.Owed {
		return s.end(ctx, work.StepEmpty, nil)
	}
	if s.asm.Entered, err = s.entering(d.Messages); err != nil {
		return s.fail(ctx, err)
	}
	s.asm.Series = d.StartsRequestSeries
	return nil, nil
}

// entering completes the messages a gate made.
func (s *step) entering(messages []session.Message) ([]session.Message, error) {
	for i, m := range messages {
		m = signed(m, s.kind.Name, s.id("m", i+1))
		if m.Role != session.RoleUser {
			return nil, fmt.Errorf("pre-step gate: message %s has role %s; only user messages enter a step", m.ID, m.Role)
		}
		messages[i] = m
	}
	return messages, nil
}

// enter logs step/start: §4.4.7.
func (s *step) enter(ctx context.Context) (*work.StepOut, error) {
	if s.in.Attempt > 1 {
		return nil, nil
	}
	s.asm.Start = s.state.Count()
	if err := s.log(session.StepStart{Turn: s.in.Turn, Step: s.in.Step}); err != nil {
		return s.fail(ctx, err)
	}
	s.entered = true
	if err := s.point(ctx, "step/start"); err != nil {
		return nil, err
	}
	s.keep(ctx)
	return nil, nil
}

// id makes a message id that another execution makes again.
func (s *step) id(kind string, n int) string {
	id := fmt.Sprintf("%s%d.%d", kind, s.in.Turn, s.in.Step)
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return id
}
