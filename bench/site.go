package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/worker"
)

// queue is the task queue of the agents.
const queue = "bench"

// pollers is how many polls of each kind a worker begins with: the floor has as many.
const pollers = 8

// A site is a server, a store, a worker and a client in this process.
type site struct {
	server  *servertest.Server
	sdk     client.Client
	store   *store.Store
	agents  *agents.Client
	home    string        // folder of the server's files and the store's
	sync    string        // of the store
	voice   *voice        // nil without one
	ear     ear           // of this process
	broker  stream.Broker // nil without a voice, or without a worker in this process
	beats   atomic.Int64  // heartbeats that this process sent
	made    atomic.Int64  // objects that this process made in the store
	closers []func()
}

// A plan says what is special about a site. The zero value is a server in memory as it comes, with a stock worker.
type plan struct {
	file    bool     // the server keeps its state in a file
	server  []string // flags
	profile worker.Profile
	voice   bool                              // with a model behind HTTP, and a live feed
	away    bool                              // no worker in this process: see hand
	sync    string                            // of the store, unless -sync says it
	answers func(llm.Request) scripted.Answer // of the scripted model; respond if nil
}

// flags are those of the server, whose files are in a folder.
func (p plan) flags(home string) []string {
	if p.file {
		return append([]string{"--db", filepath.Join(home, "temporal.db")}, p.server...)
	}
	return append([]string{"--ephemeral"}, p.server...)
}

// open starts everything. Close the site in the end.
func (b *bench) open(ctx context.Context, p plan) (s *site, err error) {
	s = &site{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.sync = cmp.Or(b.sync, p.sync)
	if s.home, err = os.MkdirTemp("", "everturn-bench-"); err != nil {
		return s, err
	}
	s.closing(func() { _ = os.RemoveAll(s.home) })
	if s.server, err = servertest.Run(b.options.server, p.flags(s.home)...); err != nil {
		return s, err
	}
	s.closing(s.server.Stop)
	if s.sdk, err = dial(s.server.Address, s.count); err != nil {
		return s, err
	}
	s.closing(s.sdk.Close)
	if s.store, err = store.Open(ctx, s.folder(), store.Options{Sync: s.sync, Wrap: s.counting}); err != nil {
		return s, err
	}
	s.closing(func() { _ = s.store.Close() })
	if err := s.speech(p); err != nil {
		return s, err
	}
	if s.agents, err = s.callers(queue); err != nil || p.away {
		return s, err
	}
	return s, s.work(ctx, p)
}

// folder is where the store is.
func (s *site) folder() string { return filepath.Join(s.home, "store") }

// speech starts the voice.
func (s *site) speech(p plan) (err error) {
	if !p.voice {
		return nil
	}
	if s.voice, err = newVoice(); err != nil {
		return err
	}
	s.closing(s.voice.close)
	if !p.away {
		s.broker = &stream.Memory{}
	}
	return nil
}

// callers are the agents of a task queue. They are patient: the machine may be busy with others.
func (s *site) callers(queue string) (*agents.Client, error) {
	return agents.New(agents.Config{Backend: agents.Temporal(s.sdk, agents.TemporalOptions{TaskQueue: queue, AnswerIn: time.Minute}), Store: s.store, Broker: s.broker})
}

// count notes a heartbeat that this process sends.
func (s *site) count(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if strings.HasSuffix(method, "/RecordActivityTaskHeartbeat") {
		s.beats.Add(1)
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// counting notes what is made in a store.
func (s *site) counting(o store.Objects) store.Objects { return counted{o, &s.made} }

type counted struct {
	store.Objects
	made *atomic.Int64
}

func (c counted) Create(ctx context.Context, key string, data []byte) error {
	err := c.Objects.Create(ctx, key, data)
	if err == nil {
		c.made.Add(1)
	}
	return err
}

// dial connects as a worker beside its server does: without compression, which costs time and saves nothing.
func dial(address string, calls ...grpc.UnaryClientInterceptor) (client.Client, error) {
	c, err := client.Dial(client.Options{HostPort: address, Logger: log.Silent(),
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}, DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(calls...)}}})
	if err != nil {
		return nil, fmt.Errorf("temporal at %s: %w", address, err)
	}
	return c, nil
}

// providers are the models; a voice is one only if there is a URL.
func providers(answers func(llm.Request) scripted.Answer, voice string, ear *ear) ([]llm.Provider, error) {
	m := model()
	if answers != nil {
		m.Respond = answers
	}
	all := []llm.Provider{scripted.New(scripted.Config{Default: m})}
	if voice == "" {
		return all, nil
	}
	v, err := voiceAt(voice, ear)
	return append(all, v), err
}

// work starts the worker.
func (s *site) work(ctx context.Context, p plan) error {
	url := ""
	if s.voice != nil {
		url = s.voice.url
	}
	models, err := providers(p.answers, url, &s.ear)
	if err != nil {
		return err
	}
	w, err := worker.New(ctx, worker.Config{Client: s.sdk, TaskQueue: queue, Store: s.store, Profile: p.profile, Broker: s.broker,
		Providers: models, Definitions: definitions(), Options: pollsOf()})
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
	scale := sdk.NewPollerBehaviorAutoscaling(sdk.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: pollers})
	return sdk.Options{WorkflowTaskPollerBehavior: scale, MaxConcurrentActivityTaskPollers: pollers}
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
