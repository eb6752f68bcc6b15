package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// propose settles the call configuration: §4.5.1–2.
func (s *step) propose(ctx context.Context) (*work.StepOut, error) {
	if out, err := s.check(ctx); out != nil || err != nil {
		return out, err
	}
	seed := s.seed()
	config, err := s.kind.DecideRequest(s.acts.at(ctx, s.atAttempt("request")), plugin.RequestProposal{View: s.view(), Config: seed})
	if err != nil {
		return s.fail(ctx, err)
	}
	s.proposal = session.Proposal{Config: config, System: s.asm.System, Tools: s.asm.Tools, SeriesDeclared: s.asm.Series}
	return s.check(ctx)
}

// prepare binds the call to its route: §4.5.3–5. A route that nobody serves keeps the proposal as it is; its dispatch
// will fail.
func (s *step) prepare(ctx context.Context) (*work.StepOut, error) {
	prepared, err := s.Registry.Prepare(ctx, s.proposal.Config)
	switch {
	case err == nil:
		s.prepared = prepared
		s.proposal.Config, s.proposal.Defaults = prepared.Config, prepared.Defaults
	case isCode(err, llm.NoAdapter):
		s.unserved = err
	default:
		return s.fail(ctx, err)
	}
	s.proposal.Context = routeFacts(s.proposal.Config, s.prepared)
	if err := s.point(ctx, "step/prepared"); err != nil {
		return nil, err
	}
	return s.check(ctx)
}

// routeFacts is what request/context records of a route. See spec §8.7.
func routeFacts(c session.CallConfig, p *llm.Prepared) session.RequestContext {
	facts := session.RequestContext{Provider: c.Provider, Model: c.Model}
	if p != nil {
		facts.ContextWindow, facts.SystemPromptUpdate = p.ContextWindow, p.SystemPromptUpdate
	}
	return facts
}

func isCode(err error, code llm.Code) bool {
	var e *llm.Error
	return errors.As(err, &e) && llm.Code(e.Failure.Code) == code
}

// atAttempt names a hook that runs once per attempt.
func (s *step) atAttempt(point string) string {
	if s.in.Attempt > 1 {
		return fmt.Sprintf("%s%d", point, s.in.Attempt)
	}
	return point
}

// declaredConfig is what a definition declares, overridden by what the agent was created with.
func declaredConfig(d *plugin.Definition, spec work.Spec) session.CallConfig {
	c := session.CallConfig{Provider: d.Provider, Model: d.Model, ReasoningEffort: d.ReasoningEffort, MaxTokens: d.MaxTokens}
	if spec.Provider != "" {
		c.Provider = spec.Provider
	}
	if spec.Model != "" {
		c.Model = spec.Model
	}
	if spec.ReasoningEffort != "" {
		c.ReasoningEffort = spec.ReasoningEffort
	}
	if spec.MaxTokens != 0 {
		c.MaxTokens = spec.MaxTokens
	}
	return c
}
