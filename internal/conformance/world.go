package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
)

// names of the one kind of agent that a scenario has.
const (
	definitionName = "scenario"
	modelName      = "scenario"
)

// A world is everything of one execution of a scenario that does not depend on the target: the agent's definition, its
// model, and what they were seen to do.
type world struct {
	*setup
	scenario string // its id
	yard     yard
	probes   scripted.Probes
	sent     scripted.Recorder
	faults   *storetest.Faults
	broker   *stream.Memory
	notices  notices
	bodies   bodies
	gateLog  gateLog
	frozen   frozen
	sayings  sayings
	provider llm.Provider

	storeHolds sync.Map // by name
	announced  announcements
	names      sync.Map           // of agents by id
	kidIDs     map[string]string  // of agents that tools and hooks start, by name
	defects    sync.Map           // points that let an activity fail
	barred     sync.Map           // names of tools that became exclusive
	live       *plugin.Definition // as it was registered last
}

func newWorld(id string, s *setup) *world {
	w := &world{setup: s, scenario: id, faults: storetest.NewFaults(), broker: &stream.Memory{Buffer: 1 << 14}, kidIDs: newKids(s.kids)}
	w.provider = scripted.New(scripted.Config{Probes: &w.probes, Recorder: &w.sent, Sleep: local.Sleep,
		Models: map[string]scripted.Model{modelName: {Script: s.script, Retry: s.retry, ContextWindow: s.window}}})
	if w.routes.now != nil {
		w.provider = newRouter(w)
	}
	return w
}

// definition is the agent of the scenario.
func (w *world) definition() *plugin.Definition {
	d := &plugin.Definition{Name: definitionName, Provider: scripted.Name, Model: modelName, MaxParallelTools: w.cap,
		Listeners:    []plugin.Listener{w.listen},
		PreStep:      []plugin.PreStepGate{w.preStepOf("pre-step")},
		Request:      []plugin.RequestGate{w.request},
		RequestError: []plugin.RequestErrorGate{w.requestError},
	}
	if w.system != "" {
		d.Sections = []plugin.Section{{Name: "scenario", Text: w.system}}
	}
	for _, t := range w.tools {
		d.Tools = append(d.Tools, w.tool(t))
	}
	if w.pipeline.plans {
		d.PlanFirst()
	}
	w.guardCalls(d)
	w.listenToStops(d)
	w.maintenance(d)
	w.furnish(d)
	w.birthHooks(d)
	return d
}

// probe holds activities at points.
func (w *world) probe(ctx context.Context, point, _ string, turn, step, attempt int) error {
	for _, p := range w.points {
		if p.name != point || !fits(p.place, turn, step, attempt) {
			continue
		}
		if p.hold == "" {
			if err := w.defect(p); err != nil {
				return err
			}
		} else if p.pin {
			_ = w.yard.arrive(context.WithoutCancel(ctx), p.hold)
		} else {
			_ = w.yard.arrive(ctx, p.hold) // a cancel ends the hold, and the activity sees it itself
		}
	}
	return nil
}

// fits reports whether a place means these coordinates.
func fits(place string, turn, step, attempt int) bool {
	at := fmt.Sprintf("%d.%d", turn, step)
	return place == "*" || place == at || place == fmt.Sprintf("%s/%d", at, attempt)
}

// deedsAt are the deeds of the gates of a kind at a place.
func (w *world) deedsAt(kind string, turn, step, attempt int) []deed {
	var out []deed
	for _, g := range w.gates {
		if g.kind == kind && fits(g.place, turn, step, attempt) {
			out = append(out, g.deeds...)
		}
	}
	return out
}

// owns reports whether a hold is one of gates, tools and points.
func (w *world) owns(name string) bool {
	return w.holds[name] || w.holds["CALL"] && !w.pauses[name]
}

// over ends every hold.
func (w *world) over() {
	w.yard.open()
	for name := range w.pauses {
		w.probes.Open(name)
	}
	w.storeHolds.Range(func(_, g any) bool { g.(*storetest.Gate).Release(); return true })
}

// A gateLog keeps which gates were called, with what.
type gateLog struct {
	mu    sync.Mutex
	calls map[string][]string
}

func (g *gateLog) add(kind, call string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls == nil {
		g.calls = map[string][]string{}
	}
	g.calls[kind] = append(g.calls[kind], call)
}

func (g *gateLog) see(kind string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.calls[kind]) == 0 {
		return "none"
	}
	return strings.Join(slices.Clone(g.calls[kind]), " ")
}
