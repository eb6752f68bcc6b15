package conformance

import (
	"context"

	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/worker"
	"go.temporal.io/sdk/client"
)

// localPower is that of the local engine.
type localPower struct {
	engine *local.Engine
	worker *local.Worker
}

func (p *localPower) terminate(_ context.Context, id string) error { return p.engine.Terminate(id) }

func (p *localPower) signalRun(ctx context.Context, id, run, act string, payload any) error {
	return p.engine.SignalRun(ctx, id, run, act, payload)
}

func (p *localPower) stopWorker() error {
	p.worker.Stop()
	return nil
}

func (p *localPower) startWorker(context.Context) (err error) {
	p.worker, err = p.engine.StartWorker()
	return err
}

// serverPower is that of a Temporal server and its worker.
type serverPower struct {
	client client.Client
	make   func(ctx context.Context) (*worker.Worker, error)
	worker *worker.Worker
}

func (p *serverPower) terminate(ctx context.Context, id string) error {
	return p.client.TerminateWorkflow(ctx, id, "", "the scenario wants it")
}

func (p *serverPower) signalRun(ctx context.Context, id, run, act string, payload any) error {
	return p.client.SignalWorkflow(ctx, id, run, act, payload)
}

func (p *serverPower) stopWorker() error {
	if p.worker != nil {
		p.worker.Stop()
	}
	p.worker = nil
	return nil
}

func (p *serverPower) startWorker(ctx context.Context) (err error) {
	if p.worker, err = p.make(ctx); err != nil {
		return err
	}
	return p.worker.Start()
}
