package main

import (
	"context"
	"encoding/json"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/tools/builtin"
)

// localClient talks to agents on the local engine: everything in this process, nothing kept.
func (a *app) localClient(ctx context.Context) (*agents.Client, error) {
	objects, err := local.Objects(ctx, "mem://")
	if err != nil {
		return nil, err
	}
	store, err := local.OpenStore(objects)
	if err != nil {
		return nil, err
	}
	work, err := a.localWork(store)
	if err != nil {
		return nil, err
	}
	broker := &stream.Memory{}
	tap := func(session, name string, data json.RawMessage) {
		plugin.Tell(work.Definitions, plugin.Notice{Session: session, Name: name, Data: data}, nil)
	}
	engine, err := local.New(local.Config{Activities: local.Work(work, objects), Broker: broker, Tap: tap})
	if err != nil {
		return nil, err
	}
	a.defers(func() { _ = engine.Close() })
	if _, err := engine.StartWorker(); err != nil {
		return nil, err
	}
	return agents.New(agents.Config{Backend: engine, Store: store, Broker: broker})
}

// localWork is what the engine's worker knows: the program's definitions and providers.
func (a *app) localWork(blobs builtin.Blobs) (c activities.Config, err error) {
	r, err := routeFromEnv()
	if err != nil {
		return c, err
	}
	if c.Registry, err = llm.NewRegistry(r.providers...); err != nil {
		return c, err
	}
	c.Definitions, err = a.definitions(r, blobs)
	return c, err
}
