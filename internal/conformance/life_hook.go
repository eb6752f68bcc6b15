package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/everturn/everturn/plugin"
)

// hooks are what the hooks of an agent's life do, one line for each hook.
type hooks struct{ created, started [][]deed }

// birthHook reads `created: DEEDS` and `session-start: DEEDS`.
func birthHook(kind string) func(*setup, []string, string) error {
	return func(s *setup, _ []string, value string) error {
		deeds, err := s.parseDeeds(kind, &words{value})
		if kind == "created" {
			s.hooks.created = append(s.hooks.created, deeds)
		} else {
			s.hooks.started = append(s.hooks.started, deeds)
		}
		return err
	}
}

// birthHooks completes the definition.
func (w *world) birthHooks(d *plugin.Definition) {
	for i, deeds := range w.hooks.created {
		d.Created = append(d.Created, func(ctx context.Context, _ plugin.View) error { return w.hook(ctx, "created", i+1, deeds) })
	}
	for i, deeds := range w.hooks.started {
		d.SessionStart = append(d.SessionStart, func(ctx context.Context, _ plugin.Moment) error { return w.hook(ctx, "session-start", i+1, deeds) })
	}
	if len(w.private) > 0 {
		d.Hide = func(v plugin.View, tool string) bool {
			owner, ok := w.private[tool]
			return ok && w.named(v.Session) != owner
		}
	}
}

// hook notes that the n-th hook begins, and that it ended well.
func (w *world) hook(ctx context.Context, kind string, n int, deeds []deed) error {
	w.gateLog.add(kind, fmt.Sprintf("+%d", n))
	for _, d := range deeds {
		if _, err := w.common(ctx, d); err != nil {
			return err
		}
	}
	w.gateLog.add(kind, fmt.Sprintf("-%d", n))
	return nil
}

// private reads `private TOOL: NAME`: only that agent has the tool.
func (s *setup) privately(args []string, value string) error {
	if len(args) != 1 || !slices.ContainsFunc(s.tools, func(t *toolSpec) bool { return t.name == args[0] }) {
		return fmt.Errorf("want `private TOOL: NAME`, after the tool")
	}
	if s.private == nil {
		s.private = map[string]string{}
	}
	s.private[args[0]] = value
	return nil
}

// named is the name of the agent that has an id.
func (w *world) named(id string) string {
	name, ok := w.names.Load(id)
	if !ok {
		return ""
	}
	return name.(string)
}
