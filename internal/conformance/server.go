package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/worker"
	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
)

// Server is a Temporal server. Every scenario gets a worker, a task queue and a store of its own; the profile is the
// stock one, so that a loaded machine loses no heartbeat.
func Server(c client.Client, namespace string) Target { return &serverTarget{c, namespace} }

type serverTarget struct {
	client    client.Client
	namespace string
}

func (*serverTarget) Name() string { return "server" }

func (t *serverTarget) open(ctx context.Context, w *world, d *plugin.Definition) (*site, error) {
	s, err := store.Open(ctx, "mem://", store.Options{Wrap: w.faults.Wrap})
	if err != nil {
		return nil, err
	}
	w.notices.retells = true
	queue := w.scenario + "-" + uuid.NewString()
	p := &serverPower{client: t.client, make: func(ctx context.Context) (*worker.Worker, error) {
		return worker.New(ctx, worker.Config{Client: t.client, Namespace: t.namespace, TaskQueue: queue, Store: s,
			Providers: w.providers(), Definitions: []*plugin.Definition{d}, Broker: w.broker, Profile: worker.Stock,
			Drain: 5 * time.Second, Probe: w.probe})
	}}
	if err := p.startWorker(ctx); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	a, err := agents.New(agents.Config{Backend: agents.Temporal(t.client, agents.TemporalOptions{TaskQueue: queue, Namespace: t.namespace}),
		Store: s, Broker: w.broker, Poll: 20 * time.Millisecond})
	if err != nil {
		return nil, errors.Join(err, p.stopWorker())
	}
	return &site{client: a, close: func() error { return errors.Join(p.stopWorker(), s.Close()) }, power: p}, nil
}
