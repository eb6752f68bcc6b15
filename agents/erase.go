package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/store"
)

// Erased is what an erasure found.
type Erased struct {
	ID       string        `json:"id"`
	Deleted  bool          `json:"deleted"`            // false: it only looked
	Removed  []store.Count `json:"removed"`            // what goes, or went
	Needed   []store.Count `json:"needed"`             // what stays because other sessions need it
	NeededBy []string      `json:"neededBy,omitempty"` // sessions whose logs begin with this one's events
	Young    store.Count   `json:"young"`              // bodies that stay for a later collection: they are too young
}

// Erase deletes what belongs to one agent that has ended, in the store and in the backend; then its id is free. What other
// sessions reach stays. [ErrExists] if the agent is live, [ErrUnknownAgent] if there is nothing of it. Without
// [CollectOptions].Delete it only looks. When it was interrupted it can be called again.
func (c *Client) Erase(ctx context.Context, id string, o CollectOptions) (Erased, error) {
	e := Erased{ID: id}
	run, err := c.ended(ctx, id)
	if err != nil {
		return e, err
	}
	if o.Delete {
		if err := c.checkGrace(ctx, o.Grace, id); err != nil {
			return e, err
		}
	}
	plan, err := c.Store.PlanErase(ctx, id, c.garbageOptions(o, id))
	if err != nil {
		return e, err
	}
	if !plan.Found && run.ID == "" {
		return e, fmt.Errorf("erase agent %s: %w", id, ErrUnknownAgent)
	}
	e.Removed, e.Needed, e.NeededBy, e.Young = plan.Counts(), plan.Needed, plan.NeededBy, plan.Young
	if !o.Delete {
		return e, nil
	}
	if err := mayErase(id, run, plan, o); err != nil {
		return e, err
	}
	return c.erase(ctx, e, plan)
}

func (c *Client) erase(ctx context.Context, e Erased, plan *store.Plan) (Erased, error) {
	if _, err := c.ended(ctx, e.ID); err != nil {
		return e, err
	}
	e.Deleted = true
	var err error
	if e.Removed, err = plan.Run(ctx); err == nil {
		err = c.Backend.Forget(ctx, e.ID)
	}
	var last []store.Count
	if err == nil {
		last, err = plan.Finish(ctx)
		e.Removed = append(e.Removed, last...)
	}
	if err != nil {
		return e, fmt.Errorf("erase agent %s: %w (it is half erased: erase it again)", e.ID, err)
	}
	return e, nil
}

// ended is the closed run of an agent; none if the backend does not know it.
func (c *Client) ended(ctx context.Context, id string) (Run, error) {
	run, err := c.Backend.Describe(ctx, id)
	switch {
	case errors.Is(err, ErrUnknownAgent):
		return Run{}, nil
	case err != nil:
		return run, fmt.Errorf("erase agent %s: %w", id, err)
	case run.Open:
		return run, fmt.Errorf("erase agent %s: %w: dispose of it first", id, ErrExists)
	}
	return run, nil
}

// mayErase refuses what could hit another agent. A run that was ended from outside may have left a worker behind that still
// writes; under an id that is free again it would write into another life.
func mayErase(id string, run Run, plan *store.Plan, o CollectOptions) error {
	if run.ID == "" && plan.Known == 0 && !o.Forgotten {
		return &RefusedError{Code: CodeForgotten, Message: fmt.Sprintf("session %s is not known here, nor is any other in the store: is it the right address and namespace? Nothing was deleted", id)}
	}
	quiet := run.ID == "" || run.Status == "completed" || run.Status == "canceled"
	if since := time.Since(plan.Newest); !quiet && since < store.MinGrace {
		return &RefusedError{Code: CodeTooEarly, Message: fmt.Sprintf("agent %s was %s and may still have a worker that writes: try again in %s. Nothing was deleted",
			id, run.Status, (store.MinGrace - since).Round(time.Minute))}
	}
	return nil
}
