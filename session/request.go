package session

import (
	"bytes"
	"encoding/json"
	"slices"
)

// PromptPlugin is the source of system messages: the prompt service.
const PromptPlugin = "prompt"

// A Proposal is a request as it is prepared, before the log decides what must be recorded of it.
type Proposal struct {
	Config   CallConfig
	Defaults *AdapterDefaults // nil when every value is the agent's own
	System   string           // rendered, maybe empty
	Tools    []ToolSchema
	Context  RequestContext // its SystemPromptUpdate is the prepared route's capability
	// SeriesDeclared: the enter decision of this step starts a series; false from the second attempt on.
	SeriesDeclared bool
}

// Header is the proposal's header with the system prompt that [State.Reconcile] left to it.
func (p Proposal) Header(system string) HeaderContent {
	return HeaderContent{Config: p.Config, AdapterDefaults: p.Defaults, System: system, Tools: p.Tools}.tidy()
}

// tidy drops what says nothing.
func (h HeaderContent) tidy() HeaderContent {
	if h.AdapterDefaults != nil && *h.AdapterDefaults == (AdapterDefaults{}) {
		h.AdapterDefaults = nil
	}
	return h
}

// Reconcile says which system messages bring history in line with the rendered prompt, and which prompt the header
// anchors. The records have no seq yet. See spec §8.4.
func (s *State) Reconcile(p Proposal, turn, step int, timeMS int64, newID func() string) (updates []Record, headerSystem string) {
	nodes := s.systemNodes()
	if s.breaksSeries(p) {
		for _, n := range nodes {
			r := NewRecord(timeMS, systemMessage(turn, step, newID(), Content{}), n.Seq)
			r.Surface = ReplaceOp(n.Seq, n.Seq)
			updates = append(updates, r)
		}
		return updates, p.System
	}
	base := s.header.Header.System
	effective := base
	if len(nodes) > 0 {
		effective = nodes[len(nodes)-1].Event.(SystemMessage).Message.Text()
	}
	if effective != p.System {
		updates = append(updates, NewRecord(timeMS, systemMessage(turn, step, newID(), TextContent(p.System))))
	}
	return updates, base
}

// breaksSeries reports whether the prompt must be anchored anew. See spec §8.4.
func (s *State) breaksSeries(p Proposal) bool {
	return s.header == nil || !p.Context.SystemPromptUpdate || p.SeriesDeclared || s.rewritten || p.System == "" ||
		!sameJSON(nonEmpty(p.Tools), nonEmpty(s.header.Header.Tools))
}

func nonEmpty(tools []ToolSchema) []ToolSchema {
	if len(tools) == 0 {
		return nil
	}
	return tools
}

// systemNodes returns the system messages on the surface that have text.
func (s *State) systemNodes() []Record {
	var out []Record
	for r := range s.surface.all() {
		if e, ok := r.Event.(SystemMessage); ok && e.Message.Text() != "" {
			out = append(out, r)
		}
	}
	return out
}

func systemMessage(turn, step int, id string, c Content) SystemMessage {
	src := Source{Kind: SourcePlugin, Plugin: PromptPlugin}
	return SystemMessage{Turn: turn, Step: step, Message: Message{ID: id, Role: RoleSystem, Content: c, Source: src}}
}

// HeaderDue returns the header to log before a request, or nil. Call it on the state that holds the records of
// [State.Reconcile], so that the replacements made for this request count as a rewrite. See spec §8.3.
func (s *State) HeaderDue(content HeaderContent, seriesDeclared bool) *RequestHeader {
	content, series := content.tidy(), seriesDeclared || s.rewritten
	switch {
	case s.header == nil:
		return &RequestHeader{Header: content, Reason: HeaderInitial, StartsSeries: seriesDeclared}
	case !s.headerHere:
		return &RequestHeader{Header: content, Reason: HeaderResume, StartsSeries: series}
	case !EqualHeader(content, s.header.Header):
		return &RequestHeader{Header: content, Reason: HeaderChange, StartsSeries: series}
	case series:
		return &RequestHeader{Header: content, Reason: HeaderSeries}
	}
	return nil
}

// ContextDue returns the context to log before a request, or nil when it equals the last one. See spec §8.7.
func (s *State) ContextDue(c RequestContext) *RequestContext {
	if s.context != nil && *s.context == c {
		return nil
	}
	return &c
}

// EqualHeader compares two headers as they are written, byte for byte, tools in order. See spec §8.3.
func EqualHeader(a, b HeaderContent) bool { return sameJSON(a.tidy(), b.tidy()) }

// sameJSON compares the written forms, in which the white space of a tool's schema does not count: a log that was
// stored and read again has none.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// SeedConfig is the configuration that a request starts from: what the agent declares for the first request of an
// incarnation, afterwards the last header's without the values that came from its route. See spec §4.5.1.
func (s *State) SeedConfig(declared CallConfig) CallConfig {
	if s.header == nil {
		return declared.clone()
	}
	last := s.header.Header.Config.clone()
	route := AdapterDefaults{}
	if d := s.header.Header.AdapterDefaults; d != nil {
		route = *d
	}
	if !s.headerHere {
		return restoreEffort(declared.clone(), last, route)
	}
	if route.ReasoningEffort {
		last.ReasoningEffort = ""
	}
	if route.MaxTokens {
		last.MaxTokens = 0
	}
	return last
}

// restoreEffort brings back an effort that was chosen explicitly for the same provider and model.
func restoreEffort(declared, last CallConfig, route AdapterDefaults) CallConfig {
	sameRoute := last.Provider == declared.Provider && last.Model == declared.Model
	if sameRoute && last.ReasoningEffort != "" && !route.ReasoningEffort {
		declared.ReasoningEffort = last.ReasoningEffort
	}
	return declared
}

// clone shares no memory with c.
func (c CallConfig) clone() CallConfig {
	if c.Temperature != nil {
		t := *c.Temperature
		c.Temperature = &t
	}
	c.Stop = slices.Clone(c.Stop)
	return c
}
