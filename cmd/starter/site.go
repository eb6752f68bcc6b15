package main

import (
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/worker"
	"github.com/spf13/cobra"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// A launch says what a command needs beside a server.
type launch struct {
	server serverOptions
	worker bool // run a worker in this process unless one polls already
	drain  time.Duration
}

// site connects like connect, but starts a development server if none is named or runs, and a worker if none polls.
func (a *app) site(ctx context.Context, l launch) (*site, error) {
	s, err := a.reach(ctx)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if s, err = a.ownServer(ctx, l.server); err != nil {
			return nil, err
		}
	}
	if err := a.open(ctx, s); err != nil {
		return nil, err
	}
	if !l.worker {
		return s, nil
	}
	polls, err := s.agents.Backend.Workers(ctx)
	if err != nil || polls {
		return s, err
	}
	return s, a.startWorker(ctx, s, l.drain)
}

// ownServer starts a development server and reaches it.
func (a *app) ownServer(ctx context.Context, o serverOptions) (*site, error) {
	z, err := a.logger()
	if err != nil {
		return nil, err
	}
	dev, err := a.startServer(ctx, o)
	if err != nil {
		return nil, err
	}
	options, _, err := a.clientOptions()
	if err != nil {
		return nil, err
	}
	options.HostPort = dev.Address
	s := &site{log: z, ui: dev.UIAddress, embedded: true}
	return s, a.dial(ctx, s, options)
}

// startWorker runs a worker in this process until the program ends.
func (a *app) startWorker(ctx context.Context, s *site, drain time.Duration) error {
	r, err := routeFromEnv()
	if err != nil {
		return err
	}
	defs, err := a.definitions(r, s.store)
	if err != nil {
		return err
	}
	if err := a.webhooks.hook(defs); err != nil {
		return err
	}
	profile := worker.Stock
	if s.embedded {
		profile = worker.Embedded
	}
	w, err := worker.New(ctx, worker.Config{Client: s.temporal, Namespace: s.namespace, TaskQueue: a.queue, Store: s.store,
		Providers: r.providers, Definitions: defs, Broker: s.broker, Profile: profile, Drain: drain, Log: s.log, Options: a.workerOptions(),
		Webhooks: a.webhooks.rules()})
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	a.defers(w.Stop)
	s.worker = true
	if !a.quiet {
		r.announce(a)
	}
	return a.client(s)
}

// workerOptions let Temporal pin agents to the worker's version, if it has one.
func (a *app) workerOptions() (o sdkworker.Options) {
	if a.version.BuildID != "" {
		o.DeploymentOptions = sdkworker.DeploymentOptions{UseVersioning: true, Version: a.version,
			DefaultVersioningBehavior: workflow.VersioningBehaviorPinned}
	}
	return o
}

// polled waits, for a few seconds at most, until the server has seen the worker: then other programs find it.
func (s *site) polled(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := s.agents.Backend.Workers(ctx); ok || err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// guarded returns a context that ends, with a clear line, when no worker polls any more: a verb never hangs.
func (s *site) guarded(ctx context.Context, queue, accepted string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for tick := time.NewTicker(5 * time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				if err := s.needWorker(ctx, queue, accepted); err != nil {
					cancel(err)
				}
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// because prefers the reason a guarded context ended for over what its end caused.
func because(ctx context.Context, err error) error {
	var f *failure
	if err != nil && errors.As(context.Cause(ctx), &f) {
		return f
	}
	return err
}

// newAgent creates an agent of the definition.
func (s *site) newAgent(ctx context.Context, o agents.CreateOptions) (*agents.Agent, error) {
	if o.Definition == "" {
		o.Definition = assistant
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return s.agents.Create(ctx, o)
}

// serverFlags adds the flags of a development server.
func serverFlags(cmd *cobra.Command, o *serverOptions) {
	f := cmd.Flags()
	f.IntVar(&o.port, "port", 7233, "port of a development server that is started")
	f.IntVar(&o.uiPort, "ui-port", 8233, "port of its UI")
	f.StringVar(&o.sync, "sync", "", "full: its database flushes every commit to disk")
	f.StringArrayVar(&o.dynamic, "dynamic-config", nil, "key=value for the development server, repeatable")
}
