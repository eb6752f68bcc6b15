package activities

import (
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/tools"
)

// of is the definition as one agent has it: with its own sections, and with the tools its filter leaves. See spec §8.1,
// §8.2.
func (k *kind) of(s work.Spec) *kind {
	if len(s.Sections) == 0 && s.Tools == nil && len(s.ClientTools) == 0 {
		return k
	}
	d, set := *k.Definition, k.set
	d.Sections = shadow(d.Sections, s.Sections)
	if s.Tools != nil {
		d.Hide = hide(*s.Tools, k.set, d.Hide)
	}
	if len(s.ClientTools) > 0 {
		d.Tools, set = k.withClientTools(s.ClientTools)
	}
	return &kind{Definition: &d, set: set, manifest: k.manifest}
}

// shadow puts the agent's sections in the places of those of the same name; others come after them, so that they lose a
// tie of the order.
func shadow(sections []plugin.Section, own []work.Section) []plugin.Section {
	out := slices.Clone(sections)
	for _, s := range own {
		mine := plugin.Section{Name: s.Name, Order: s.Order, Text: s.Text}
		i := slices.IndexFunc(out, func(p plugin.Section) bool { return p.Name == s.Name })
		if i < 0 {
			out = append(out, mine)
			continue
		}
		out[i] = mine
	}
	return out
}

// hide keeps what the filter does not leave of the definition's tools from the agent, and what the definition hides.
func hide(f work.ToolFilter, own *tools.Set, rest func(plugin.View, string) bool) func(plugin.View, string) bool {
	return func(v plugin.View, tool string) bool {
		_, filtered := own.Get(tool)
		left := !filtered || (f.Allow == nil || slices.Contains(f.Allow, tool)) && !slices.Contains(f.Deny, tool)
		return !left || rest != nil && rest(v, tool)
	}
}
