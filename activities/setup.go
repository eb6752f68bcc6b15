package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// specMediaType marks a stored spec.
const specMediaType = "application/vnd.everturn.spec+json"

// Setup gives birth to an agent: it checks what it was given, runs the created hooks, claims the epoch and stores header
// and spec. It may run again; a session that exists with another birth is refused.
//
// The hooks come before anything is written, so that a failing one leaves no trace and the id is free again. What they
// asked for is recorded, so an execution that takes over does not run them twice. See spec §6.1 and architecture A3.12.
func (a *Activities) Setup(ctx context.Context, in work.SetupIn) (work.SetupOut, error) {
	defer a.beat(ctx, in.Ident.Session, "")()
	out, err := a.setup(ctx, in)
	if err != nil {
		return work.SetupOut{}, a.leave(err, "set up "+in.Ident.Session)
	}
	return out, nil
}

func (a *Activities) setup(ctx context.Context, in work.SetupIn) (work.SetupOut, error) {
	if in.Resume != nil || in.Fork != nil {
		return a.setupAgain(ctx, in)
	}
	k, err := a.kindOfBirth(in.Ident.Definition)
	if err != nil {
		return work.SetupOut{}, err
	}
	if _, err := a.enter(ctx, in.Ident); err != nil {
		return work.SetupOut{}, err
	}
	if err := a.checkSpec(k, in.Spec); err != nil {
		return work.SetupOut{}, a.refuse(work.ErrInvalidSpec, err)
	}
	header, err := a.header(ctx, in)
	if err != nil {
		return work.SetupOut{}, err
	}
	acts, err := a.announce(ctx, k, in, header)
	if err != nil {
		return work.SetupOut{}, err
	}
	spec, err := a.birth(ctx, in, header)
	if err != nil {
		return work.SetupOut{}, err
	}
	return a.born(k, in, spec, acts), nil
}

// born is what every birth answers.
func (a *Activities) born(k *kind, in work.SetupIn, spec string, acts []work.Act) work.SetupOut {
	config := declaredConfig(k.Definition, in.Spec)
	return work.SetupOut{
		Spec: spec, Store: a.Store.ID(), Model: config.Provider + "/" + config.Model,
		Manifest: a.manifest(k), Acts: acts, Recorded: recordedOf(spec, in.Spec), Worker: a.worker(k, in.Ident),
	}
}

// birth writes what must exist before the agent does. A taken epoch or another header refuses.
func (a *Activities) birth(ctx context.Context, in work.SetupIn, header session.Header) (spec string, err error) {
	id := in.Ident
	if err := a.Store.ClaimEpoch(ctx, id.Session, id.Epoch, ownerOf(in)); err != nil {
		return "", err
	}
	err = a.Store.PutHeader(ctx, header)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) {
		return "", a.taken(id.Session, err)
	}
	if err != nil {
		return "", err
	}
	return a.putSpec(ctx, in.Spec)
}

func (a *Activities) taken(id string, err error) error {
	return a.refuse(work.ErrInvalidSpec, fmt.Errorf("session %s exists in this store already: %w", id, err))
}

// MaxDelegationDepth bounds how deep children of children go: agents that delegate to their like would go on for ever.
const MaxDelegationDepth = 16

// header is the immutable description of the session. See spec §2.2, §6.4.
func (a *Activities) header(ctx context.Context, in work.SetupIn) (session.Header, error) {
	h := session.Header{
		Version: session.FormatVersion, ID: in.Ident.Session, CreatedAt: in.CreatedAt, CWD: in.Spec.CWD,
		ParentSession: in.Spec.Parent, AgentPreset: in.Ident.Definition,
	}
	if err := h.Validate(); err != nil {
		return h, a.refuse(work.ErrInvalidSpec, err)
	}
	if h.ParentSession == "" {
		return h, nil
	}
	h.Origin, h.DelegationDepth = "subagent", 1
	parent, err := a.Store.Header(ctx, h.ParentSession)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return h, err
	}
	if err == nil {
		if h.DelegationDepth = parent.DelegationDepth + 1; h.DelegationDepth > MaxDelegationDepth {
			return h, a.refuse(work.ErrInvalidSpec, fmt.Errorf("the agent would be the child of a child, %d deep: at most %d are allowed (let an agent further up do the work)",
				h.DelegationDepth, MaxDelegationDepth))
		}
		h.CWD = cmp.Or(h.CWD, parent.CWD)
	}
	return h, nil
}

func (a *Activities) putSpec(ctx context.Context, s work.Spec) (string, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("spec: %w", err)
	}
	ref, err := a.Store.PutBlob(ctx, data, specMediaType)
	if err != nil {
		return "", err
	}
	a.specs.keep(ref.SHA256, s)
	return ref.SHA256, nil
}

// spec reads what an agent was created with; an agent without one has the definition's defaults.
func (a *Activities) spec(ctx context.Context, hash string) (s work.Spec, err error) {
	if hash == "" {
		return s, nil
	}
	if s, ok := a.specs.get(hash); ok {
		return s, nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	data, err := a.Store.Blob(ctx, hash)
	if err != nil {
		return s, fmt.Errorf("spec of the agent: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("spec of the agent: %w", err)
	}
	a.specs.keep(hash, s)
	return s, nil
}

// A specCache holds specs by hash.
type specCache struct {
	mu    sync.Mutex
	specs map[string]work.Spec
}

const maxSpecs = 1024

func (c *specCache) get(hash string) (work.Spec, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.specs[hash]
	return s, ok
}

func (c *specCache) keep(hash string, s work.Spec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.specs == nil || len(c.specs) >= maxSpecs {
		c.specs = map[string]work.Spec{}
	}
	c.specs[hash] = s
}
