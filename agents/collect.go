package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/signals"
)

// CollectOptions say what a collection of garbage, or the erasure of an agent, may delete.
type CollectOptions struct {
	Grace  time.Duration // what is younger stays; at least an hour while agents are live
	Delete bool          // otherwise it only says what it would delete
	// Forgotten says that it is right that the backend remembers none of the store's sessions. Without it nothing is
	// deleted then: it may be the wrong backend.
	Forgotten bool
}

// Garbage is what a collection found.
type Garbage struct {
	Deleted  bool          `json:"deleted"`  // false: it only looked
	Sessions int           `json:"sessions"` // in the store
	Live     int           `json:"live"`     // of them
	Known    int           `json:"known"`    // of them, to the backend
	Garbage  []store.Count `json:"garbage"`  // what goes, or went
}

// Why a collection or an erasure deletes nothing; codes of a [*RefusedError].
const (
	CodeLive      = "LIVE_AGENTS"
	CodeForgotten = "SESSIONS_UNKNOWN"
	CodeTooEarly  = "TOO_EARLY"
)

// Collect finds what nothing needs any more in the store, and deletes it if asked to. What a live agent, or one that can be
// resumed, may still need is what its log names and what the backend's history of its last run names; what is younger than
// the grace period is never deleted. A log or a history that cannot be read is an error, and nothing is deleted.
func (c *Client) Collect(ctx context.Context, o CollectOptions) (Garbage, error) {
	if o.Delete {
		if err := c.checkGrace(ctx, o.Grace, ""); err != nil {
			return Garbage{}, err
		}
	}
	plan, err := c.Store.PlanCollect(ctx, c.garbageOptions(o, ""))
	if err != nil {
		return Garbage{}, err
	}
	g := Garbage{Sessions: plan.Sessions, Live: plan.Open, Known: plan.Known, Garbage: plan.Counts()}
	if !o.Delete {
		return g, nil
	}
	if plan.Sessions > 0 && plan.Known == 0 && !o.Forgotten {
		return g, &RefusedError{Code: CodeForgotten, Message: fmt.Sprintf("none of the %d sessions in the store is known here: is it the right address and namespace? Nothing was deleted", plan.Sessions)}
	}
	g.Deleted = true
	if g.Garbage, err = plan.Run(ctx); err != nil {
		return g, fmt.Errorf("collect garbage: %w (some of it may be deleted: collect again)", err)
	}
	return g, nil
}

// checkGrace refuses a grace period that is too short beside live agents.
func (c *Client) checkGrace(ctx context.Context, grace time.Duration, except string) error {
	if grace < 0 {
		return &RefusedError{Code: signals.ErrInvalid, Message: fmt.Sprintf("the grace period %s is negative", grace)}
	}
	if grace >= store.MinGrace {
		return nil
	}
	for l, err := range c.Backend.List(ctx) {
		if err != nil {
			return err
		}
		if l.ID == except {
			continue
		}
		if run, err := c.Backend.Describe(ctx, l.ID); err != nil && !errors.Is(err, ErrUnknownAgent) {
			return err
		} else if err == nil && run.Open {
			return shortGrace(l.ID, grace)
		}
	}
	return nil
}

func shortGrace(id string, grace time.Duration) error {
	return &RefusedError{Code: CodeLive, Message: fmt.Sprintf("agent %s is live and may be about to need what it has just stored: "+
		"a grace period of %s is too short, use %s or more. Nothing was deleted", id, grace, store.MinGrace)}
}

// garbageOptions has the store ask the backend. An agent that the backend does not list yet is seen here.
func (c *Client) garbageOptions(o CollectOptions, except string) store.GarbageOptions {
	return store.GarbageOptions{Grace: o.Grace, Memory: func(ctx context.Context, id string) (store.Memory, error) {
		run, err := c.Backend.Describe(ctx, id)
		switch {
		case errors.Is(err, ErrUnknownAgent):
			return store.Memory{}, nil
		case err != nil:
			return store.Memory{}, err
		case run.Open && o.Delete && o.Grace < store.MinGrace && id != except:
			return store.Memory{}, shortGrace(id, o.Grace)
		}
		return store.Memory{Known: true, Open: run.Open, Texts: c.Backend.History(ctx, id)}, nil
	}}
}
