package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
)

// routes are the models of a scenario that says more of them than what the only one answers.
type routes struct {
	now   map[string]scripted.Model // what they are
	later map[string]scripted.Model // what they are replaced by
}

// route reads `route NAME: window=N updates effort=E max-tokens=N says "…" fails CODE "…"`.
func (s *setup) route(args []string, value string) (err error) {
	s.routes.now, err = withRoute(s.routes.now, args, value)
	return err
}

// replacement reads the same about what replaces a route, see [parseSwap].
func (s *setup) replacement(args []string, value string) (err error) {
	s.routes.later, err = withRoute(s.routes.later, args, value)
	return err
}

func withRoute(all map[string]scripted.Model, args []string, value string) (map[string]scripted.Model, error) {
	if len(args) != 1 {
		return all, fmt.Errorf("want `route NAME: facts`, such as `route other: window=8192 updates`")
	}
	var m scripted.Model
	for w := (&words{value}); !w.done(); {
		if err := routeFact(&m, w); err != nil {
			return all, err
		}
	}
	if all == nil {
		all = map[string]scripted.Model{}
	}
	all[args[0]] = m
	return all, nil
}

func routeFact(m *scripted.Model, w *words) error {
	word, err := w.bare("a fact of the route")
	if err != nil {
		return err
	}
	key, v, _ := strings.Cut(word, "=")
	switch key {
	case "window":
		return json.Unmarshal([]byte(v), &m.ContextWindow)
	case "max-tokens":
		return json.Unmarshal([]byte(v), &m.MaxTokens)
	case "effort":
		m.ReasoningEffort = v
	case "updates":
		m.SystemPromptUpdate = true
	case "images":
		m.Images = true
	case "says":
		return says(m, w)
	case "fails":
		f := session.Failure{}
		if f.Code, err = w.bare("the code of the failure"); err != nil {
			return err
		}
		f.Message, err = w.text("what the failure says")
		m.PrepareFailure = &f
		return err
	default:
		return fmt.Errorf("unknown fact %q: want window=, max-tokens=, effort=, updates, says or fails", word)
	}
	return nil
}

// says lets a route answer every request with a text, whatever the script says.
func says(m *scripted.Model, w *words) error {
	text, err := w.text("what the route says")
	if err != nil {
		return err
	}
	answer, err := scripted.ParseAnswer(fmt.Sprintf("text %s", asJSON(text)))
	m.Respond = func(llm.Request) scripted.Answer { return answer }
	return err
}

// A router is the provider of the scenario: its routes share one script, and can be replaced.
type router struct {
	w     *world
	mu    sync.Mutex
	now   map[string]scripted.Model
	asked map[string]int // requests by session
}

func newRouter(w *world) *router {
	r := &router{w: w, now: map[string]scripted.Model{modelName: {}}, asked: map[string]int{}}
	for name, m := range w.routes.now {
		r.now[name] = m
	}
	return r
}

// Name is the provider part of all routes.
func (*router) Name() string { return scripted.Name }

// Prepare binds the call to what the route is now.
func (r *router) Prepare(ctx context.Context, config session.CallConfig) (*llm.Prepared, error) {
	r.mu.Lock()
	models := map[string]scripted.Model{}
	for name, m := range r.now {
		models[name] = r.complete(m)
	}
	r.mu.Unlock()
	return scripted.New(scripted.Config{Probes: &r.w.probes, Recorder: &r.w.sent, Sleep: local.Sleep, Models: models}).Prepare(ctx, config)
}

// complete fills in what the scenario says of all its routes.
func (r *router) complete(m scripted.Model) scripted.Model {
	m.Retry = r.w.retry
	if m.ContextWindow == 0 {
		m.ContextWindow = r.w.window
	}
	if m.Respond == nil {
		m.Respond = r.next
	}
	return m
}

// next is the next answer of the script, whichever route was asked.
func (r *router) next(req llm.Request) scripted.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.asked[req.Session]
	if r.asked[req.Session]++; n < len(r.w.script) {
		return r.w.script[n]
	}
	return scripted.MustParse(fmt.Sprintf(`throw INVALID_REQUEST "the script has no answer for request %d"`, n+1))[0]
}

func (r *router) swap(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.w.routes.later[name]
	if !ok {
		return fmt.Errorf("nothing is to replace the route %s", name)
	}
	r.now[name] = m
	return nil
}

// parseSwap reads `swap ROUTE`: another implementation serves the route from now on.
func parseSwap(s *setup, w *words) (act, error) {
	name, err := w.bare("the name of a route")
	if _, ok := s.routes.later[name]; err == nil && !ok {
		err = fmt.Errorf("the scenario has no line `replacement %s:`", name)
	}
	return quiet(func(r *run, _ context.Context) error {
		router, ok := r.provider.(*router)
		if !ok {
			return fmt.Errorf("the scenario has no routes")
		}
		return router.swap(name)
	}), err
}

// The provider that writes the summaries of compactions. What it is sent is no request of the conversation.
const writerName = "writer"

// providers are what the worker has.
func (w *world) providers() []llm.Provider {
	writer := scripted.New(scripted.Config{Name: writerName, Sleep: local.Sleep, Models: map[string]scripted.Model{writerName: {Script: w.summaries}}})
	return []llm.Provider{w.provider, writer}
}
