package activities

import (
	"context"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// recover asks what is to become of a failed model call, and puts the decision into the answer. A cancel beats any
// decision. See spec §4.7.4.
func (s *step) recover(ctx context.Context, out *work.StepOut) error {
	policy := policyAnswer{step: s, failure: *out.Failure}
	in := plugin.RequestFailure{
		View: s.view(), Provider: s.config().Provider, Failure: *out.Failure, Policy: s.retryPolicy(), Attempt: s.in.Attempt,
	}
	decision, err := s.kind.DecideRecovery(s.acts.at(ctx, s.atAttempt("recovery")), in, policy.decide)
	if policy.err != nil {
		return policy.err
	}
	if stopped := s.halted(ctx); stopped != nil {
		return stopped
	}
	switch {
	case s.cancelled(ctx):
		out.Outcome, out.Failure = work.StepCancelled, nil
	case err != nil:
		out.Failure = failureOf(err)
	case decision.Retry && policy.recovery != nil:
		out.Recovery = policy.recovery
	case decision.Retry:
		out.Recovery = &work.Recovery{}
	}
	return nil
}

// retryPolicy is the route's; one that nobody serves has the default.
func (s *step) retryPolicy() llm.RetryPolicy {
	if s.prepared == nil {
		return llm.RetryPolicy{}
	}
	return s.prepared.Retry
}

// policyAnswer is the innermost answer of the recovery gate: compaction if the request was too long, else the route's
// policy. See spec §4.7.6.
type policyAnswer struct {
	step     *step
	failure  session.Failure
	recovery *work.Recovery // nil: the policy declines
	err      error          // the log could not be read
}

func (p *policyAnswer) decide(ctx context.Context, in plugin.RequestFailure) (plugin.Recovery, error) {
	s, policy := p.step, p.step.retryPolicy().WithDefaults()
	if s.relieveOverflow(ctx, p.failure) {
		return plugin.Recovery{Retry: true}, nil
	}
	n, err := s.retries(ctx, in.Provider, policy.Key())
	if err != nil {
		p.err = err
		return plugin.Recovery{}, err
	}
	after := time.Duration(p.failure.ProviderRetryAfterMS) * time.Millisecond
	delay, ok := policy.Delay(llm.Code(p.failure.Code), after, n+1, s.Random())
	if !ok {
		return plugin.Recovery{}, nil
	}
	p.recovery = &work.Recovery{
		Provider: in.Provider, Mode: policy.Mode, Policy: policy.Key(), DelayMS: delay.Milliseconds(), Retry: n + 1,
	}
	if policy.Mode == llm.Normal {
		p.recovery.Maximum = policy.Retries
	}
	return plugin.Recovery{Retry: true}, nil
}

// retries counts the retries of this step that are logged for the same provider and policy.
func (s *step) retries(ctx context.Context, provider, policy string) (n int, err error) {
	if s.in.Attempt == 1 {
		return 0, nil
	}
	for r, err := range s.Store.Facts(ctx, s.in.Ident.Session, store.Head(s.head), s.asm.Start) {
		if err != nil {
			return 0, err
		}
		e, ok := r.Event.(session.LLMRetry)
		if ok && e.Turn == s.in.Turn && e.Step == s.in.Step && e.Provider == provider && e.Policy == policy {
			n++
		}
	}
	return n, nil
}
