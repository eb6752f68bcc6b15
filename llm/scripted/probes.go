package scripted

import (
	"context"
	"slices"
	"sync"
)

// Probes are the holds of scripts, by name. A test waits until a stream has arrived at a hold and lets it go when it has
// seen enough. The zero value is ready to use.
type Probes struct {
	mu    sync.Mutex
	holds map[string]*hold
}

type hold struct {
	unseen  int             // arrivals no Wait has returned for
	permits int             // releases given before an arrival
	open    bool            // nothing is held any more
	held    []chan struct{} // streams that stand here, oldest first
	arrived chan struct{}   // closed at the next arrival
}

// Wait returns when a stream has arrived at the hold. Each arrival answers one Wait, in order, so that two waits see two
// arrivals. It fails only with the error of ctx.
func (p *Probes) Wait(ctx context.Context, name string) error {
	for {
		seen, arrived := p.see(name)
		if seen {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Release lets the stream go that arrived first; if none stands at the hold, the next one passes.
func (p *Probes) Release(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(name)
	if len(h.held) == 0 {
		h.permits++
		return
	}
	close(h.held[0])
	h.held = h.held[1:]
}

// Open lets every stream go that stands at the hold or will arrive there.
func (p *Probes) Open(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(name)
	h.open = true
	for _, gate := range h.held {
		close(gate)
	}
	h.held = nil
}

// Held is the number of streams that stand at the hold.
func (p *Probes) Held(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.at(name).held)
}

// arrive stops a stream at the hold until it is released or ctx ends.
func (p *Probes) arrive(ctx context.Context, name string) error {
	gate := p.stand(name)
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		p.leave(name, gate)
		return ctx.Err()
	}
}

// stand announces an arrival; the gate is nil if the stream may pass.
func (p *Probes) stand(name string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(name)
	h.unseen++
	close(h.arrived)
	h.arrived = make(chan struct{})
	if h.open {
		return nil
	}
	if h.permits > 0 {
		h.permits--
		return nil
	}
	gate := make(chan struct{})
	h.held = append(h.held, gate)
	return gate
}

func (p *Probes) leave(name string, gate chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(name)
	h.held = slices.DeleteFunc(h.held, func(g chan struct{}) bool { return g == gate })
}

// see consumes an arrival; if there is none it returns what tells of the next one.
func (p *Probes) see(name string) (seen bool, arrived <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.at(name)
	if h.unseen == 0 {
		return false, h.arrived
	}
	h.unseen--
	return true, nil
}

func (p *Probes) at(name string) *hold {
	h, ok := p.holds[name]
	if !ok {
		h = &hold{arrived: make(chan struct{})}
		if p.holds == nil {
			p.holds = map[string]*hold{}
		}
		p.holds[name] = h
	}
	return h
}
