package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/everturn/everturn/agents"
)

// History implements [agents.Backend]: the durable part of the last run.
func (e *Engine) History(_ context.Context, id string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) { yield(e.remembered(id)) }
}

func (e *Engine) remembered(id string) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.find(id)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(a.kept())
	if err != nil {
		return nil, fmt.Errorf("local: history of %s: %w", id, err)
	}
	return data, nil
}

// Forget implements [agents.Backend].
func (e *Engine) Forget(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.find(id)
	switch {
	case errors.Is(err, agents.ErrUnknownAgent):
		return nil
	case err != nil:
		return err
	case a.End == nil:
		return fmt.Errorf("forget agent %s: %w", id, agents.ErrExists)
	}
	delete(e.agents, id)
	e.runs = slices.DeleteFunc(slices.Clone(e.runs), func(a *agent) bool { return a.ID == id || a.Tells != nil && a.Tells.Ident.Session == id })
	return nil
}
