package session

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func tools(names ...string) []ToolSchema {
	var out []ToolSchema
	for _, n := range names {
		out = append(out, ToolSchema{Name: n, Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

func proposal(system string) Proposal {
	return Proposal{
		Config: CallConfig{Provider: "p", Model: "m"}, System: system, Tools: tools("a"),
		Context: RequestContext{Provider: "p", Model: "m", SystemPromptUpdate: true},
	}
}

// prepare does what a step does before a request and returns what the log gained.
func (s *scribe) prepare(p Proposal) string {
	s.t.Helper()
	from := len(s.log.Records())
	turn, _ := s.log.State().Turn()
	step, _ := s.log.State().Step()
	n := 0
	updates, system := s.log.State().Reconcile(p, turn, step, 1, func() string { n++; return fmt.Sprintf("sys-%d-%d", from, n) })
	for _, r := range updates {
		s.append(r)
	}
	if h := s.log.State().HeaderDue(p.Header(system), p.SeriesDeclared); h != nil {
		s.append(NewRecord(1, *h))
	}
	if c := s.log.State().ContextDue(p.Context); c != nil {
		s.append(NewRecord(1, *c))
	}
	return Trace(s.log.Records()[from:], nil)
}

func (s *scribe) append(r Record) {
	s.t.Helper()
	_, err := s.log.Append(r)
	require.NoError(s.t, err)
}

// step runs a whole step with a request for p.
func (s *scribe) step(p Proposal) string {
	s.t.Helper()
	turn, _ := s.log.State().Turn()
	last, _ := s.log.State().Step()
	s.write(fmt.Sprintf("SS%d.%d", turn, last+1))
	got := s.prepare(p)
	s.write("CH×1 AM SE")
	return got
}

// prompt is the one effective prompt: the last system text in history, else the header's.
func (s *scribe) prompt() string {
	if nodes := s.log.State().systemNodes(); len(nodes) > 0 {
		return nodes[len(nodes)-1].Event.(SystemMessage).Message.Text()
	}
	return s.log.State().LastHeader().Header.System
}

// C-070, C-071
func TestRequestsThatStayTheSameLogOneHeaderAndOneContext(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "TS1")
	require.Equal(t, "RH(initial) RC", s.step(proposal("one")))
	require.Empty(t, s.step(proposal("one")))
	s.write("TE(completed) TS2")
	require.Empty(t, s.step(proposal("one")))
}

// C-072 to C-076, C-098, C-099; spec §8.3, §8.4.
func TestReconcileAndHeader(t *testing.T) {
	t.Parallel()
	incapable := func(p Proposal) Proposal { p.Context.SystemPromptUpdate = false; return p }
	declared := func(p Proposal) Proposal { p.SeriesDeclared = true; return p }
	retooled := func(p Proposal) Proposal { p.Tools = tools("a", "b"); return p }
	remodelled := func(p Proposal) Proposal { p.Config.Model, p.Context.Model = "n", "n"; return p }
	for _, c := range []struct {
		name   string
		before []Proposal // requests before, one step each
		script string     // between those and the request
		p      Proposal
		want   string
		anchor string // header.system afterwards
	}{
		{"the first request", nil, "", proposal("one"), "RH(initial) RC", "one"},
		{"the first request declares a series", nil, "", declared(proposal("one")), "RH(initial,series) RC", "one"},
		{"a new prompt on a route without updates", []Proposal{incapable(proposal("one"))}, "", incapable(proposal("two")), "RH(change)", "two"},
		{"a new prompt on a route with updates", []Proposal{proposal("one")}, "", proposal("two"), "SYS", "one"},
		{"an updated prompt that stays", []Proposal{proposal("one"), proposal("two")}, "", proposal("two"), "", "one"},
		{"back to the anchored prompt", []Proposal{proposal("one"), proposal("two")}, "", proposal("one"), "SYS", "one"},
		{"an updated prompt, then a route without updates", []Proposal{proposal("one"), proposal("two")}, "", incapable(proposal("two")), "SYS∅~ RH(change,series) RC", "two"},
		{"two updates, then a route without", []Proposal{proposal("one"), proposal("two"), proposal("3")}, "", incapable(proposal("two")), "SYS∅~ SYS∅~ RH(change,series) RC", "two"},
		{"emptied updates are not emptied again", []Proposal{proposal("one"), proposal("two"), incapable(proposal("two"))}, "", incapable(proposal("3")), "RH(change)", "3"},
		{"the prompt becomes empty", []Proposal{proposal("one"), proposal("two")}, "", proposal(""), "SYS∅~ RH(change,series)", ""},
		{"the prompt stays empty", []Proposal{proposal("")}, "", proposal(""), "", ""},
		{"the tools changed", []Proposal{proposal("one"), proposal("two")}, "", retooled(proposal("two")), "SYS∅~ RH(change,series)", "two"},
		{"the model changed", []Proposal{proposal("one"), proposal("two")}, "", remodelled(proposal("two")), "RH(change) RC", "one"},
		{"a declared series, nothing else", []Proposal{proposal("one")}, "", declared(proposal("one")), "RH(series)", "one"},
		{"a declared series and a new prompt", []Proposal{proposal("one")}, "", declared(proposal("two")), "RH(change,series)", "two"},
		{"history was rewritten", []Proposal{proposal("one")}, "UM~1-1(sum)", proposal("one"), "RH(series)", "one"},
		{"history was rewritten and the prompt changed", []Proposal{proposal("one")}, "UM~1-1(sum)", proposal("two"), "RH(change,series)", "two"},
		{"resume, nothing changed", []Proposal{proposal("one")}, "TE(completed) ES TS2", proposal("one"), "RH(resume)", "one"},
		{"resume after an update", []Proposal{proposal("one"), proposal("two")}, "TE(completed) ES TS2", proposal("two"), "RH(resume)", "one"},
		{"resume with a new prompt", []Proposal{proposal("one")}, "TE(completed) ES TS2", proposal("two"), "SYS RH(resume)", "one"},
		{"resume and a rewrite since", []Proposal{proposal("one")}, "TE(completed) ES UM~1-1(sum) TS2", proposal("one"), "RH(resume,series)", "one"},
		{"resume with a declared series", []Proposal{proposal("one")}, "TE(completed) ES TS2", declared(proposal("one")), "RH(resume,series)", "one"},
		{"resume and an update emptied", []Proposal{proposal("one"), proposal("two")}, "TE(completed) ES TS2", incapable(proposal("two")), "SYS∅~ RH(resume,series) RC", "two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScribe(t, "TS1 UM(a)")
			for _, p := range c.before {
				s.step(p)
			}
			s.write(c.script)
			require.Equal(t, c.want, s.step(c.p))
			require.Equal(t, c.anchor, s.log.State().LastHeader().Header.System)
			require.Equal(t, c.p.System, s.prompt(), "exactly one effective prompt")
		})
	}
}

// See spec §8.4: re-evaluated on every attempt with the same rendered text.
func TestASecondAttemptRepeatsNeitherPromptNorHeader(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "TS1")
	s.step(proposal("one"))
	s.write("SS1.2")
	require.Equal(t, "SYS", s.prepare(proposal("two")))
	s.write("CH×1 AA")
	require.Empty(t, s.prepare(proposal("two")))
	s.write("CH×1 AA")
	compacted := proposal("two")
	s.write("UM~5-5(sum)") // the answer of step 1 was sent with step 2's attempts
	require.Equal(t, "SYS∅~ RH(change,series)", s.prepare(compacted), "C-141")
}

// See spec §8.3: an initial header starts a series only when one was declared.
func TestARewriteBeforeAnyHeaderStartsNoSeries(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "UM(a) ES UM~0-0(sum) TS1")
	require.True(t, s.log.State().Rewritten())
	require.Equal(t, "RH(initial) RC", s.step(proposal("one")))
}

// C-085, C-086
func TestContextIsLoggedOnlyWhenItDiffers(t *testing.T) {
	t.Parallel()
	s := newScribe(t, opened)
	with := RequestContext{Provider: "p", Model: "m", ContextWindow: 1000}
	s.append(NewRecord(1, *s.log.State().ContextDue(with)))
	require.Nil(t, s.log.State().ContextDue(with))
	with.ContextWindow = 0
	require.Equal(t, &with, s.log.State().ContextDue(with), "missing capacity clears the older one")
}

func TestHeaderEqualityIsByteExactAndInOrder(t *testing.T) {
	t.Parallel()
	base := func() HeaderContent { return proposal("one").Header("one") }
	zero, one := 0.0, 1.0
	require.True(t, EqualHeader(base(), base()))
	for name, change := range map[string]func(*HeaderContent){
		"provider":     func(h *HeaderContent) { h.Config.Provider = "q" },
		"effort":       func(h *HeaderContent) { h.Config.ReasoningEffort = "low" },
		"temperature":  func(h *HeaderContent) { h.Config.Temperature = &zero },
		"ceiling":      func(h *HeaderContent) { h.Config.MaxTokens = 1 },
		"stop":         func(h *HeaderContent) { h.Config.Stop = []string{"x"} },
		"defaults":     func(h *HeaderContent) { h.AdapterDefaults = &AdapterDefaults{MaxTokens: true} },
		"system":       func(h *HeaderContent) { h.System = "one " },
		"no tools":     func(h *HeaderContent) { h.Tools = nil },
		"description":  func(h *HeaderContent) { h.Tools[0].Description = "D" },
		"schema":       func(h *HeaderContent) { h.Tools[0].Parameters = json.RawMessage(`{"type":"string"}`) },
		"tools' order": func(h *HeaderContent) { h.Tools = tools("b", "a") },
	} {
		h := base()
		change(&h)
		require.False(t, EqualHeader(base(), h), name)
	}
	require.False(t, EqualHeader(HeaderContent{Tools: tools("a", "b")}, HeaderContent{Tools: tools("b", "a")}))
	require.False(t, EqualHeader(HeaderContent{Config: CallConfig{Temperature: &zero}}, HeaderContent{Config: CallConfig{Temperature: &one}}))
	require.True(t, EqualHeader(HeaderContent{Tools: []ToolSchema{}, AdapterDefaults: &AdapterDefaults{}}, HeaderContent{}), "empty is absent")
	spaced := base()
	spaced.Tools[0].Parameters = json.RawMessage(`{ "type" : "object" }`)
	require.True(t, EqualHeader(base(), spaced), "a stored log has no white space")
	broken := HeaderContent{Tools: []ToolSchema{{Parameters: json.RawMessage("{")}}}
	require.False(t, EqualHeader(broken, broken))
}

// C-081 to C-084; spec §4.5.1.
func TestSeedConfig(t *testing.T) {
	t.Parallel()
	declared := CallConfig{Provider: "p", Model: "m", ReasoningEffort: "low", MaxTokens: 4096}
	logged := func(effort string, d *AdapterDefaults) HeaderContent {
		return HeaderContent{Config: CallConfig{Provider: "p", Model: "m", ReasoningEffort: effort, MaxTokens: 9}, AdapterDefaults: d}
	}
	other := logged("high", nil)
	other.Config.Model = "n"
	with := func(effort string, ceiling int) CallConfig {
		return CallConfig{Provider: "p", Model: "m", ReasoningEffort: effort, MaxTokens: ceiling}
	}
	for _, c := range []struct {
		name   string
		header *HeaderContent
		resume bool
		want   CallConfig
	}{
		{"the first request starts from what is declared", nil, false, declared},
		{"later requests start from the last header", ptr(logged("high", nil)), false, with("high", 9)},
		{"a default effort is not carried on", ptr(logged("high", &AdapterDefaults{ReasoningEffort: true})), false, with("", 9)},
		{"a default ceiling is not carried on", ptr(logged("high", &AdapterDefaults{MaxTokens: true})), false, with("high", 0)},
		{"resume restores an explicit effort", ptr(logged("high", nil)), true, with("high", 4096)},
		{"resume does not restore a default effort", ptr(logged("high", &AdapterDefaults{ReasoningEffort: true})), true, declared},
		{"resume does not restore an effort of another model", &other, true, declared},
		{"resume has no effort to restore", ptr(logged("", nil)), true, declared},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScribe(t, "TS1")
			if c.header != nil {
				s.append(NewRecord(1, RequestHeader{Header: *c.header, Reason: HeaderInitial}))
			}
			if c.resume {
				s.write("TE(completed) ES")
			}
			require.Equal(t, c.want, s.log.State().SeedConfig(declared))
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestSeedConfigSharesNoMemory(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "TS1")
	hot := 1.0
	h := HeaderContent{Config: CallConfig{Temperature: &hot, Stop: []string{"x"}}}
	s.append(NewRecord(1, RequestHeader{Header: h, Reason: HeaderInitial}))
	got := s.log.State().SeedConfig(CallConfig{})
	*got.Temperature, got.Stop[0] = 0, "y"
	require.Equal(t, 1.0, *s.log.State().LastHeader().Header.Config.Temperature)
	require.Equal(t, "x", s.log.State().LastHeader().Header.Config.Stop[0])
}
