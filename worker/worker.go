// Package worker runs agents: it wires definitions, providers, the store and the live feed into a Temporal worker.
//
// A worker holds nothing that matters. Any number of them may poll one task queue; each must reach the same store and
// know the definitions of the agents it is to run. Stop drains: what runs is finished or handed on.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/activities"
	elog "github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.uber.org/zap"
)

// Config is what a worker needs. Client, Store, Providers and Definitions are required.
type Config struct {
	Client      client.Client
	Namespace   string // of the client; "default" if empty
	TaskQueue   string // signals.DefaultTaskQueue if empty
	Store       Store  // see Open
	Providers   []llm.Provider
	Definitions []*plugin.Definition
	Broker      stream.Broker // shared with readers in this process; one is made if nil
	Profile     Profile       // Stock if empty
	Webhooks    Webhooks      // whom this worker may tell what happens to agents
	Drain       time.Duration // how long Stop lets running work finish; 0 means 10 minutes
	Log         *zap.Logger   // nil: only the SDK's own logger
	Options     worker.Options
	Probe       func(ctx context.Context, point, session string, turn, step, attempt int) error // tests
	Clock       func() time.Time                                                                // tests
}

// A Store keeps the bytes of sessions. Open one with [OpenStore].
type Store = *store.Store

// OpenStore opens the store at a URL: a folder, file:///folder, mem://, or any URL whose gocloud.dev/blob driver is linked
// in. All workers and callers of an agent use the same one.
func OpenStore(ctx context.Context, url string) (Store, error) {
	return store.Open(ctx, url, store.Options{})
}

// Webhooks say whom a worker may tell what happens to agents, and with which secrets; see docs/webhooks.md.
type Webhooks = activities.Webhooks

// A Profile chooses timeouts. See architecture A3.15.
type Profile string

// The profiles.
const (
	Stock    Profile = ""                 // for a shared server: few heartbeats, losses noticed within half a minute
	Embedded Profile = workflows.Embedded // beside a development server: losses noticed within two seconds
)

// A Worker polls for the work of agents.
type Worker struct {
	worker worker.Worker
	config Config
}

// New checks the configuration, looks at the server and makes a worker. It does not poll yet.
func New(ctx context.Context, c Config) (*Worker, error) {
	if c.Client == nil || c.Store == nil {
		return nil, errors.New("worker: Client and Store are required")
	}
	c = c.withDefaults()
	acts, err := c.activities(ctx)
	if err != nil {
		return nil, err
	}
	await, err := c.await()
	if err != nil {
		return nil, err
	}
	w := worker.New(c.Client, c.TaskQueue, c.options())
	workflows.Register(w)
	for name, fn := range map[string]any{
		work.Setup: acts.Setup, work.Step: acts.Step, work.Tool: acts.Tool, work.Persist: acts.Persist,
		work.Spill: acts.Spill, work.CancelReason: acts.CancelReason, work.Hook: acts.Hook, work.Maintain: acts.Maintain, work.Look: acts.Look,
		work.Configure: acts.Configure, work.Tell: acts.Tell, work.Reset: acts.Reset, signals.AwaitActivity: await,
	} {
		w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
	return &Worker{worker: w, config: c}, nil
}

func (c Config) withDefaults() Config {
	if c.TaskQueue == "" {
		c.TaskQueue = signals.DefaultTaskQueue
	}
	if c.Namespace == "" {
		c.Namespace = client.DefaultNamespace
	}
	if c.Broker == nil {
		c.Broker = &stream.Memory{}
	}
	if c.Drain == 0 {
		c.Drain = 10 * time.Minute
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
}

func (c Config) activities(ctx context.Context) (*activities.Activities, error) {
	registry, err := llm.NewRegistry(c.Providers...)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	registered, err := attributesRegistered(ctx, c.Client, c.Namespace)
	if err != nil {
		return nil, fmt.Errorf("worker: look at the server's search attributes: %w", err)
	}
	a, err := activities.New(activities.OnTemporal(activities.Config{
		Store: c.Store, Registry: registry, Definitions: c.Definitions, Broker: c.Broker, Webhooks: c.Webhooks,
		History: activities.History{Service: c.Client.WorkflowService(), Namespace: c.Namespace},
		Profile: string(c.Profile), Attributes: registered, HeartbeatEvery: c.heartbeat(), Probe: c.Probe, Clock: c.Clock,
	}))
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return a, nil
}

// heartbeat is how often an activity says that it lives: well within the timeouts of the profile.
func (c Config) heartbeat() time.Duration {
	if c.Profile == Embedded {
		return 400 * time.Millisecond
	}
	return 10 * time.Second
}

// options keeps what the caller set and adds what agents need.
func (c Config) options() worker.Options {
	o := c.Options
	o.Interceptors = append([]interceptor.WorkerInterceptor{workflows.Interceptor(workflows.Options{Tap: c.tap})}, o.Interceptors...)
	o.WorkerStopTimeout = c.Drain
	if o.DeadlockDetectionTimeout == 0 {
		o.DeadlockDetectionTimeout = 5 * time.Second // a replay of a full inbox on a busy machine is slow, not stuck
	}
	// The ticker decides the pace; the throttle only must not hold back a heartbeat that a cancel asked for.
	o.MaxHeartbeatThrottleInterval = 20 * time.Millisecond
	if c.Profile == Embedded && o.StickyScheduleToStartTimeout == 0 {
		o.StickyScheduleToStartTimeout = time.Second
	}
	if o.MaxEagerActivityReservationsPerWorkflowTask == nil {
		eager := plugin.DefaultMaxParallelTools
		o.MaxEagerActivityReservationsPerWorkflowTask = &eager
	}
	return o
}

// tap hands notifications to the live feed and the definitions' listeners; a failing listener affects nothing.
func (c Config) tap(session, name string, data json.RawMessage) {
	if name == workflows.CancelHint {
		c.hint(session, data)
		return
	}
	c.Broker.Publish(stream.Frame{Session: session, Kind: stream.KindNotice, Name: name, Data: data, Time: time.Now().UnixMilli(), Provisional: true})
	plugin.Tell(c.Definitions, plugin.Notice{Session: session, Name: name, Data: data}, c.listenerFailed)
}

func (c Config) listenerFailed(n plugin.Notice, reason any) {
	c.Log.Warn("listener failed", zap.String("notice", n.Name), zap.Any("panic", reason))
}

// hint makes a cancelled activity ask the server at once. See architecture A3.9.
func (c Config) hint(session string, data json.RawMessage) {
	var fx struct {
		ID string `json:"id"`
	}
	if h, ok := c.Broker.(interface{ Hint(session, id string) }); ok && json.Unmarshal(data, &fx) == nil {
		h.Hint(session, fx.ID)
	}
}

// Start polls. It returns when the worker runs.
func (w *Worker) Start() error { return w.worker.Start() }

// Stop stops polling and drains.
func (w *Worker) Stop() { w.worker.Stop() }

// Run polls until ctx ends, then drains.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	w.Stop()
	return nil
}

// Logger lets the Temporal SDK log through z.
func Logger(z *zap.Logger) client.Options { return client.Options{Logger: elog.Temporal(z)} }
