package scripted

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"time"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Name is the provider name, unless [Config] gives another one.
const Name = "scripted"

// Config makes a [Provider]. The zero value serves [Demo] under every model name.
type Config struct {
	Name    string           // provider part of the route; "" means "scripted"
	Models  map[string]Model // by model name
	Default Model            // serves names that are not in Models; the zero Model serves none

	Probes   *Probes   // serves the holds of the scripts; nil means probes of its own, see [Provider.Probes]
	Recorder *Recorder // keeps the requests; nil keeps none
	// Sleep waits for the delays; nil means a timer. It must return when ctx ends, with its error.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Provider answers from scripts. It is safe for concurrent use and starts no goroutines.
type Provider struct {
	config Config

	mu     sync.Mutex
	counts map[count]int // requests so far
}

// count identifies the requests that share one position in a script.
type count struct{ model, session string }

var _ llm.Provider = (*Provider)(nil)

// New makes a provider.
func New(c Config) *Provider {
	if c.Name == "" {
		c.Name = Name
	}
	if len(c.Models) == 0 && c.Default.isZero() {
		c.Default = Demo()
	}
	if c.Probes == nil {
		c.Probes = new(Probes)
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return &Provider{config: c, counts: map[count]int{}}
}

// Name is the provider part of the route.
func (p *Provider) Name() string { return p.config.Name }

// Probes are what the holds of the scripts answer to.
func (p *Provider) Probes() *Probes { return p.config.Probes }

// Prepare binds a call to its model and fills in the model's defaults. An unknown model fails with NO_ADAPTER.
func (p *Provider) Prepare(_ context.Context, config session.CallConfig) (*llm.Prepared, error) {
	m, ok := p.config.Models[config.Model]
	if !ok {
		m, ok = p.config.Default, !p.config.Default.isZero()
	}
	if config.Provider != p.config.Name || !ok {
		return nil, llm.Errorf(llm.NoAdapter, fmt.Sprintf("provider %q does not serve the route %s/%s", p.config.Name, config.Provider, config.Model), nil)
	}
	if m.PrepareFailure != nil {
		return nil, &llm.Error{Failure: *m.PrepareFailure}
	}
	call := m.prepared(config)
	call.Stream = func(ctx context.Context, req llm.Request) iter.Seq2[session.Chunk, error] {
		return p.stream(ctx, m, config.Model, req)
	}
	return call, nil
}

// stream plays the answer to one request.
func (p *Provider) stream(ctx context.Context, m Model, name string, req llm.Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		p.config.Recorder.add(req)
		answer, err := p.answer(m, name, req)
		if err != nil {
			yield(nil, err)
			return
		}
		player := player{probes: p.config.Probes, sleep: p.config.Sleep, pace: m.Pace}
		player.play(ctx, answer, yield)
	}
}

// answer finds what a request is answered with.
func (p *Provider) answer(m Model, name string, req llm.Request) (Answer, error) {
	if m.Respond != nil {
		return m.Respond(req), nil
	}
	n := p.position(m, name, req)
	if n >= len(m.Script) {
		return Answer{}, llm.Errorf(llm.InvalidRequest, fmt.Sprintf("the script has no answer for request %d", n+1), nil)
	}
	return m.Script[n], nil
}

// position is the index of the script line for a request.
func (p *Provider) position(m Model, name string, req llm.Request) int {
	if m.Position == ByHistory {
		return assistantMessages(req.Messages)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := count{name, req.Session}
	n := p.counts[key]
	p.counts[key]++
	return n
}

func assistantMessages(messages []session.Message) int {
	n := 0
	for _, m := range messages {
		if m.Role == session.RoleAssistant {
			n++
		}
	}
	return n
}

func (m Model) isZero() bool { return reflect.ValueOf(m).IsZero() }
