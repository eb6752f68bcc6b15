package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/everturn/everturn/signals"
)

// A Backend carries acts to agents: Temporal, or the local engine.
type Backend interface {
	// Start begins an agent's life under id and returns when it is accepted, not when it is born. ErrExists if the id is live.
	Start(ctx context.Context, id string, c signals.Create) error
	// Signal delivers an act; it is durable when the call returns, whether or not a worker runs. payload is one of the
	// payload types of package signals.
	Signal(ctx context.Context, id, act string, payload any) error
	// Update delivers an act, or whenIdle, and decodes its answer into out. It needs a worker.
	Update(ctx context.Context, id, name string, payload, out any) error
	// Query reads the agent's state into out. It needs a worker.
	Query(ctx context.Context, id, name string, arg, out any) error
	// Describe says whether the agent's run is open and how it closed. It needs no worker.
	Describe(ctx context.Context, id string) (Run, error)
	// Problems are why the agent's open run does not go on, as far as the backend sees it. It needs no worker.
	Problems(ctx context.Context, id string) ([]Problem, error)
	// List yields the agents that are or were there, newest first.
	List(ctx context.Context) iter.Seq2[Listed, error]
	// Workers reports whether any worker takes the agents' tasks now.
	Workers(ctx context.Context) (bool, error)
	// Untaken are the acts that the agent's run accepted and no worker has taken yet, oldest first. It needs no worker.
	Untaken(ctx context.Context, id string) ([]Untaken, error)
	// History yields all bytes that the agent's last run remembers, in which it may name objects of the store: what it was
	// started with, what it was sent, what activities answered. It needs no worker.
	History(ctx context.Context, id string) iter.Seq2[[]byte, error]
	// Forget removes an agent that has ended, with all its runs and what tells of it; [ErrExists] if it is live. An unknown one is no error.
	Forget(ctx context.Context, id string) error
}

// An Untaken act is durable and has had no effect yet.
type Untaken struct {
	Act     string // of package signals
	Payload json.RawMessage
}

// A Run is what the backend knows of an agent without asking it.
type Run struct {
	ID      string // of the run
	Open    bool
	Status  string    // running, completed, failed, canceled, terminated
	Reason  string    // failed: why
	Code    string    // failed: the error's type
	Started time.Time // of the agent: an earlier run may have been its first
	Said    Listed    // what the agent said of itself when its status changed last
}

// Listed is one agent of a listing.
type Listed struct {
	ID         string    `json:"id"`
	Status     string    `json:"status"`            // idle, running, or how its run closed
	Waiting    string    `json:"waiting,omitempty"` // approval: a call waits for a person
	Definition string    `json:"definition,omitempty"`
	Model      string    `json:"model,omitempty"`
	Parent     string    `json:"parent,omitempty"`
	Turn       int64     `json:"turn"`
	Started    time.Time `json:"started"`           // when it was born
	Open       bool      `json:"-"`                 // it lives
	Version    string    `json:"version,omitempty"` // of the workers its run is pinned to: DEPLOYMENT:BUILD

	Metadata map[string]string `json:"metadata,omitempty"` // recorded
}

// The errors a caller can tell apart.
var (
	ErrUnknownAgent = errors.New("no such agent")
	ErrExists       = errors.New("an agent of this id is live")
	ErrNoWorker     = errors.New("no worker answers")
	ErrClosed       = errors.New("the agent has ended")
)

// A RefusedError says that an act changed nothing, and why.
type RefusedError struct {
	Code    string // see signals.Receipt
	Message string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("refused (%s): %s", e.Code, e.Message) }

// A CreateError says why an agent could not be born; its id is free again.
type CreateError struct {
	Code    string
	Message string
}

func (e *CreateError) Error() string {
	return fmt.Sprintf("create agent (%s): %s", e.Code, e.Message)
}
