package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// furniture is what the definition of a scenario says beyond tools and gates.
type furniture struct {
	declared   map[string]string // fields of the declared configuration that are not as usual
	parts      []part
	toolOrder  []string
	compaction *plugin.Compaction
	summaries  scripted.Script // of compactions
}

// A part is a prompt section or a runtime context. What it says can change, see [parseSet].
type part struct{ kind, name, text string }

// declare reads `agent: provider=P model=M effort=E max-tokens=N`; `none` leaves a field empty.
func (s *setup) declare(_ []string, value string) error {
	s.declared = map[string]string{}
	for _, f := range strings.Fields(value) {
		key, v, _ := strings.Cut(f, "=")
		if !slices.Contains([]string{"provider", "model", "max-tokens"}, key) {
			return fmt.Errorf("unknown word %q: want provider=, model= or max-tokens=", f)
		}
		if v == "none" {
			v = ""
		}
		s.declared[key] = v
	}
	return nil
}

// telling reads `section NAME: "…"` and `context NAME: "…"`.
func telling(kind string) func(*setup, []string, string) error {
	return func(s *setup, args []string, value string) error {
		if len(args) != 1 {
			return fmt.Errorf("want `%s NAME: \"…\"`", kind)
		}
		p := part{kind: kind, name: args[0]}
		err := json.Unmarshal([]byte(value), &p.text)
		s.parts = append(s.parts, p)
		return err
	}
}

// compact reads `compaction: threshold=0.8 retain=0.1 retries=1 manual`. The provider of the summaries is not the
// conversation's.
func (s *setup) compact(_ []string, value string) (err error) {
	c := &plugin.Compaction{Provider: writerName, Model: writerName}
	for _, f := range strings.Fields(value) {
		key, v, _ := strings.Cut(f, "=")
		switch key {
		case "threshold":
			c.ThresholdRatio, err = strconv.ParseFloat(v, 64)
		case "retain":
			c.RetainRatio, err = strconv.ParseFloat(v, 64)
		case "retries":
			c.OverflowRetries, err = strconv.Atoi(v)
		case "manual":
			c.ManualOnly = true
		default:
			err = fmt.Errorf("unknown word %q: want threshold=, retain=, retries= or manual", f)
		}
		if err != nil {
			return err
		}
	}
	s.compaction = c
	return nil
}

// summary reads `summary: SCRIPT`: what the writer of summaries answers.
func (s *setup) summary(_ []string, value string) error {
	a, err := scripted.ParseAnswer(value)
	s.summaries = append(s.summaries, a)
	return err
}

// furnish completes the definition.
func (w *world) furnish(d *plugin.Definition) {
	w.declareRoute(d)
	for i, p := range w.parts {
		say := func(context.Context, plugin.View) (string, error) { return w.sayings.get(p), nil }
		if p.kind == "section" {
			d.Sections = append(d.Sections, plugin.Section{Name: p.name, Order: float64(i), Render: say})
		} else {
			d.Contexts = append(d.Contexts, plugin.RuntimeContext{Name: p.name, Order: float64(i), Render: say})
		}
	}
	d.ToolOrder, d.Compaction = w.toolOrder, w.compaction
	if w.has("inner-pre-step") {
		d.PreStep = append(d.PreStep, w.preStepOf("inner-pre-step"))
	}
	if w.has("stream") {
		d.Stream = []plugin.StreamGate{w.stream}
	}
}

func (w *world) declareRoute(d *plugin.Definition) {
	if p, ok := w.declared["provider"]; ok {
		d.Provider = p
	}
	if m, ok := w.declared["model"]; ok {
		d.Model = m
	}
	if n, err := strconv.Atoi(w.declared["max-tokens"]); err == nil {
		d.MaxTokens = n
	}
}

// configure does a deed of the request gate.
func configure(out *session.CallConfig, in plugin.RequestProposal, d deed) {
	switch d.verb {
	case "model":
		out.Model = d.args[0]
	case "provider":
		out.Provider = d.args[0]
	case "effort":
		out.ReasoningEffort = d.args[0]
	case "stop":
		out.Stop = []string{d.args[0]}
	case "mutate":
		in.Config.Stop[0] = "changed"
	}
}

// has reports whether the scenario has a gate of the kind.
func (w *world) has(kind string) bool {
	return slices.ContainsFunc(w.gates, func(g *gateSpec) bool { return g.kind == kind })
}

// sayings are what parts say now.
type sayings struct {
	mu  sync.Mutex
	now map[string]string
}

func (s *sayings) get(p part) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, changed := s.now[p.kind+" "+p.name]; changed {
		return text
	}
	return p.text
}

func (s *sayings) set(kind, name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		s.now = map[string]string{}
	}
	s.now[kind+" "+name] = text
}

// parseSet reads `set section|context NAME "…"`: what the part says from now on; an empty text is nothing.
func parseSet(s *setup, w *words) (act, error) {
	kind, err := w.bare("section or context")
	if err != nil {
		return nil, err
	}
	if kind != "section" && kind != "context" {
		return nil, fmt.Errorf("want `set section NAME \"…\"` or `set context NAME \"…\"`")
	}
	name, err := w.bare("a name")
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.parts, func(p part) bool { return p.kind == kind && p.name == name }) {
		return nil, fmt.Errorf("the scenario has no line `%s %s:`", kind, name)
	}
	text, err := w.text("what it says")
	return quiet(func(r *run, _ context.Context) error { r.sayings.set(kind, name, text); return nil }), err
}
