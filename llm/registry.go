package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/session"
)

// A Registry holds the providers of a worker by name. It does not change after construction, so a prepared call cannot
// mix routes.
type Registry struct {
	providers map[string]Provider
}

// NewRegistry makes a registry. Two providers of one name, a nil one or one without a name are refused.
func NewRegistry(providers ...Provider) (*Registry, error) {
	r := &Registry{providers: make(map[string]Provider, len(providers))}
	for i, p := range providers {
		if p == nil {
			return nil, fmt.Errorf("llm registry: provider %d is nil", i)
		}
		if err := r.add(p); err != nil {
			return nil, fmt.Errorf("llm registry: %w", err)
		}
	}
	return r, nil
}

func (r *Registry) add(p Provider) error {
	name := p.Name()
	if name == "" {
		return errors.New("a provider has no name (the name is the provider part of a route)")
	}
	if _, taken := r.providers[name]; taken {
		return fmt.Errorf("two providers are named %q (give one of them another name)", name)
	}
	r.providers[name] = p
	return nil
}

// Names returns the provider names in alphabetical order.
func (r *Registry) Names() []string {
	names := make([]string, 0, len(r.providers))
	for name := range r.providers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Prepare prepares a call with the provider of the configuration. A configuration without provider or model fails with
// INVALID_REQUEST, an unknown provider with NO_ADAPTER. See spec §4.5.4.
func (r *Registry) Prepare(ctx context.Context, config session.CallConfig) (*Prepared, error) {
	if config.Provider == "" || config.Model == "" {
		return nil, Errorf(InvalidRequest, missingRoute(config), nil)
	}
	p, ok := r.providers[config.Provider]
	if !ok {
		return nil, Errorf(NoAdapter, r.unknownProvider(config.Provider), nil)
	}
	prepared, err := p.Prepare(ctx, config)
	if err != nil {
		return nil, err
	}
	if prepared == nil || prepared.Stream == nil {
		return nil, Errorf(NoAdapter, fmt.Sprintf("provider %q prepared a call that cannot be streamed", config.Provider), nil)
	}
	return prepared, nil
}

func missingRoute(config session.CallConfig) string {
	return fmt.Sprintf("no provider/model: a request needs both, but has provider %q and model %q (set them in the agent's definition)",
		config.Provider, config.Model)
}

func (r *Registry) unknownProvider(name string) string {
	known := "this worker has none"
	if names := r.Names(); len(names) > 0 {
		known = "this worker has " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("no provider is named %q: %s (register it with the worker, or choose another provider)", name, known)
}
