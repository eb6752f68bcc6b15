package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// A plan is what a message leads to; it is a function of the message's number, so the model of a schedule knows it.
type plan int

const (
	planText   plan = iota
	planTool        // one call
	planPool        // two calls that run together
	planAlone       // three calls, the second of which runs alone
	planCut         // at the output ceiling
	planFail        // the model fails for good
	planReject      // the pre-step gate rejects the step
	planKept        // the gate keeps the message out
	planRetry       // the model fails once
	planPause       // the stream stands still in the middle
	plans
)

// planOf is the plan of a message with an id such as m17.
func planOf(id string) plan {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "m"))
	if err != nil {
		return planText
	}
	return plan(n) % plans
}

// callsOf are the tools that a message makes the model call, in model order.
func callsOf(p plan) []string {
	switch p {
	case planTool:
		return []string{"t1"}
	case planPool:
		return []string{"t1", "t2"}
	case planAlone:
		return []string{"t1", "alone", "t2"}
	default:
		return nil
	}
}

// An author answers requests by the plan of their last message.
type author struct {
	mu     sync.Mutex
	failed map[string]bool
}

func (a *author) respond(req llm.Request) scripted.Answer {
	last := req.Messages[len(req.Messages)-1]
	line := `text "fine"`
	if _, ok := last.Content[0].(session.ToolResultBlock); !ok {
		line = a.line(last.ID)
	}
	return scripted.MustParse(line)[0]
}

func (a *author) line(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch p := planOf(id); p {
	case planTool, planPool, planAlone:
		var calls []string
		for _, name := range callsOf(p) {
			calls = append(calls, fmt.Sprintf(`tool %s-%s %s {}`, name, id, name))
		}
		return strings.Join(calls, " ")
	case planCut:
		return `text "too long" max-tokens`
	case planFail:
		return `error AUTH`
	case planRetry:
		if !a.failed[id] {
			a.failed[id] = true
			return `error RATE_LIMIT`
		}
	case planPause:
		return `text "half" delay 1s text "rest"`
	}
	return `text "fine"`
}

// The points at which everything stands, in the order in which a step passes them.
const (
	atAssembled = "step/assembled"    // X3
	atPrepared  = "step/prepared"     // X4
	atCommitted = "request/committed" // X5
	atEnd       = "stream/end"        // X9
	atBody      = "tool/body"         // X10
	atHook      = "hook"              // X12
	atTask      = "task"              // §3.6
)

func stand(ctx context.Context, point string) {
	_ = local.At(ctx, point) // a body that does not listen: only what the agent does about it counts
}

// definition is the agent of all schedules.
func definition(hooks bool) *plugin.Definition {
	type args struct{}
	body := func(ctx context.Context, _ args) (string, error) {
		stand(ctx, atBody)
		return "done", nil
	}
	d := &plugin.Definition{Name: "test", Provider: scripted.Name, Model: "test",
		PreStep: []plugin.PreStepGate{gate},
		Tools: []*tools.Tool{
			tools.Must(tools.New("t1", "Runs beside others.", body, tools.WithEffect(tools.Pure), tools.ParallelSafe())),
			tools.Must(tools.New("t2", "Runs beside others.", body, tools.WithEffect(tools.Pure), tools.ParallelSafe())),
			tools.Must(tools.New("alone", "Runs alone.", body, tools.WithEffect(tools.Pure))),
		},
		Maintenance: map[string]plugin.MaintenanceTask{"tidy": func(ctx context.Context, _ plugin.Maintenance) (any, error) {
			stand(ctx, atTask)
			return "tidied", nil
		}},
	}
	if hooks {
		hook := func(ctx context.Context, _ plugin.Moment) error {
			stand(ctx, atHook)
			return nil
		}
		d.SessionStart, d.TurnStopping = []plugin.Hook{hook}, []plugin.Hook{hook}
	}
	return d
}

// gate rejects a step, or keeps messages out, by their plans.
func gate(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
	var kept []session.Message
	for _, m := range in.Messages {
		switch planOf(m.ID) {
		case planReject:
			return plugin.Decision{Reject: true, Reason: "so"}, nil
		case planKept:
		default:
			kept = append(kept, m)
		}
	}
	in.Messages = kept
	return next(ctx, in)
}

// A theatre is an engine whose agent "a" stands still at every point.
type theatre struct {
	*local.Engine
	t       testing.TB
	objects store.Objects

	mu       sync.Mutex
	statuses []string
}

// shared by all theatres: making them costs more than a schedule.
var worker = sync.OnceValues(func() ([]*plugin.Definition, error) {
	return []*plugin.Definition{definition(false), definition(true)}, nil
})

func newTheatre(t testing.TB, hooks bool, every, batch int) *theatre {
	th := &theatre{t: t}
	var err error
	th.objects, err = local.Objects(t.Context(), "mem://")
	require.NoError(t, err)
	a := &author{failed: map[string]bool{}}
	registry, err := llm.NewRegistry(scripted.New(scripted.Config{Sleep: local.Sleep,
		Models: map[string]scripted.Model{"test": {Position: scripted.ByHistory, Respond: a.respond}}}))
	require.NoError(t, err)
	kinds, err := worker()
	require.NoError(t, err)
	kind := kinds[0]
	if hooks {
		kind = kinds[1]
	}
	th.Engine, err = local.New(local.Config{Manual: true, RolloverEvery: every, Batch: batch, Tap: th.tap, CheckEveryInput: every == 1,
		Activities: local.Work(activities.Config{Registry: registry, Definitions: []*plugin.Definition{kind}}, th.objects)})
	require.NoError(t, err)
	for _, p := range []string{atAssembled, atPrepared, atCommitted, atEnd, atBody, atHook, atTask} {
		th.PinAt(local.Point{Name: p})
	}
	_, err = th.StartWorker()
	require.NoError(t, err)
	require.NoError(t, th.Start(t.Context(), "a", signals.Create{Definition: "test"}))
	th.settle()
	return th
}

func (th *theatre) tap(_, name string, data json.RawMessage) {
	var s struct{ Status string }
	if name == "agent/status" && json.Unmarshal(data, &s) == nil {
		th.mu.Lock()
		defer th.mu.Unlock()
		th.statuses = append(th.statuses, s.Status)
	}
}

func (th *theatre) told() []string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return slices.Clone(th.statuses)
}

func (th *theatre) settle() {
	require.NoError(th.t, th.Settled(th.t.Context()))
	require.NoError(th.t, th.Err())
}

// state is the agent's committed state.
func (th *theatre) state() (s signals.State) {
	require.NoError(th.t, th.WaitUntil(th.t.Context(), "a", func(now signals.State) bool {
		s = now
		return true
	}))
	return s
}

// log is the agent's log, which is all in the store when the agent is idle; it keeps every rule.
func (th *theatre) log() []session.Record {
	st, err := local.OpenStore(th.objects)
	require.NoError(th.t, err)
	s := th.state()
	var out []session.Record
	for r, err := range st.Records(th.t.Context(), "a", store.Head{Hash: s.Log.Hash, Count: s.Log.Count}, 0) {
		require.NoError(th.t, err)
		out = append(out, r)
	}
	_, err = session.Fold(0, out)
	require.NoError(th.t, err)
	return out
}

// standing names who stands where.
func (th *theatre) standing() []string {
	var out []string
	for _, p := range th.Held() {
		name := p.Name
		if p.Activity == work.Tool {
			name += " " + p.Tool
		}
		out = append(out, name)
	}
	return out
}
