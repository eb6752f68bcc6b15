package local

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// Query implements [agents.Backend]. It sees everything that was accepted before it.
func (e *Engine) Query(ctx context.Context, id, name string, arg, out any) error {
	data, err := json.Marshal(arg)
	if err != nil {
		return invalid(err)
	}
	view, err := reader(name, data)
	if err != nil {
		return invalid(err)
	}
	got := make(chan reading, 1)
	ask := func(s *driver.State, err error) {
		if err != nil {
			got <- reading{err: err}
			return
		}
		got <- reading{view: view(s)}
	}
	if err := e.queue(id, item{Name: itemQuery, query: ask}); err != nil {
		return err
	}
	r, err := await(ctx, e, got)
	if err == nil {
		err = r.err
	}
	if err != nil {
		return err
	}
	return fill(out, r.view)
}

// A reading is what a query comes to.
type reading struct {
	view any
	err  error
}

// dropQueries answers the queries of an agent that no worker is left for.
func (a *agent) dropQueries() {
	a.Queue = slices.DeleteFunc(slices.Clone(a.Queue), func(i item) bool {
		if i.query != nil {
			i.query(nil, fmt.Errorf("agent %s: %w", a.ID, agents.ErrNoWorker))
		}
		return i.query != nil
	})
}

func (e *Engine) queue(id string, i item) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.find(id)
	if err == nil && len(e.workers) == 0 {
		err = fmt.Errorf("agent %s: %w", id, agents.ErrNoWorker)
	}
	if err == nil {
		e.submit(a, i)
	}
	return err
}

// reader is the view that a query asks for.
func reader(name string, arg []byte) (func(*driver.State) any, error) {
	switch name {
	case signals.QueryState:
		return func(s *driver.State) any { return workflows.View(s) }, nil
	case signals.QueryLog:
		return func(s *driver.State) any { return workflows.LogView(s) }, nil
	case signals.QueryWhenIdle:
		var in signals.WhenIdle
		err := json.Unmarshal(arg, &in)
		return func(s *driver.State) any { return workflows.IdleView(s, in) }, err
	case signals.QueryMessage:
		var in signals.MessageID
		err := json.Unmarshal(arg, &in)
		return func(s *driver.State) any { return workflows.MessageView(s, in.ID) }, err
	default:
		return nil, fmt.Errorf("unknown query %q", name)
	}
}
