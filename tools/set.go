package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/session"
)

// Rest is the marker in a configured order that stands for every tool the order does not name. See spec §8.2.
const Rest = "*"

// A Set is the tools one agent can see, ordered by name. The nil set is empty. It never changes.
type Set struct {
	tools []*Tool
}

// NewSet makes a set. Two tools of one name are refused.
func NewSet(tools ...*Tool) (*Set, error) {
	s := &Set{tools: slices.Clone(tools)}
	for _, t := range s.tools {
		if t == nil {
			return nil, errors.New("tool set: a tool is nil")
		}
		if err := t.validate(); err != nil {
			return nil, fmt.Errorf("tool set: %w", err)
		}
	}
	slices.SortFunc(s.tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(s.tools); i++ {
		if s.tools[i].Name == s.tools[i-1].Name {
			return nil, fmt.Errorf("tool set: two tools are named %q", s.tools[i].Name)
		}
	}
	return s, nil
}

// Get returns the tool of a name.
func (s *Set) Get(name string) (*Tool, bool) {
	if s == nil {
		return nil, false
	}
	i, ok := slices.BinarySearchFunc(s.tools, name, func(t *Tool, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil, false
	}
	return s.tools[i], true
}

// All returns the tools, ordered by name.
func (s *Set) All() []*Tool {
	if s == nil {
		return nil
	}
	return slices.Clone(s.tools)
}

// Schemas returns what the model is told, in the configured order: names, with at most one [Rest] marker where the
// unnamed tools go in the order of their names. Without a marker they go last; without an order all do. A name that
// is not in the set, or is given twice, is an error. See spec §8.2.
func (s *Set) Schemas(order []string) ([]session.ToolSchema, error) {
	ordered, err := s.arrange(order)
	if err != nil {
		return nil, fmt.Errorf("tool order: %w", err)
	}
	var out []session.ToolSchema
	for _, t := range ordered {
		out = append(out, t.Schema())
	}
	return out, nil
}

func (s *Set) arrange(order []string) ([]*Tool, error) {
	if !slices.Contains(order, Rest) {
		order = append(slices.Clone(order), Rest)
	}
	seen := map[string]bool{}
	var out []*Tool
	for _, name := range order {
		if seen[name] {
			return nil, fmt.Errorf("%q is given twice", name)
		}
		seen[name] = true
		if name == Rest {
			out = append(out, s.except(order)...)
			continue
		}
		t, ok := s.Get(name)
		if !ok {
			return nil, fmt.Errorf("there is no tool %q; known tools: %s", name, s.names())
		}
		out = append(out, t)
	}
	return out, nil
}

func (s *Set) except(names []string) []*Tool {
	return slices.DeleteFunc(s.All(), func(t *Tool) bool { return slices.Contains(names, t.Name) })
}

func (s *Set) names() string {
	var out []string
	for _, t := range s.All() {
		out = append(out, t.Name)
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}
