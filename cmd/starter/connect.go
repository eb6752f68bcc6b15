package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.uber.org/zap"
)

// A site is what a command works with.
type site struct {
	temporal  client.Client
	namespace string
	ui        string // of the Temporal UI, empty if unknown
	store     *store.Store
	agents    *agents.Client
	broker    *stream.Memory
	log       *zap.Logger
	worker    bool // this process runs a worker
	embedded  bool // the server is a development server of ours
}

// A served line is what a development server says when it serves; it is also its address file.
type served struct {
	Address   string `json:"address"`
	UIAddress string `json:"uiAddress"`
	Database  string `json:"database"`
	Namespace string `json:"namespace"`
	PID       int    `json:"pid"`
	ParentPID int    `json:"parentPid"`
}

// connect reaches a server that is there and opens the store.
func (a *app) connect(ctx context.Context) (*site, error) {
	s, err := a.reach(ctx)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fail(exitUnreachable, errors.New("no Temporal server is known: start one with `starter dev`, or set TEMPORAL_ADDRESS or --address"))
	}
	return s, a.open(ctx, s)
}

// reach finds a server: the address given, then a profile of the environment, then a running development server. It
// returns nil if none is named anywhere.
func (a *app) reach(ctx context.Context) (*site, error) {
	z, err := a.logger()
	if err != nil {
		return nil, err
	}
	s := &site{log: z}
	options, named, err := a.clientOptions()
	if err != nil {
		return nil, err
	}
	if !named {
		dev, err := a.runningDev()
		if err != nil || dev == nil {
			return nil, err
		}
		options.HostPort, s.ui, s.embedded = dev.Address, dev.UIAddress, true
	}
	return s, a.dial(ctx, s, options)
}

// clientOptions reads flags and environment; named says that they name a server.
func (a *app) clientOptions() (client.Options, bool, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return options, false, fail(exitUsage, fmt.Errorf("read the Temporal profile: %w", err))
	}
	if a.address != "" {
		options.HostPort = a.address
	}
	if a.namespace != "" {
		options.Namespace = a.namespace
	}
	return options, options.HostPort != "", nil
}

// dialIn bounds how long a server may take to answer at all.
const dialIn = 5 * time.Second

func (a *app) dial(ctx context.Context, s *site, options client.Options) error {
	options.Logger = log.Temporal(s.log)
	short, cancel := context.WithTimeout(ctx, dialIn)
	defer cancel()
	c, err := client.DialContext(short, options)
	if err != nil {
		return fail(exitUnreachable, fmt.Errorf("temporal at %s does not answer: %w (start one with `starter dev`, or set TEMPORAL_ADDRESS or --address)", options.HostPort, err))
	}
	a.defers(c.Close)
	s.temporal, s.namespace = c, options.Namespace
	if s.namespace == "" {
		s.namespace = client.DefaultNamespace
	}
	return nil
}

// runningDev reads the address file of a development server; nil if there is none that lives.
func (a *app) runningDev() (*served, error) {
	home, err := a.homeDir()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(home, addressFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var dev served
	if err := json.Unmarshal(raw, &dev); err != nil {
		return nil, fmt.Errorf("address file %s: %w (remove it)", filepath.Join(home, addressFile), err)
	}
	if !alive(dev.PID) || dev.ParentPID != 0 && !alive(dev.ParentPID) { // it is gone, or about to go
		return nil, nil
	}
	return &dev, nil
}

// open opens the store and makes the client.
func (a *app) open(ctx context.Context, s *site) error {
	location, err := a.storeLocation()
	if err != nil {
		return err
	}
	if s.store, err = store.Open(ctx, location, store.Options{}); err != nil {
		return fail(exitStore, err)
	}
	a.defers(func() { _ = s.store.Close() })
	s.broker = &stream.Memory{}
	return a.client(s)
}

// client makes the agents' client; with a worker in this process it watches the live feed directly.
func (a *app) client(s *site) error {
	c := agents.Config{Store: s.store, Backend: agents.Temporal(s.temporal, agents.TemporalOptions{TaskQueue: a.queue, Namespace: s.namespace, Local: s.embedded})}
	if s.worker {
		c.Broker = s.broker
	}
	var err error
	s.agents, err = agents.New(c)
	return err
}

func (a *app) storeLocation() (string, error) {
	if a.store != "" {
		return a.store, nil
	}
	if location := os.Getenv("EVERTURN_STORE"); location != "" {
		return location, nil
	}
	home, err := a.homeDir()
	return filepath.Join(home, "store"), err
}

// needWorker fails when nobody polls the agents' queue.
func (s *site) needWorker(ctx context.Context, queue, accepted string) error {
	if s.worker {
		return nil
	}
	ok, err := s.agents.Backend.Workers(ctx)
	if err != nil || ok {
		return err
	}
	return noWorker(queue, accepted)
}

func noWorker(queue, accepted string) error {
	return fail(exitNoWorker, fmt.Errorf("no worker answers on task queue %q; %s (start one with `starter worker` or `starter dev`)", queue, accepted))
}

// link is the agent's page in the Temporal UI.
func (s *site) link(id string) string {
	if s.ui == "" {
		return ""
	}
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", s.ui, s.namespace, id)
}
