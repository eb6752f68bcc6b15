package explore

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/signals"
)

// A theatre is where one agent plays: it stands still at every point until it is let go.
type theatre interface {
	agents.Backend
	// until returns when nothing can happen any more without another act, and cond holds, or cannot come to hold any more.
	until(cond func() bool)
	now() signals.State // what the agent says of itself
	held() []place      // who stands where, in an order that does not depend on chance
	release(n int)      // lets the n-th of held go
	pass()              // lets time pass until what sleeps has woken
	cancelNatively()    // as Temporal's UI does
	roll()              // wants a rollover at the next safe point
	runs() int          // so far
	told() []string     // statuses that were announced
	log() *store.Store  // where the agent's log is
	leave()
}

// A place is where an activity stands.
type place struct{ point, tool string }

func (p place) String() string {
	if p.tool != "" {
		return p.point + " " + p.tool
	}
	return p.point
}

// A clock says how the time between two attempts goes. It is also the name of the model whose retries go so.
type clock string

// The clocks.
const (
	onDemand clock = "on-demand" // it passes when it is told to
	atOnce   clock = "at-once"   // it passes before anything else can happen
	never    clock = "never"     // it does not pass; only a cancel ends the wait
)

// A tally keeps the statuses that were announced.
type tally struct {
	mu       sync.Mutex
	statuses []string
}

func (l *tally) tap(_, name string, data json.RawMessage) {
	var s struct{ Status string }
	if name == "agent/status" && json.Unmarshal(data, &s) == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.statuses = append(l.statuses, s.Status)
	}
}

func (l *tally) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.statuses)
}

// localTheatre is an engine of its own.
type localTheatre struct {
	*local.Engine
	tally
	t       testing.TB
	objects store.Objects
}

// newLocalTheatre makes an agent "a" whose engine asks for a rollover after every so many inputs, and handles so many of
// them in a task.
func newLocalTheatre(t testing.TB, kind string, every, batch int) *localTheatre {
	th := &localTheatre{t: t}
	var err error
	th.objects, err = local.Objects(t.Context(), "mem://")
	require.NoError(t, err)
	registry, err := llm.NewRegistry(scripted.New(scripted.Config{Sleep: sleep,
		Models: map[string]scripted.Model{string(onDemand): {Position: scripted.ByHistory, Respond: new(author).respond}}}))
	require.NoError(t, err)
	th.Engine, err = local.New(local.Config{Manual: true, RolloverEvery: every, Batch: batch, Tap: th.tap, CheckEveryInput: every == 1,
		Activities: local.Work(activities.Config{Registry: registry, Definitions: []*plugin.Definition{agentKinds()[kind]}}, th.objects)})
	require.NoError(t, err)
	for _, p := range points {
		th.PinAt(local.Point{Name: p})
	}
	_, err = th.StartWorker()
	require.NoError(t, err)
	return th
}

// until asks once: what could happen has happened.
func (th *localTheatre) until(cond func() bool) {
	require.NoError(th.t, th.Settled(th.t.Context()))
	require.NoError(th.t, th.Err())
	cond()
}

func (th *localTheatre) now() (s signals.State) {
	require.NoError(th.t, th.Query(th.t.Context(), "a", signals.QueryState, nil, &s))
	return s
}

func (th *localTheatre) held() (out []place) {
	for _, p := range th.Held() {
		out = append(out, place{p.Name, p.Tool})
	}
	return out
}

func (th *localTheatre) release(n int)   { th.StepHeld(n) }
func (th *localTheatre) pass()           { require.NoError(th.t, th.Advance(th.t.Context(), 20*time.Second)) }
func (th *localTheatre) cancelNatively() { require.NoError(th.t, th.NativeCancel("a", "")) }
func (th *localTheatre) roll()           { require.NoError(th.t, th.AskRollover("a")) }
func (th *localTheatre) runs() int       { return th.Runs("a") }
func (th *localTheatre) leave()          { require.NoError(th.t, th.Close()) }

func (th *localTheatre) log() *store.Store {
	st, err := local.OpenStore(th.objects)
	require.NoError(th.t, err)
	return st
}
