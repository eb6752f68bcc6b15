package local

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// A world is an engine with one kind of agent, its model and what a test wants to look at.
type world struct {
	*Engine
	t       *testing.T
	config  Config
	objects store.Objects
	sent    *scripted.Recorder
	bodies  counter // executions of tool bodies, by call id
	kinds   *tally  // statuses that were announced
}

// A counter counts by name.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
}

func (c *counter) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// A tally keeps what the tap heard.
type tally struct {
	mu     sync.Mutex
	heard  []string // names
	status []string
}

func (l *tally) tap(_, name string, data json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, name)
	var s struct{ Status string }
	if name == "agent/status" && json.Unmarshal(data, &s) == nil {
		l.status = append(l.status, s.Status)
	}
}

func (l *tally) statuses() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.status, " ")
}

// An option changes a world before it is made.
type option func(*Config, *activities.Config, *scripted.Model)

func withScript(text string) option {
	return func(_ *Config, _ *activities.Config, m *scripted.Model) { m.Script = scripted.MustParse(text) }
}

func withRollover(n int) option {
	return func(c *Config, _ *activities.Config, _ *scripted.Model) { c.RolloverEvery = n }
}

func manual(c *Config, _ *activities.Config, _ *scripted.Model) { c.Manual = true }

// newWorld starts an engine and one worker; both end with the test.
func newWorld(t *testing.T, script string, options ...option) *world {
	t.Helper()
	w := openWorld(t, script, options...)
	t.Cleanup(func() { require.NoError(t, w.Engine.Close()) })
	return w
}

// openWorld is newWorld for a caller that closes the engine.
func openWorld(t *testing.T, script string, options ...option) *world {
	t.Helper()
	w := &world{t: t, sent: &scripted.Recorder{}, kinds: &tally{}}
	var err error
	w.objects, err = Objects(t.Context(), "mem://")
	require.NoError(t, err)
	model := scripted.Model{Position: scripted.ByHistory}
	acts := activities.Config{Definitions: []*plugin.Definition{w.definition()}}
	w.config = Config{CheckEveryInput: true, Broker: &stream.Memory{}, Tap: w.kinds.tap}
	for _, o := range append([]option{withScript(script)}, options...) {
		o(&w.config, &acts, &model)
	}
	acts.Registry, err = llm.NewRegistry(scripted.New(scripted.Config{
		Models: map[string]scripted.Model{"test": model}, Recorder: w.sent, Sleep: Sleep}))
	require.NoError(t, err)
	w.config.Activities = Work(acts, w.objects)
	w.Engine, err = New(w.config)
	require.NoError(t, err)
	w.worker()
	return w
}

// definition is an agent with a tool of each class; their bodies pass the point tool/body.
func (w *world) definition() *plugin.Definition {
	type args struct {
		Text string `json:"text"`
	}
	body := func(ctx context.Context, in args) (string, error) {
		call, _ := tools.CallFrom(ctx)
		w.bodies.add(call.ID)
		if err := At(ctx, "tool/body"); err != nil {
			return "", err
		}
		return in.Text, nil
	}
	return &plugin.Definition{Name: "test", Provider: scripted.Name, Model: "test", Tools: []*tools.Tool{
		tools.Must(tools.New("echo", "Answers with the text.", body, tools.WithEffect(tools.Pure), tools.ParallelSafe())),
		tools.Must(tools.New("alone", "Like echo, and runs alone.", body, tools.WithEffect(tools.Pure))),
		tools.Must(tools.New("once", "Like echo, and must not run twice.", body)),
	}}
}

func (w *world) worker() *Worker {
	w.t.Helper()
	worker, err := w.StartWorker()
	require.NoError(w.t, err)
	return worker
}

// start creates the agent "a".
func (w *world) start() {
	w.t.Helper()
	require.NoError(w.t, w.Start(w.t.Context(), "a", signals.Create{Definition: "test"}))
}

func (w *world) signal(act string, payload any) {
	w.t.Helper()
	require.NoError(w.t, w.Signal(w.t.Context(), "a", act, payload))
}

func (w *world) followup(id string) { w.t.Helper(); w.signal(signals.Followup, message(id)) }
func (w *world) steer(id string)    { w.t.Helper(); w.signal(signals.Steer, message(id)) }
func (w *world) inject(id string)   { w.t.Helper(); w.signal(signals.Inject, message(id)) }

func message(id string) signals.Send { return signals.Send{ID: id, Text: "text of " + id} }

func (w *world) idle() {
	w.t.Helper()
	require.NoError(w.t, w.WaitIdle(w.t.Context(), "a"))
}

func (w *world) settled() {
	w.t.Helper()
	require.NoError(w.t, w.Settled(w.t.Context()))
}

// log is the agent's log: what the store holds, and the tail. It keeps every rule, and what was accepted is where it
// should be.
func (w *world) log() []session.Record {
	w.t.Helper()
	return logOf(w.t, w.Engine, w.objects, "a")
}

func (w *world) trace() string { w.t.Helper(); return session.Trace(w.log(), nil) }

func logOf(t *testing.T, e *Engine, objects store.Objects, id string) []session.Record {
	t.Helper()
	st, err := OpenStore(objects)
	require.NoError(t, err)
	e.mu.Lock()
	s := e.agents[id].state()
	e.mu.Unlock()
	var records []session.Record
	for r, err := range st.Records(t.Context(), id, store.Head(s.Log.Head), 0) {
		require.NoError(t, err)
		records = append(records, r)
	}
	tail, err := st.Hydrate(t.Context(), s.Log.Tail)
	require.NoError(t, err)
	records = append(records, tail...)
	_, err = session.Fold(0, records)
	require.NoError(t, err)
	return records
}
