package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// Config is what a [Client] needs. Backend and Store are required.
type Config struct {
	Backend Backend
	Store   *store.Store  // the one the workers use
	Broker  stream.Broker // live feed of workers in this process; nil reads the journals in the store instead
	Poll    time.Duration // longest pause between two looks while waiting; 0 means 250 ms
}

// A Client creates, finds and lists agents. It is safe for concurrent use.
type Client struct {
	Config
}

// New checks the configuration.
func New(c Config) (*Client, error) {
	if c.Backend == nil || c.Store == nil {
		return nil, errors.New("agents: Backend and Store are required")
	}
	if c.Poll == 0 {
		c.Poll = 250 * time.Millisecond
	}
	return &Client{Config: c}, nil
}

// CreateOptions say what kind of agent to create. Only Definition is required.
type CreateOptions struct {
	ID              string // session id; made up if empty
	Definition      string
	Title           string
	Provider, Model string // override the definition's
	ReasoningEffort string
	MaxTokens       int // 0 means the definition's
	CWD             string

	Parent           string // session id of the live agent that starts this one and owns it; none for a root
	CancelWithParent bool   // a cancel of the parent's work cancels the child's too, with cause parent

	Params   json.RawMessage     // an object, for prompt parts, gates, hooks and tools; the definition may say what it must hold
	Sections []signals.Section   // of the system prompt, for this agent alone
	Tools    *signals.ToolFilter // nil: all of the definition's
	Queue    string              // task queue of its activities; its own if empty
	Metadata map[string]string   // for people and programs; the model does not see it
	Webhooks []signals.Webhook   // that are told what happens to this agent, beside the definition's
	Budget   int64               // tokens whose multiples are told; 0: the definition's

	ClientTools []signals.ClientTool // that programs of the caller's run, see [Agent.Serve]
}

// Create starts an agent and returns when it is born. If it cannot be, the error is a [*CreateError] and the id is free
// again; [ErrExists] if the id is live. See spec §6.1.
func (c *Client) Create(ctx context.Context, o CreateOptions) (*Agent, error) {
	a, err := c.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	err = a.born(ctx)
	if errors.Is(ctx.Err(), context.Canceled) && err != nil {
		return nil, errors.Join(err, a.callOff(context.WithoutCancel(ctx)))
	}
	return a, err
}

// callOffIn bounds how long a creation that nobody wants any more is waited for.
const callOffIn = 10 * time.Second

// callOff ends an agent whose creator gave up, wherever its birth has got to. See spec §6.1.8.
func (a *Agent) callOff(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callOffIn)
	defer cancel()
	return a.Dispose(ctx)
}

// Start starts an agent and returns when that is accepted; [Agent.State] tells when it is born.
func (c *Client) Start(ctx context.Context, o CreateOptions) (*Agent, error) {
	if o.ID == "" {
		o.ID = "agent-" + uuid.NewString()[:8]
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := c.free(ctx, o.ID); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create agent %s: %w", o.ID, err)
	}
	create := o.create()
	var err error
	if o.Parent != "" {
		err = c.spawn(ctx, o, create)
	} else {
		err = c.Backend.Start(ctx, o.ID, create)
	}
	if err != nil {
		return nil, fmt.Errorf("create agent %s: %w", o.ID, err)
	}
	return c.agent(o.ID), nil
}

// spawn has the parent start the agent, so that it owns it. See spec §6.4.
func (c *Client) spawn(ctx context.Context, o CreateOptions, create signals.Create) error {
	var r signals.Receipt
	in := signals.Spawn{RequestID: "spawn-" + uuid.NewString(), ID: o.ID, Create: create, Follows: o.CancelWithParent}
	if err := c.Backend.Update(ctx, o.Parent, signals.SpawnChild, in, &r); err != nil {
		return fmt.Errorf("parent %s: %w", o.Parent, err)
	}
	switch {
	case r.Disposition != signals.Refused:
		return nil
	case r.Code == codeExists:
		return ErrExists
	default:
		return &RefusedError{Code: r.Code, Message: r.Message}
	}
}

// IsOwnedBy reports whether a live agent owns another one: it started it, and neither has ended since. It is a relation of
// living agents, whatever the sessions' lineage says. See spec §6.2.
func (c *Client) IsOwnedBy(ctx context.Context, id, owner string) (bool, error) {
	var s signals.State
	err := c.Backend.Query(ctx, owner, signals.QueryState, nil, &s)
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, ErrUnknownAgent):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("agent %s: %w", owner, err)
	case !slices.Contains(s.Children, id):
		return false, nil
	}
	return c.knows(ctx, id, owner)
}

// knows reports whether a child is alive and still its parent's: a parent may not have noticed that it was terminated, and
// resumed as nobody's.
func (c *Client) knows(ctx context.Context, id, parent string) (bool, error) {
	var s signals.State
	run, err := c.Backend.Describe(ctx, id)
	if err == nil && run.Open {
		err = c.Backend.Query(ctx, id, signals.QueryState, nil, &s)
	}
	if errors.Is(err, ErrUnknownAgent) { // it is being started
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("agent %s: %w", id, err)
	}
	return run.Open && s.Parent == parent, nil
}

// codeExists is how a birth is refused whose session is there already. See spec §7.3.
const codeExists = "SESSION_ALREADY_EXISTS"

// free reports whether a new session can have the id. The log of an agent that has ended stays in the store, and no other
// session may be mixed into it.
func (c *Client) free(ctx context.Context, id string) error {
	_, err := c.Store.Header(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create agent %s: %w", id, err)
	}
	if run, err := c.Backend.Describe(ctx, id); err == nil && run.Open {
		return fmt.Errorf("create agent %s: %w", id, ErrExists)
	}
	return &CreateError{Code: codeExists, Message: fmt.Sprintf("the log of an agent %q that has ended is in the store: choose another id", id)}
}

// LimitTokens bounds the output of a request by a number that somebody configured: it must be positive. See spec §6.1.
func (o *CreateOptions) LimitTokens(n int) error {
	if n < 1 {
		return &CreateError{Code: signals.ErrInvalid, Message: fmt.Sprintf("maxTokens is %d: use a positive number, or leave it out for the definition's", n)}
	}
	o.MaxTokens = n
	return nil
}

func (o CreateOptions) create() signals.Create {
	return signals.Create{Definition: o.Definition, Title: o.Title, Provider: o.Provider, Model: o.Model,
		ReasoningEffort: o.ReasoningEffort, MaxTokens: o.MaxTokens, CWD: o.CWD,
		Params: o.Params, Sections: o.Sections, Tools: o.Tools, Queue: o.Queue, Metadata: o.Metadata, ClientTools: o.ClientTools, Webhooks: o.Webhooks, Budget: o.Budget}
}

// validate refuses what could not even be sent; the rest is for the worker to say, who knows the definition.
func (o CreateOptions) validate() error {
	if o.Params != nil && !json.Valid(o.Params) {
		return &CreateError{Code: signals.ErrInvalidSpec, Message: "params: not valid JSON"}
	}
	if raw, err := json.Marshal(o.create()); err != nil || len(raw) > signals.MaxRecorded {
		return &CreateError{Code: signals.ErrInvalidSpec, Message: fmt.Sprintf("the recorded data takes %d bytes: at most %d are kept (store what is large and record where it is)", len(raw), signals.MaxRecorded)}
	}
	switch {
	case !session.ValidID(o.ID):
		return &CreateError{Code: signals.ErrInvalid, Message: "the id must be 1–200 characters without control characters"}
	case o.Definition == "":
		return &CreateError{Code: signals.ErrInvalid, Message: "no definition is named"}
	case o.MaxTokens < 0:
		return &CreateError{Code: signals.ErrInvalid, Message: fmt.Sprintf("maxTokens is %d: use a positive number", o.MaxTokens)}
	}
	return nil
}

// Get returns the handle of an agent that is live or was, also of one whose workflow nobody remembers any more: its log
// can be read. [ErrUnknownAgent] if there is none.
func (c *Client) Get(ctx context.Context, id string) (*Agent, error) {
	_, err := c.Backend.Describe(ctx, id)
	if errors.Is(err, ErrUnknownAgent) {
		if _, stored := c.Store.Header(ctx, id); stored == nil {
			return c.agent(id), nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", id, err)
	}
	return c.agent(id), nil
}

// List yields the agents that are there, newest first. It is eventually consistent. See architecture D15.
func (c *Client) List(ctx context.Context) iter.Seq2[Listed, error] { return c.Backend.List(ctx) }

// Roots yields the agents that were created without an owning agent.
func (c *Client) Roots(ctx context.Context) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for l, err := range c.Backend.List(ctx) {
			if (err != nil || l.Parent == "") && !yield(l, err) {
				return
			}
		}
	}
}

func (c *Client) agent(id string) *Agent { return &Agent{client: c, id: id} }

// body makes a message small enough for a signal: a large body is stored first. See architecture A3.4.
func (c *Client) body(ctx context.Context, s signals.Send) (signals.Send, error) {
	if s.Body != nil || s.Size() <= signals.MaxInline {
		return s, nil
	}
	if n := s.Size(); n > signals.MaxBody {
		return s, &RefusedError{Code: "TOO_LARGE", Message: fmt.Sprintf("the message is %d bytes; at most %d are taken: put it into a file and send its name", n, signals.MaxBody)}
	}
	raw, err := json.Marshal(s.Message("body").Content)
	if err != nil {
		return s, err
	}
	blob, err := c.Store.PutBlob(ctx, raw, session.StoredContent)
	if err != nil {
		return s, fmt.Errorf("store the message: %w", err)
	}
	s.Text, s.Content, s.Body = "", nil, &blob
	return s, nil
}
