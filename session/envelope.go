package session

import (
	"bytes"
	"reflect"
)

// checkSurfaceOp: present on every message event, forbidden elsewhere, and a replacement must fit. See spec §2.1.
func (s *State) checkSurfaceOp(r Record) error {
	switch on := OnSurface(r.Event); {
	case on && r.Surface == nil:
		return refuse(RuleSurfaceMissing, "%s has no surfaceOp", r.Event.Type())
	case !on && r.Surface != nil:
		return refuse(RuleSurfaceForbidden, "%s is log-only and must not have a surfaceOp", r.Event.Type())
	case on && r.Surface.Replace:
		return s.checkReplace(r)
	}
	return nil
}

// checkReplace: both ends on the surface, in order, every shadowed node cited. See spec §2.1.
func (s *State) checkReplace(r Record) error {
	first, ok := s.surface.find(r.Surface.Start)
	if !ok {
		return refuse(RuleReplaceUnknown, "start %d is not on the surface", r.Surface.Start)
	}
	last, ok := s.surface.find(r.Surface.End)
	if !ok {
		return refuse(RuleReplaceUnknown, "end %d is not on the surface", r.Surface.End)
	}
	if first > last {
		return refuse(RuleReplaceOrder, "start %d comes after end %d on the surface", r.Surface.Start, r.Surface.End)
	}
	cited := make(map[int64]bool, len(r.Sources))
	for _, seq := range r.Sources {
		cited[seq] = true
	}
	for n := range s.surface.span(first, last) {
		if !cited[n.Seq] {
			return refuse(RuleReplaceUncited, "shadowed event %d is not in sourceEventSeqs", n.Seq)
		}
	}
	return s.checkReplacedResult(r, first)
}

// checkReplacedResult: a tool/result replaces exactly one result and changes only its content. See spec §9.4.5.
func (s *State) checkReplacedResult(r Record, slot int) error {
	now, ok := r.Event.(ToolResult)
	if !ok {
		return nil
	}
	old, ok := s.surface.nodes[s.surface.slots[slot]].rec.Event.(ToolResult)
	switch {
	case r.Surface.Start != r.Surface.End:
		return refuse(RuleReplaceResult, "a tool/result replaces exactly one node")
	case !ok:
		return refuse(RuleReplaceResult, "event %d is not a tool/result", r.Surface.Start)
	case !sameButContent(old, now):
		return refuse(RuleReplaceResult, "the replacement of tool/result %d changes more than its content", r.Surface.Start)
	}
	return nil
}

// sameButContent compares two results with one block each.
func sameButContent(a, b ToolResult) bool {
	x, xok := resultBlock(a)
	y, yok := resultBlock(b)
	return xok && yok && x.ToolCallID == y.ToolCallID && x.IsError == y.IsError &&
		a.Turn == b.Turn && a.Step == b.Step &&
		a.Message.ID == b.Message.ID && reflect.DeepEqual(a.Message.Source, b.Message.Source) &&
		reflect.DeepEqual(a.Error, b.Error) && bytes.Equal(a.Meta, b.Meta)
}

// resultBlock returns the one block of a result.
func resultBlock(r ToolResult) (ToolResultBlock, bool) {
	if len(r.Message.Content) != 1 {
		return ToolResultBlock{}, false
	}
	b, ok := r.Message.Content[0].(ToolResultBlock)
	return b, ok
}

// checkSources: on surface events only, unique, past, empty on assistant/message alone. See spec §2.1.
func checkSources(r Record, seq int64) error {
	if r.Sources == nil {
		return nil
	}
	if !OnSurface(r.Event) {
		return refuse(RuleSourcesForbidden, "%s is log-only and must not have sourceEventSeqs", r.Event.Type())
	}
	if _, ok := r.Event.(AssistantMessage); !ok && len(r.Sources) == 0 {
		return refuse(RuleSourcesEmpty, "sourceEventSeqs is empty, which only assistant/message may say")
	}
	if i := notPast(r.Sources, seq); i >= 0 {
		return refuse(RuleSourcesFuture, "source %d does not lie before the event", r.Sources[i])
	}
	if i := repeated(r.Sources); i >= 0 {
		return refuse(RuleSourcesDuplicate, "source %d is cited twice", r.Sources[i])
	}
	return nil
}

// notPast returns the index of the first seq that is not in [0, before), or -1.
func notPast(seqs []int64, before int64) int {
	for i, seq := range seqs {
		if seq < 0 || seq >= before {
			return i
		}
	}
	return -1
}

// repeated returns the index of the first seq that occurred before, or -1.
func repeated(seqs []int64) int {
	i := 1
	for i < len(seqs) && seqs[i-1] < seqs[i] {
		i++
	}
	if i >= len(seqs) {
		return -1 // strictly rising, as nearly always
	}
	seen := make(map[int64]bool, len(seqs))
	for i, seq := range seqs {
		if seen[seq] {
			return i
		}
		seen[seq] = true
	}
	return -1
}
