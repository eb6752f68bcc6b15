package activities

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// sends is a hook that says something to its agent.
func sends(text string) plugin.Hook {
	return func(ctx context.Context, m plugin.Moment) error {
		plugin.AgentFrom(ctx).Inject(session.Message{Content: session.TextContent(text)})
		return nil
	}
}

func fails(err error) plugin.Hook { return func(context.Context, plugin.Moment) error { return err } }

func ids(acts []work.Act) (out []string) {
	for _, a := range acts {
		out = append(out, a.Message.ID)
	}
	return out
}

func TestHooksRunInOrder(t *testing.T) { // §4.9.4, §6.1.6, C-192, C-193, C-285, C-270
	t.Parallel()
	for name, c := range map[string]struct {
		point string
		hooks []plugin.Hook
		acts  []string
		fails string
	}{
		"stopping":              {work.HookTurnStopping, []plugin.Hook{sends("a"), sends("b")}, []string{"act-1-3.2-turn-stopping1-1", "act-1-3.2-turn-stopping2-1"}, ""},
		"stopping, one fails":   {work.HookTurnStopping, []plugin.Hook{sends("a"), fails(errors.New("broken")), sends("b")}, []string{"act-1-3.2-turn-stopping1-1"}, "turn-stopping hook 2: broken"},
		"stopping, one panics":  {work.HookTurnStopping, []plugin.Hook{func(context.Context, plugin.Moment) error { panic(42) }}, nil, "turn-stopping hook 1: panic: 42"},
		"session":               {work.HookSessionStart, []plugin.Hook{sends("a")}, []string{"act-1-3.2-session-start1-1"}, ""},
		"session, one fails":    {work.HookSessionStart, []plugin.Hook{fails(errors.New("broken")), sends("b")}, []string{"act-1-3.2-session-start2-1"}, ""},
		"nothing is registered": {work.HookSessionStart, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, define(func(d *plugin.Definition) {
				d.SessionStart, d.TurnStopping = c.hooks, c.hooks
			}))
			out, err := b.a.Hook(b.ctx, work.HookIn{ID: "hook-1", Ident: b.ident(), Point: c.point, Turn: 3, N: 2})
			require.NoError(t, err)
			require.Equal(t, c.acts, ids(out.Acts))
			require.Equal(t, b.a.kinds[agent].manifest.Digest, out.Worker.Manifest)
			if c.fails == "" {
				require.Nil(t, out.Failure)
				return
			}
			require.Equal(t, &session.Failure{Code: work.CodeUnknown, Message: c.fails}, out.Failure)
		})
	}
}

func TestAHookKnowsItsMoment(t *testing.T) {
	t.Parallel()
	var got plugin.Moment
	b := newBench(t, define(func(d *plugin.Definition) {
		d.TurnStopping = []plugin.Hook{func(_ context.Context, m plugin.Moment) error { got = m; return nil }}
	}))
	_, err := b.a.Hook(b.ctx, work.HookIn{Ident: b.ident(), Point: work.HookTurnStopping, Turn: 3, N: 2})
	require.NoError(t, err)
	require.Equal(t, plugin.Moment{N: 2, View: plugin.View{Session: sess, Turn: 3, Provider: "scripted", Model: "test"}}, got)
}

func TestAStoppedWorkerLeavesItsHooksToAnother(t *testing.T) { // A3.15
	t.Parallel()
	b := newBench(t)
	b.use(&plugin.Definition{Name: agent, TurnStopping: []plugin.Hook{func(ctx context.Context, _ plugin.Moment) error {
		b.cancel()
		return ctx.Err()
	}}}, scripted.Model{})
	in := work.HookIn{Ident: b.ident(), Point: work.HookTurnStopping, Turn: 1, N: 1}
	out, err := b.a.Hook(b.ctx, in)
	require.NoError(t, err) // the agent was cancelled
	require.NotNil(t, out.Failure)
	b.stopped = errors.New("worker draining")
	_, err = b.a.Hook(b.ctx, in)
	require.ErrorIs(t, err, b.stopped)
}

// created is a hook that notes its name and maybe fails.
func created(order *[]string, name string, err error) plugin.CreatedHook {
	return func(ctx context.Context, v plugin.View) error {
		*order = append(*order, name)
		plugin.AgentFrom(ctx).Followup(session.Message{Content: session.TextContent(v.CWD)})
		return err
	}
}

func TestCreatedHooksTakePartInTheBirth(t *testing.T) { // §6.1.5, C-281, C-283
	t.Parallel()
	var order []string
	b := newBench(t, define(func(d *plugin.Definition) {
		d.Created = []plugin.CreatedHook{created(&order, "A", nil), created(&order, "B", nil)}
		d.SessionStart = []plugin.Hook{sends("x")}
		d.Maintenance = map[string]plugin.MaintenanceTask{"z": idleTask, "a": idleTask}
	}))
	in := b.birth()
	in.Spec.CWD = "/somewhere"
	out, err := b.a.Setup(b.ctx, in)
	require.NoError(t, err)
	require.Equal(t, []string{"act-1-created1-1", "act-1-created2-1"}, ids(out.Acts))
	require.Equal(t, "/somewhere", out.Acts[0].Message.Text())
	require.True(t, out.Manifest.SessionStart)
	require.False(t, out.Manifest.TurnStopping)
	require.Equal(t, []string{"a", "z"}, out.Manifest.Tasks)

	again, err := b.a.Setup(b.ctx, in) // as a retried activity
	require.NoError(t, err)
	require.Equal(t, out, again)
	require.Equal(t, []string{"A", "B"}, order)
}

func TestAFailingCreatedHookUndoesTheBirth(t *testing.T) { // §6.1.5, C-282, C-286
	t.Parallel()
	for says, hook := range map[string]plugin.CreatedHook{
		"created hook 2: not today": func(context.Context, plugin.View) error { return errors.New("not today") },
		"created hook 2: panic: oh": func(context.Context, plugin.View) error { panic("oh") },
	} {
		var order []string
		fail := true
		b := newBench(t, define(func(d *plugin.Definition) {
			d.Created = []plugin.CreatedHook{created(&order, "A", nil), func(ctx context.Context, v plugin.View) error {
				if fail {
					return hook(ctx, v)
				}
				return nil
			}, created(&order, "C", nil)}
		}))
		_, err := b.a.Setup(b.ctx, b.birth())
		var refusal *Refusal
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, work.ErrCreatedHook, refusal.Kind)
		require.Equal(t, says, refusal.Err.Error())
		require.Equal(t, []string{"A"}, order)
		_, err = b.store.Header(t.Context(), sess)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = b.store.HighestEpoch(t.Context(), sess)
		require.ErrorIs(t, err, store.ErrNotFound)

		fail = false // the id is free again
		in := b.birth()
		in.CreatedAt++
		_, err = b.a.Setup(b.ctx, in)
		require.NoError(t, err)
		require.Equal(t, []string{"A", "A", "C"}, order)
	}
}

func TestATakenIdIsRefusedBeforeItsHooks(t *testing.T) { // §6.1.3, C-287
	t.Parallel()
	var order []string
	b := newBench(t, define(func(d *plugin.Definition) { d.Created = []plugin.CreatedHook{created(&order, "A", nil)} }))
	require.NoError(t, b.store.PutHeader(t.Context(), session.Header{Version: 1, ID: sess, CreatedAt: 1}))
	_, err := b.a.Setup(b.ctx, b.birth())
	require.ErrorContains(t, err, "exists in this store already")
	require.Empty(t, order)
}

func TestABirthThatCannotBeRecordedIsTriedAgain(t *testing.T) {
	t.Parallel()
	var order []string
	b := newBench(t, define(func(d *plugin.Definition) { d.Created = []plugin.CreatedHook{created(&order, "A", nil)} }))
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "epochs/"}, errors.New("disk full"), 1)
	_, err := b.a.Setup(b.ctx, b.birth())
	require.ErrorContains(t, err, "disk full")
	out, err := b.a.Setup(b.ctx, b.birth())
	require.NoError(t, err)
	require.Len(t, out.Acts, 1)
	require.Equal(t, []string{"A"}, order) // not twice
}

func TestAnInvalidDefinitionIsNamed(t *testing.T) {
	t.Parallel()
	for says, d := range map[string]plugin.Definition{
		`approval: policy is "sometimes"`:                                            {Approval: &plugin.Approval{Policy: "sometimes"}},
		"approval: rule 1 of allow: name the tool":                                   {Approval: &plugin.Approval{Allow: []plugin.Rule{{}}}},
		"approval: rule 2 of allow: name the tool, and the argument of each pattern": {Approval: &plugin.Approval{Allow: []plugin.Rule{{Tool: "t"}, {Tool: "t", Args: map[string]string{"": "x"}}}}},
		"approval: allow has at most 64 rules of 8192 bytes in all":                  {Approval: &plugin.Approval{Allow: slices.Repeat([]plugin.Rule{{Tool: "t"}}, 65)}},
		`maintenance task "a b"`:                                                     {Maintenance: map[string]plugin.MaintenanceTask{"a b": idleTask}},
		`maintenance task "a" is`:                                                    {Maintenance: map[string]plugin.MaintenanceTask{"a": nil}},
	} {
		d.Name = "d"
		require.ErrorContains(t, d.Validate(), says)
	}
}
