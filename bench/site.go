package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/worker"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/worker"
)

// queue is the task queue of the agents.
const queue = "bench"

// pollers is how many polls of each kind a worker has open: the floor has as many.
const pollers = 8

// A site is a server, a store, a worker and a client in this process.
type site struct {
	server  *servertest.Server
	sdk     client.Client
	store   *store.Store
	agents  *agents.Client
	closers []func()
}

// A plan says what is special about a site. The zero value is a server in memory as it comes, with a stock worker.
type plan struct {
	server  []string // flags
	profile worker.Profile
}

// open starts everything. Close the site in the end.
func (b *bench) open(ctx context.Context, p plan) (s *site, err error) {
	s = &site{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.server, err = servertest.Run(b.options.server, p.server...); err != nil {
		return s, err
	}
	s.closing(s.server.Stop)
	if s.sdk, err = dial(s.server.Address); err != nil {
		return s, err
	}
	s.closing(s.sdk.Close)
	home, err := os.MkdirTemp("", "everturn-bench-")
	if err != nil {
		return s, err
	}
	s.closing(func() { _ = os.RemoveAll(home) })
	if s.store, err = store.Open(ctx, filepath.Join(home, "store"), store.Options{Sync: store.SyncNone}); err != nil {
		return s, err
	}
	s.closing(func() { _ = s.store.Close() })
	if s.agents, err = agents.New(agents.Config{Backend: agents.Temporal(s.sdk, agents.TemporalOptions{TaskQueue: queue}), Store: s.store}); err != nil {
		return s, err
	}
	return s, s.work(ctx, p)
}

// dial connects as a worker beside its server does: without compression, which costs time and saves nothing.
func dial(address string) (client.Client, error) {
	c, err := client.Dial(client.Options{HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}}})
	if err != nil {
		return nil, fmt.Errorf("temporal at %s: %w", address, err)
	}
	return c, nil
}

// work starts the worker.
func (s *site) work(ctx context.Context, p plan) error {
	w, err := worker.New(ctx, worker.Config{Client: s.sdk, TaskQueue: queue, Store: s.store, Profile: p.profile,
		Providers: []llm.Provider{scripted.New(scripted.Config{Default: model()})}, Definitions: definitions(), Options: pollsOf()})
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	s.closing(w.Stop)
	return nil
}

// pollsOf are the settings that the worker of the agents and the one of the floor share.
func pollsOf() sdk.Options {
	return sdk.Options{MaxConcurrentWorkflowTaskPollers: pollers, MaxConcurrentActivityTaskPollers: pollers}
}

func (s *site) closing(f func()) { s.closers = append(s.closers, f) }

// close ends what was started, the last first.
func (s *site) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// create makes an agent of a definition.
func (s *site) create(ctx context.Context, id, definition string) (*agents.Agent, error) {
	return s.agents.Create(ctx, agents.CreateOptions{ID: id, Definition: definition})
}

// ask has an agent do a job, and makes sure that it was done.
func ask(ctx context.Context, a *agents.Agent, text string) error {
	answer, err := a.Ask(ctx, text)
	if err != nil {
		return err
	}
	if err := answer.Err(); err != nil {
		return err
	}
	if answer.Text != done {
		return fmt.Errorf("agent %s answered %.80q", a.ID(), answer.Text)
	}
	return nil
}
