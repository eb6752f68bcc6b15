package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// Resume gives a session whose workflow is gone (terminated, expired, imported) a new one. An interrupted turn is closed,
// input that was accepted is pending again, and nothing runs until a wake. [ErrExists] if the agent is live,
// [ErrUnknownAgent] if the store has no such session. See spec §7.1.
func (c *Client) Resume(ctx context.Context, id string) (*Agent, error) {
	header, err := c.Store.Header(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("resume agent %s: %w in the store", id, ErrUnknownAgent)
	}
	if err != nil {
		return nil, fmt.Errorf("resume agent %s: %w", id, err)
	}
	create := signals.Create{Definition: header.AgentPreset, CWD: header.CWD, Resume: &signals.Resume{}}
	run, err := c.Backend.Describe(ctx, id)
	switch {
	case err == nil && run.Open:
		return nil, fmt.Errorf("resume agent %s: %w", id, ErrExists)
	case err == nil:
		create.Resume.RunID = run.ID
	case !errors.Is(err, ErrUnknownAgent):
		return nil, fmt.Errorf("resume agent %s: %w", id, err)
	}
	return c.reborn(ctx, id, create)
}

// ForkOptions say where a fork begins. The zero value forks at the last event.
type ForkOptions struct {
	ID         string // of the child; made up if empty
	Definition string // of the child; the parent's if empty
	At         *int64 // last event inherited; it must lie outside an open turn
}

// Fork creates an agent whose session begins with another one's events; none of their bytes is copied, and the parent's
// pending input is not inherited. A [*CreateError] has the code SESSION_ALREADY_EXISTS, which is checked first,
// SESSION_NOT_FOUND, SESSION_NOT_LIVE (resume it before), INVALID_BOUNDARY or OPEN_TURN. See spec §7.3.
func (c *Client) Fork(ctx context.Context, source string, o ForkOptions) (*Agent, error) {
	if o.ID == "" {
		o.ID = "agent-" + uuid.NewString()[:8]
	}
	if !session.ValidID(o.ID) {
		return nil, &CreateError{Code: signals.ErrInvalid, Message: "the id must be 1–200 characters without control characters"}
	}
	if err := c.free(ctx, o.ID); err != nil {
		return nil, taken(o.ID, err)
	}
	header, err := c.parent(ctx, source)
	if err != nil {
		return nil, err
	}
	create, err := c.inherit(ctx, source, header, o)
	if err != nil {
		return nil, err
	}
	if o.At != nil {
		create.Fork.At = *o.At
	} else if c.agent(source).midTurn(ctx) {
		return nil, &CreateError{Code: session.RuleOpenTurn, Message: fmt.Sprintf("session %q is in the middle of a turn: wait for its end, or name an event before it", source)}
	}
	child, err := c.reborn(ctx, o.ID, create)
	return child, taken(o.ID, err)
}

// inherit is what a fork is created with: the recorded data of its parent, unless it is another kind of agent.
func (c *Client) inherit(ctx context.Context, source string, header session.Header, o ForkOptions) (create signals.Create, err error) {
	if o.Definition == "" || o.Definition == header.AgentPreset {
		if create, err = c.agent(source).Recorded(ctx); err != nil {
			return create, fmt.Errorf("fork agent %s: %w", source, err)
		}
	}
	create.Definition, create.CWD, create.Title, create.Parent = header.AgentPreset, header.CWD, "", ""
	if o.Definition != "" {
		create.Definition = o.Definition
	}
	create.Fork = &signals.Fork{Session: source, At: session.LastEvent}
	return create, nil
}

// taken gives the code to a refusal that says only that the id is live.
func taken(id string, err error) error {
	if errors.Is(err, ErrExists) {
		return &CreateError{Code: "SESSION_ALREADY_EXISTS", Message: fmt.Sprintf("an agent %q is live: choose another id", id)}
	}
	return err
}

// parent is the header of a session that can be forked: one whose agent is live.
func (c *Client) parent(ctx context.Context, id string) (session.Header, error) {
	header, err := c.Store.Header(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return header, &CreateError{Code: "SESSION_NOT_FOUND", Message: fmt.Sprintf("session %q is not in the store", id)}
	}
	var run Run
	if err == nil {
		run, err = c.Backend.Describe(ctx, id)
	}
	switch {
	case errors.Is(err, ErrUnknownAgent) || err == nil && !run.Open:
		return header, &CreateError{Code: "SESSION_NOT_LIVE", Message: fmt.Sprintf("the agent of session %q has ended: resume it first", id)}
	case err != nil:
		return header, fmt.Errorf("fork agent %s: %w", id, err)
	}
	return header, nil
}

// midTurn reports whether the agent is in the middle of a turn that the store may not show yet.
func (a *Agent) midTurn(ctx context.Context) bool {
	head, tail, err := a.heads(ctx)
	if err != nil {
		return false // the store alone decides
	}
	for _, r := range slices.Backward(tail) {
		switch r.Event.(type) {
		case session.TurnEnd:
			return false
		case session.TurnStart:
			return true
		}
	}
	state, err := a.client.Store.State(ctx, a.id, head)
	if err != nil {
		return false
	}
	_, open := state.Turn()
	return open
}

func (c *Client) reborn(ctx context.Context, id string, create signals.Create) (*Agent, error) {
	if err := c.Backend.Start(ctx, id, create); err != nil {
		return nil, fmt.Errorf("create agent %s: %w", id, err)
	}
	a := c.agent(id)
	return a, a.born(ctx)
}
