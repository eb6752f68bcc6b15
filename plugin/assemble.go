package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// An Assembled is what a definition says of one proposed step, before any gate. See spec §8.1, §8.2, §8.6.
type Assembled struct {
	System   string               // rendered prompt, maybe empty
	Tools    []session.ToolSchema // in the order the model is told
	Contexts []ContextText        // what has something to say, in order

	// NoSnapshot suppresses the runtime context: this step tells nothing of it, not even that there is none any more.
	NoSnapshot bool
}

// A ContextText is the rendered contribution of one [RuntimeContext].
type ContextText struct {
	Name string
	Text string
}

// Assemble renders the prompt, the tools and the runtime contexts for one step, and lets the assembly gates have their say.
// An error names the part that failed; a panic of a render function is such an error.
func (d *Definition) Assemble(ctx context.Context, v View) (Assembled, error) {
	if len(d.Assembly) == 0 {
		return d.render(ctx, v)
	}
	var whole *string // what the sections come to, if anybody asked
	last := func(ctx context.Context, v View) (Assembled, error) {
		out, err := d.render(ctx, v)
		text := out.System
		whole = &text
		return out, err
	}
	out, err := runGates("assembly gate", d.Assembly, copyView, nil, last)(ctx, v)
	if complete, _ := d.complete(); err == nil && complete != nil && (whole == nil || out.System != *whole) {
		err = fmt.Errorf("prompt section %q is complete: no assembly gate may replace it", complete.Name)
	}
	return out, err
}

func (d *Definition) render(ctx context.Context, v View) (Assembled, error) {
	var out Assembled
	var err error
	if out.System, err = d.prompt(ctx, v); err != nil {
		return Assembled{}, err
	}
	if out.Tools, err = d.schemas(v); err != nil {
		return Assembled{}, err
	}
	if out.Contexts, err = d.contexts(ctx, v); err != nil {
		return Assembled{}, err
	}
	return out, nil
}

// prompt joins the sections in order; a complete one is the entire prompt. See spec §8.1.
func (d *Definition) prompt(ctx context.Context, v View) (string, error) {
	whole, err := d.complete()
	if err != nil {
		return "", err
	}
	if whole != nil {
		return d.section(ctx, v, *whole)
	}
	var parts []string
	for _, s := range sortedBy(d.Sections, func(s Section) float64 { return s.Order }) {
		text, err := d.section(ctx, v, s)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(text) != "" {
			parts = append(parts, strings.Trim(text, "\n"))
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

func (d *Definition) complete() (*Section, error) {
	var whole *Section
	for i, s := range d.Sections {
		if !s.Complete {
			continue
		}
		if whole != nil {
			return nil, fmt.Errorf("prompt: sections %q and %q are both complete; only one can be the entire prompt", whole.Name, s.Name)
		}
		whole = &d.Sections[i]
	}
	return whole, nil
}

// section renders one section and puts the values of its references in their places.
func (d *Definition) section(ctx context.Context, v View, s Section) (string, error) {
	text := s.Text
	if s.Render != nil {
		var err error
		if text, err = contain(func() (string, error) { return s.Render(ctx, v) }); err != nil {
			return "", fmt.Errorf("prompt section %q: %w", s.Name, err)
		}
	}
	text, err := substitute(text, func(name string) (string, error) { return d.variable(ctx, v, name) })
	if err != nil {
		return "", fmt.Errorf("prompt section %q: %w", s.Name, err)
	}
	return text, nil
}

// variable computes a reference. provider, model and cwd are always known.
func (d *Definition) variable(ctx context.Context, v View, name string) (string, error) {
	if fn := d.Variables[name]; fn != nil {
		value, err := contain(func() (string, error) { return fn(ctx, v) })
		if err != nil {
			return "", fmt.Errorf("variable %q: %w", name, err)
		}
		return value, nil
	}
	builtin := map[string]string{"provider": v.Provider, "model": v.Model, "cwd": v.CWD}
	value, known := builtin[name]
	if !known {
		return "", fmt.Errorf("unknown variable %q (register it in the definition's Variables)", name)
	}
	if value == "" {
		return "", fmt.Errorf("variable %q has no value", name)
	}
	return value, nil
}

// substitute replaces every {{name}}. What it puts in is not read again; an opening without any later closing is text.
func substitute(text string, value func(name string) (string, error)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		name, after, closed := strings.Cut(rest, "}}")
		if !found || !closed {
			out.WriteString(text)
			return out.String(), nil
		}
		if !validName(name) {
			return "", fmt.Errorf("malformed reference {{%.60s}}: want {{name}} with letters, digits, '_', '-' and '.'", name)
		}
		v, err := value(name)
		if err != nil {
			return "", err
		}
		out.WriteString(before)
		out.WriteString(v)
		text = after
	}
}

func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && r != '_' && r != '-' && r != '.'
	})
}

// schemas is what the model is told of the tools. See spec §8.2.
func (d *Definition) schemas(v View) ([]session.ToolSchema, error) {
	set, err := tools.NewSet(d.Tools...)
	if err != nil {
		return nil, err
	}
	all, err := set.Schemas(d.ToolOrder)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t session.ToolSchema) bool { return d.Hides(v, t.Name) }), nil
}

// Hides reports whether a tool is kept from the agent; a panic of [Definition.Hide] hides it.
func (d *Definition) Hides(v View, tool string) bool {
	if d.Hide == nil {
		return false
	}
	hidden, err := contain(func() (bool, error) { return d.Hide(copyView(v), tool), nil })
	return hidden || err != nil
}

// contexts renders what the runtime contexts have to say. See spec §8.6.
func (d *Definition) contexts(ctx context.Context, v View) ([]ContextText, error) {
	var out []ContextText
	for _, c := range sortedBy(d.Contexts, func(c RuntimeContext) float64 { return c.Order }) {
		if c.Render == nil {
			continue
		}
		text, err := contain(func() (string, error) { return c.Render(ctx, v) })
		if err != nil {
			return nil, fmt.Errorf("runtime context %q: %w", c.Name, err)
		}
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, ContextText{Name: c.Name, Text: text})
		}
	}
	return out, nil
}

// sortedBy orders by rank, ties by registration.
func sortedBy[T any](items []T, rank func(T) float64) []T {
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b T) int {
		switch x, y := rank(a), rank(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return out
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// contain turns a panic of user code into an error with the panic's text.
func contain[T any](f func() (T, error)) (out T, err error) {
	defer func() {
		if v := recover(); v != nil {
			var none T
			out, err = none, panicked(v)
		}
	}()
	return f()
}

func panicked(v any) error {
	if err, ok := v.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return errors.New("panic: " + fmt.Sprint(v))
}
