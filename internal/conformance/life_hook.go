package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// hooks are what the hooks of an agent's life do, one line for each hook.
type hooks struct{ created, started []hookSpec }

// A hookSpec is one hook; n is when it does something, 0 always.
type hookSpec struct {
	n     int
	deeds []deed
	calls *atomic.Int32
}

// birthHook reads `created [N]: DEEDS` and `session-start [N]: DEEDS`; with N only the N-th call does something.
func birthHook(kind string) func(*setup, []string, string) error {
	return func(s *setup, args []string, value string) (err error) {
		spec := hookSpec{calls: &atomic.Int32{}}
		if len(args) > 0 {
			if spec.n, err = strconv.Atoi(args[0]); err != nil {
				return err
			}
		}
		spec.deeds, err = s.parseDeeds(kind, &words{value})
		if kind == "created" {
			s.hooks.created = append(s.hooks.created, spec)
		} else {
			s.hooks.started = append(s.hooks.started, spec)
		}
		return err
	}
}

// announcements are what was said of births and ends, in order.
type announcements struct {
	mu      sync.Mutex
	said    []string
	told    []string // of whom as well, one for each of said
	gone    []string // ids of the disposed agents
	retells bool     // see notices
}

func (a *announcements) add(name, id string) {
	switch name {
	case stream.NoticeSession, stream.NoticeCreated, stream.NoticeDisposed, stream.NoticeSessionGone:
		a.mu.Lock()
		defer a.mu.Unlock()
		a.said, a.told = append(a.said, name), append(a.told, name+" "+id)
		if k := repetition(a.told, nil); a.retells {
			a.said, a.told = a.said[:len(a.said)-k], a.told[:len(a.told)-k]
		}
		if name == stream.NoticeDisposed && !slices.Contains(a.gone, id) { // told at least once, D18
			a.gone = append(a.gone, id)
		}
	}
}

// ends names the agents that were disposed of, in that order.
func (a *announcements) ends(name func(id string) string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, id := range a.gone {
		out = append(out, name(id))
	}
	return out
}

func (a *announcements) words() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.said) == 0 {
		return "none"
	}
	return strings.Join(a.said, " ")
}

// parseAnnounced reads `announced: session/created agent/created …`, everything so far.
func parseAnnounced(_ []string, rest string) (*watch, error) {
	return arriving(named("announced:", rest, func(_ context.Context, r *run) (string, error) { return r.announced.words(), nil }))
}

// parsePending reads `pending next-step: a; next-turn: b`, the inbox that the log yields, whether or not an agent lives.
func parsePending(args []string, rest string) (*watch, error) {
	want := strings.Join(args, " ")
	if rest != "" {
		want += ": " + rest
	}
	return named("pending", want, func(ctx context.Context, r *run) (string, error) {
		s, err := r.fold(ctx)
		if err != nil {
			return "", err
		}
		var all []signals.Pending
		for _, m := range s.Inbox().NextStep {
			all = append(all, signals.Pending{ID: m.ID, Target: session.NextStep})
		}
		for _, m := range s.Inbox().NextTurn {
			all = append(all, signals.Pending{ID: m.ID, Target: session.NextTurn})
		}
		return inboxWords(all), nil
	})
}

// birthHooks completes the definition.
func (w *world) birthHooks(d *plugin.Definition) {
	for i, h := range w.hooks.created {
		d.Created = append(d.Created, func(ctx context.Context, _ plugin.View) error { return w.hook(ctx, "created", i+1, h) })
	}
	for i, h := range w.hooks.started {
		d.SessionStart = append(d.SessionStart, func(ctx context.Context, _ plugin.Moment) error { return w.hook(ctx, "session-start", i+1, h) })
	}
	if len(w.private) > 0 {
		d.Hide = func(v plugin.View, tool string) bool {
			owner, ok := w.private[tool]
			return ok && w.named(v.Session) != owner
		}
	}
}

// hook notes that the n-th hook begins, and that it ended well.
func (w *world) hook(ctx context.Context, kind string, n int, h hookSpec) error {
	call := int(h.calls.Add(1))
	w.gateLog.add(kind, fmt.Sprintf("+%d", n))
	for _, d := range h.deeds {
		if h.n > 0 && h.n != call {
			break
		}
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
