package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
)

// Local is the local engine: driver and activities in this process, on a virtual clock, with the driver's laws checked
// after every input.
func Local() Target { return localTarget{} }

type localTarget struct{}

func (localTarget) Name() string { return "local" }

func (localTarget) open(ctx context.Context, w *world, d *plugin.Definition) (*site, error) {
	objects, err := local.Objects(ctx, "mem://")
	if err != nil {
		return nil, err
	}
	objects = w.faults.Wrap(objects)
	registry, err := llm.NewRegistry(w.providers()...)
	if err != nil {
		return nil, err
	}
	all := []*plugin.Definition{d}
	tap := func(session, name string, data json.RawMessage) {
		plugin.Tell(all, plugin.Notice{Session: session, Name: name, Data: data}, nil)
	}
	engine, err := local.New(local.Config{Broker: w.broker, Tap: tap, CheckEveryInput: true,
		Activities: w.localWork(activities.Config{Registry: registry, Definitions: all}, objects)})
	if err != nil {
		return nil, err
	}
	first, err := engine.StartWorker()
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	s, err := local.OpenStore(objects)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	client, err := agents.New(agents.Config{Backend: engine, Store: s, Broker: w.broker, Poll: 5 * time.Millisecond})
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return &site{client: client, close: engine.Close, power: &localPower{engine, first}}, nil
}

// localWork adds the holds of the scenario to the points of the engine.
func (w *world) localWork(c activities.Config, objects store.Objects) func(*local.Worker) (local.Activities, error) {
	work := local.Work(c, objects)
	return func(worker *local.Worker) (local.Activities, error) {
		made, err := work(worker)
		if err != nil {
			return nil, err
		}
		acts, ok := made.(*activities.Activities)
		if !ok {
			return nil, fmt.Errorf("the local engine made %T", made)
		}
		inner := acts.Probe
		acts.Probe = func(ctx context.Context, point, session string, turn, step, attempt int) error {
			if err := w.probe(ctx, point, session, turn, step, attempt); err != nil {
				return err
			}
			return inner(ctx, point, session, turn, step, attempt)
		}
		return acts, nil
	}
}
