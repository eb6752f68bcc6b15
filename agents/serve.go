package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/everturn/everturn/signals"
)

// A ClientFunc runs a call of a client tool. args fit the tool's schema. Which call it is the result need not say. An error
// is an answer too: the model reads it. ctx ends when the call waits no longer.
type ClientFunc func(ctx context.Context, args json.RawMessage) (signals.CallResult, error)

// Serve runs the calls of client tools that wait, by name of the tool, until ctx ends or the agent has ended. A result is
// given once, whatever process gave it; but a program that dies before it gave one finds the call again, so that its
// function may run twice: [CallID] is the same then. See architecture A3.7.
func (a *Agent) Serve(ctx context.Context, tools map[string]ClientFunc) error {
	s := &server{agent: a, tools: tools, running: map[string]context.CancelFunc{}, given: map[string]bool{}}
	defer s.stop()
	return a.wrap("serve", a.poll(ctx, func() (bool, error) { return false, s.look(ctx) }))
}

type callIDKey struct{}

// CallID names the call that a [ClientFunc] runs for: the id of its wait, the same if it runs again.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callIDKey{}).(string)
	return id
}

// A server runs the calls of one agent.
type server struct {
	agent *Agent
	tools map[string]ClientFunc
	calls sync.WaitGroup

	mu      sync.Mutex
	running map[string]context.CancelFunc
	given   map[string]bool // a look that began before may still see them
}

// look starts what waits, and stops what does not wait any more.
func (s *server) look(ctx context.Context) error {
	ran, given := s.before()
	state, err := s.agent.State(ctx)
	switch {
	case errors.Is(err, ErrNoWorker):
		return s.agent.stillOpen(ctx)
	case err != nil:
		return err
	case state.Status == "closed":
		return ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range given { // what waits nevertheless waits anew: the agent was reset
		delete(s.given, id)
	}
	waits := map[string]bool{}
	for _, d := range state.Deferred {
		waits[d.ID] = true
		if f := s.tools[d.Tool]; f != nil && d.Kind == signals.WaitClient && s.running[d.ID] == nil && !s.given[d.ID] {
			s.start(ctx, d, f)
		}
	}
	for id := range ran {
		if stop := s.running[id]; stop != nil && !waits[id] {
			stop()
		}
	}
	return nil
}

// before is what ran and what was given before a look.
func (s *server) before() (ran, given map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ran, given = map[string]bool{}, map[string]bool{}
	for id := range s.running {
		ran[id] = true
	}
	for id := range s.given {
		given[id] = true
	}
	return ran, given
}

// start runs a call on its own. The caller holds the lock.
func (s *server) start(ctx context.Context, d signals.Deferred, f ClientFunc) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, callIDKey{}, d.ID))
	s.running[d.ID] = cancel
	s.calls.Go(func() {
		defer cancel()
		given := s.run(ctx, d, f)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, d.ID)
		if given {
			s.given[d.ID] = true
		}
	})
}

// run runs a call and gives its result; given false: it is to be tried again, or nobody waits for it.
func (s *server) run(ctx context.Context, d signals.Deferred, f ClientFunc) (given bool) {
	args, err := s.agent.arguments(ctx, d)
	if err != nil {
		return false
	}
	r, err := f(ctx, args)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		r = signals.CallResult{Text: "Error: " + err.Error(), IsError: true}
	}
	return s.give(ctx, d, r)
}

// codeUnknownCall says that nothing of that id waits. See signals.Receipt.
const codeUnknownCall = "UNKNOWN_CALL"

// give gives the result until somebody takes it, or nobody waits for it any more. One that nobody could read is told to the
// model as a failure.
func (s *server) give(ctx context.Context, d signals.Deferred, r signals.CallResult) bool {
	r.ID, r.RequestID = d.ID, "served-"+d.ID
	err := s.agent.poll(ctx, func() (bool, error) {
		err := s.agent.GiveResult(ctx, r)
		var refused *RefusedError
		if !errors.As(err, &refused) {
			return err == nil, nil
		}
		switch refused.Code {
		case codeUnknownCall:
			return true, nil
		case signals.ErrInvalid, "TOO_LARGE":
			r = signals.CallResult{ID: r.ID, RequestID: r.RequestID, By: r.By, IsError: true, Text: "Error: the tool ran, but its result cannot be shown: " + refused.Message}
		}
		return false, nil
	})
	return err == nil
}

// arguments are those of the model's call.
func (a *Agent) arguments(ctx context.Context, d signals.Deferred) (json.RawMessage, error) {
	text := d.Arguments
	if d.Blob != nil {
		raw, err := a.client.Store.Blob(ctx, d.Blob.SHA256)
		if err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", d.ID, err)
		}
		text = string(raw)
	}
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	return json.RawMessage(text), nil
}

// stop ends what still runs, and waits for it.
func (s *server) stop() {
	s.mu.Lock()
	for _, stop := range s.running {
		stop()
	}
	s.mu.Unlock()
	s.calls.Wait()
}
