package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// parseAttempt reads `attempt max-tokens N`: another agent is to be created with the limit that somebody wrote down;
// `attempt wire max-tokens N` as a program does it that knows nothing of package agents.
func parseAttempt(_ *setup, w *words) (act, error) {
	wire := w.take("wire")
	if !w.take("max-tokens") {
		return nil, errors.New("want `attempt [wire] max-tokens N`")
	}
	number, err := w.value("the limit")
	return quiet(func(r *run, ctx context.Context) error {
		if err := r.openSite(ctx); err != nil {
			return err
		}
		r.attempted = "attempt-" + uuid.NewString()[:13]
		var n int
		if err := json.Unmarshal(number, &n); err != nil {
			return err
		}
		if wire {
			return r.createByWire(ctx, n)
		}
		o := agents.CreateOptions{ID: r.attempted, Definition: definitionName}
		if err := o.LimitTokens(n); err != nil {
			return err
		}
		_, err := r.site.client.Create(ctx, o)
		return err
	}), err
}

// createByWire starts the agent as any client of the server can, and waits for what becomes of it.
func (r *run) createByWire(ctx context.Context, maxTokens int) error {
	backend := r.site.client.Backend
	if err := backend.Start(ctx, r.attempted, signals.Create{Definition: definitionName, MaxTokens: maxTokens}); err != nil {
		return err
	}
	for {
		state, err := backend.Describe(ctx, r.attempted)
		if err != nil || !state.Open {
			return errors.Join(err, errors.New(state.Reason))
		}
		var s signals.State
		if err := backend.Query(ctx, r.attempted, signals.QueryState, nil, &s); err == nil && s.Status != "creating" {
			return nil
		}
		select {
		case <-time.After(firstPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// parseLend reads `lend M "…"`: M is injected, and then the sender changes the memory that it handed over.
func parseLend(s *setup, w *words) (act, error) {
	name, err := w.bare("the name of a message")
	if err != nil {
		return nil, err
	}
	text, err := w.text("what the memory says later")
	m := s.message(name)
	return func(ctx context.Context, r *run) outcome {
		sent := agents.Message{ID: m.ID, Content: append(session.Content{}, m.Content...), Source: &session.Source{Kind: m.Source.Kind}}
		receipt, err := r.agent.Receipt(ctx, signals.Inject, sent, "", false)
		for i := range sent.Content {
			sent.Content[i] = session.Text{Text: text}
		}
		sent.Source.Kind, sent.Source.Plugin = session.SourcePlugin, text
		return r.sent(m.ID, receipt, err)
	}, err
}
