package explore

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/internal/soak"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/worker"
)

// renewAt is the length of a history at which the server suggests a new run: short, so that every agent has several.
const renewAt = 30

// lanes is how many agents play at a time on the server.
const lanes = 24

// TestServerSchedules plays random schedules on a Temporal server with a real worker and on the [Model], and compares
// what can be seen.
func TestServerSchedules(t *testing.T) {
	if testing.Short() || servertest.Program() == "" {
		t.Skip("needs a Temporal server: set EVERTURN_DEVSERVER to the program")
	}
	h := newHouse(t)
	soak.Play(t, soak.Config{Name: "Temporal server", First: *firstFlag, N: quantity(300, 3000, 0), Lanes: lanes, Must: must, Enough: enough},
		func(c *soak.Run, seed int) { h.play(t, seed, c) })
}

// A house is a Temporal server with a worker for all agents.
type house struct {
	client  client.Client
	backend agents.Backend
	store   worker.Store
	tallies sync.Map // by agent
}

func newHouse(t *testing.T) *house {
	address := servertest.Start(t, servertest.Program(), "--dynamic-config", fmt.Sprintf("limit.historyCount.suggestContinueAsNew=%d", renewAt))
	h := &house{}
	var err error
	h.client, err = client.Dial(client.Options{HostPort: address, Logger: log.Silent(),
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}}})
	require.NoError(t, err)
	t.Cleanup(h.client.Close)
	h.backend = agents.Temporal(h.client, agents.TemporalOptions{TaskQueue: "explore", AnswerIn: patience})
	h.store, err = worker.OpenStore(t.Context(), "mem://")
	require.NoError(t, err)
	w, err := worker.New(t.Context(), worker.Config{Client: h.client, TaskQueue: "explore", Store: h.store, Drain: 5 * time.Second,
		Providers: []llm.Provider{provider()}, Definitions: h.definitions(), Probe: probe,
		Options: sdk.Options{MaxConcurrentWorkflowTaskPollers: 8, MaxConcurrentActivityTaskPollers: 8}})
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return h
}

// definitions are those of all schedules. A listener of one hears of the agents of all.
func (h *house) definitions() []*plugin.Definition {
	listening := *agentKinds()[plain]
	listening.Listeners = []plugin.Listener{func(n plugin.Notice) {
		if l, ok := h.tallies.Load(n.Session); ok {
			l.(*tally).tap(n.Session, n.Name, n.Data)
		}
	}}
	return []*plugin.Definition{&listening, agentKinds()[hooked]}
}

// provider has a model for each clock that a server can have.
func provider() llm.Provider {
	a := &author{}
	model := func(wait time.Duration) scripted.Model {
		return scripted.Model{Position: scripted.ByHistory, Respond: a.respond, Retry: llm.RetryPolicy{Base: wait, Cap: wait, Jitter: -1}}
	}
	return scripted.New(scripted.Config{Sleep: sleep,
		Models: map[string]scripted.Model{string(atOnce): model(time.Millisecond), string(never): model(24 * time.Hour)}})
}

func (h *house) play(t *testing.T, seed int, c *soak.Run) {
	r := rand.New(rand.NewPCG(uint64(seed), 3))
	kind, time := []string{plain, hooked}[r.IntN(2)], []clock{atOnce, never}[r.IntN(2)]
	th := h.theatre(t, fmt.Sprintf("agent-%d", seed))
	newPlayer(t, th, r, c, th.id, kind, time).play(fmt.Sprintf("-run ServerSchedules -args -schedules 1 -first %d", seed))
}
