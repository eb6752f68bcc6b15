package activities

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/internal/webhook"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/tools"
)

// Config is what [Activities] need. Store, Registry and Definitions are required.
type Config struct {
	Store       *store.Store
	Registry    *llm.Registry
	Definitions []*plugin.Definition
	Broker      stream.Broker // live feed; nil: nothing is shown live
	History     HistoryReader // for CancelReason; nil: every native cancel is the user's

	Webhooks Webhooks // whom the worker may tell what happens to agents

	Profile    string // recorded in the manifest of agents born here: workflows.Embedded, or empty
	Attributes bool   // the server knows the agents' search attributes: recorded likewise

	Clock  func() time.Time                                 // nil means time.Now
	Random func() float64                                   // uniform in [0,1), for jitter; nil means math/rand
	Sleep  func(ctx context.Context, d time.Duration)       // pause between tries of the store; nil waits
	Log    func(ctx context.Context, msg string, kv ...any) // warnings; nil drops them

	// Heartbeat tells the engine that the activity lives; nil means that nobody wants to know.
	Heartbeat      func(ctx context.Context)
	HeartbeatEvery time.Duration // 0 means 2 s
	// Execution is the number of this execution of the activity, from 1; nil means always the first.
	Execution func(ctx context.Context) int
	// Stopped says why an ended context is no cancel of the agent's activity, such as a worker that shuts down: then the
	// method gives up with this error and is executed again. Nil, and a nil error, mean that it is a cancel.
	Stopped func(ctx context.Context) error
	// Refuse makes an error that must not be retried, of one of the types work.Err…; nil makes a [*Refusal].
	Refuse func(kind string, err error) error

	// Later makes an error that is to be tried again after some time, at the engine's own pace if that is 0; nil makes a
	// [*Delay].
	Later func(err error, after time.Duration) error

	// Probe is called at named points; its error ends the method there and then, as if the worker had died. Nil in
	// production.
	Probe func(ctx context.Context, point, session string, turn, step, attempt int) error
}

// Activities are the methods of the work contract. Make one with [New].
type Activities struct {
	Config
	kinds map[string]*kind
	specs specCache
	seen  snapshotCache
	hooks *webhook.Sender

	journalEvery time.Duration
}

// A kind is a definition, ready for use.
type kind struct {
	*plugin.Definition
	set      *tools.Set
	manifest work.Manifest
}

// New checks the configuration and names what is wrong with it.
func New(c Config) (*Activities, error) {
	if c.Store == nil || c.Registry == nil {
		return nil, errors.New("activities: Store and Registry are required")
	}
	hooks, err := webhook.New(webhook.Config{Allow: c.Webhooks.Allow})
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	a := &Activities{Config: c.withDefaults(), kinds: map[string]*kind{}, journalEvery: journalEvery, hooks: hooks}
	for _, d := range c.Definitions {
		k, err := newKind(d)
		if err == nil {
			err = a.checkHooks(webhooksOf(d))
		}
		if err != nil {
			return nil, fmt.Errorf("activities: %w", err)
		}
		if a.kinds[d.Name] != nil {
			return nil, fmt.Errorf("activities: two definitions are named %q (give one of them another name)", d.Name)
		}
		a.kinds[d.Name] = k
	}
	return a, nil
}

func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Log == nil {
		c.Log = func(context.Context, string, ...any) {}
	}
	if c.HeartbeatEvery <= 0 {
		c.HeartbeatEvery = 2 * time.Second
	}
	if c.Execution == nil {
		c.Execution = func(context.Context) int { return 1 }
	}
	if c.Stopped == nil {
		c.Stopped = func(context.Context) error { return nil }
	}
	if c.Later == nil {
		c.Later = func(err error, after time.Duration) error { return &Delay{After: after, Err: err} }
	}
	if c.Refuse == nil {
		c.Refuse = func(kind string, err error) error { return &Refusal{Kind: kind, Err: err} }
	}
	return c
}

func newKind(d *plugin.Definition) (*kind, error) {
	if d == nil {
		return nil, errors.New("a definition is nil")
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	set, err := tools.NewSet(d.Tools...)
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", d.Name, err)
	}
	return &kind{Definition: d, set: set, manifest: manifestOf(d, set)}, nil
}

// tool is a tool that the agent of the view can see. See spec §8.2.
func (k *kind) tool(v plugin.View, name string) (*tools.Tool, bool) {
	if k.Hides(v, name) {
		return nil, false
	}
	return k.set.Get(name)
}

// kind finds a definition; its error names the known ones.
func (a *Activities) kind(name string) (*kind, error) {
	if k := a.kinds[name]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("definition %q is not registered with this worker, which knows %s", name, a.known())
}

// kindOfBirth is kind for an agent that is not there yet: it is refused, and nothing waits.
func (a *Activities) kindOfBirth(name string) (*kind, error) {
	k, err := a.kind(name)
	if err != nil {
		return nil, a.refuse(work.ErrUnknownDefinition, err)
	}
	return k, nil
}

func (a *Activities) known() string {
	var names []string
	for name := range a.kinds {
		names = append(names, name)
	}
	if names == nil {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// enter checks that this worker may work for the agent: not older than its state, same store, current epoch, known
// definition. A worker that cannot has done nothing yet, and another one may: the agent waits for it, visibly, as long as
// an activity may take.
func (a *Activities) enter(ctx context.Context, id work.Ident) (*kind, error) {
	if id.Rules > work.Rules {
		return nil, unfit(work.ErrWorkerTooOld, fmt.Errorf("agent %s goes by rules %d, this worker knows %d: a newer worker must take it", id.Session, id.Rules, work.Rules))
	}
	k, err := a.kind(id.Definition)
	if err != nil {
		return nil, unfit(work.ErrUnknownDefinition, err)
	}
	return k, a.admit(ctx, id)
}

func (a *Activities) admit(ctx context.Context, id work.Ident) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := a.sameStore(id); err != nil {
		return unfit(work.ErrWrongStore, err)
	}
	return a.Store.CheckEpoch(ctx, id.Session, id.Epoch)
}

// unfit is the retryable error of a worker that another one must replace.
func unfit(kind string, err error) error { return final{fmt.Errorf("%s: %w", kind, err)} }

func (a *Activities) sameStore(id work.Ident) error {
	if id.Store == "" || id.Store == a.Store.ID() {
		return nil
	}
	return fmt.Errorf("this worker uses another store (%s) than session %s was born in (%s); give it the same store location",
		a.Store.ID(), id.Session, id.Store)
}

// bounded is for what must be done although the activity was cancelled.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
}

func (a *Activities) now() int64 { return a.Clock().UnixMilli() }

// worker is what an answer says of this worker; with the whole manifest for a state that goes by another one. See
// architecture A3.12.
func (a *Activities) worker(k *kind, id work.Ident) work.Worker {
	w := work.Worker{Rules: work.Rules, Manifest: k.manifest.Digest}
	if id.Manifest != "" && id.Manifest != w.Manifest {
		m := a.manifest(k)
		w.Refresh = &m
	}
	return w
}

// manifest is the definition's, completed by what the worker knows of itself and its server.
func (a *Activities) manifest(k *kind) work.Manifest {
	m := k.manifest
	m.Profile, m.Attributes, m.Refreshes = a.Profile, a.Attributes, true
	return m
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
