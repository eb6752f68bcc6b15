package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/worker"
	"github.com/google/uuid"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// TinyLimits is dynamic config of a server on which an agent moves to a new run every few events: as soon as it can after
// every workflow task but the first. The limits that the server enforces are as low as the scenarios allow. On such a
// server everything must look as on another one. See architecture A3.11.
var TinyLimits = []string{
	"limit.historyCount.suggestContinueAsNew=4",
	"limit.historyCount.error=200",
	"limit.historySize.error=1048576",
	"history.maximumSignalsPerExecution=20",
	"history.maxTotalUpdates=20",
}

// A ServerTarget is a Temporal server. Every scenario gets a worker, a task queue and a store of its own; the profile is
// the stock one, so that a loaded machine loses no heartbeat.
type ServerTarget struct {
	client    client.Client
	namespace string

	mu     sync.Mutex
	queues []string // of all scenarios so far
}

// Server makes a target of a server.
func Server(c client.Client, namespace string) *ServerTarget {
	return &ServerTarget{client: c, namespace: namespace}
}

// Name implements [Target].
func (*ServerTarget) Name() string { return "server" }

// Rollovers counts how often an agent of the scenarios moved to a new run so far. It is eventually consistent.
func (t *ServerTarget) Rollovers(ctx context.Context) (all int64, err error) {
	t.mu.Lock()
	queues := slices.Clone(t.queues)
	t.mu.Unlock()
	for _, queue := range queues {
		n, err := t.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: t.namespace,
			Query: fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus = 'ContinuedAsNew'", queue)})
		if err != nil {
			return 0, fmt.Errorf("count rollovers: %w", err)
		}
		all += n.GetCount()
	}
	return all, nil
}

func (t *ServerTarget) opened(queue string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queues = append(t.queues, queue)
}

func (t *ServerTarget) open(ctx context.Context, w *world, d *plugin.Definition) (*site, error) {
	s, err := store.Open(ctx, "mem://", store.Options{Wrap: w.faults.Wrap})
	if err != nil {
		return nil, err
	}
	w.notices.retells, w.announced.retells = true, true
	queue := w.scenario + "-" + uuid.NewString()
	t.opened(queue)
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
