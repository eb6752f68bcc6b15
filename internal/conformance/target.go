package conformance

import (
	"context"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/plugin"
)

// A Target is what scenarios run on: [Local] or a [ServerTarget].
type Target interface {
	// Name is local or server.
	Name() string
	// open makes a place for one scenario: a store, and a worker that knows its definition.
	open(ctx context.Context, w *world, d *plugin.Definition) (*site, error)
}

// A site is the place of one scenario.
type site struct {
	client *agents.Client
	close  func() error // ends the worker; its error is a law that was broken
	power  power
}
