package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

type (
	nextPre  = func(context.Context) (Verdict, error)
	nextExec = func(context.Context) (tools.Result, error)
	nextPost = func(context.Context) (PostDecision, error)
)

func toolCall() ToolCall {
	return ToolCall{ID: "c1", Name: "t", Arguments: json.RawMessage(`{"n":1}`), View: View{Params: json.RawMessage(`{}`)}}
}

func TestPreGatesNest(t *testing.T) { // §4.8, pipeline 2
	t.Parallel()
	var order []string
	gate := func(name string) ToolPreGate {
		return func(ctx context.Context, in ToolCall, next nextPre) (Verdict, error) {
			require.Equal(t, toolCall(), in)
			order = append(order, name)
			v, err := next(ctx)
			v.Reason += name
			return v, err
		}
	}
	d := Definition{ToolPreExecute: []ToolPreGate{gate("outer"), gate("inner")}}
	v, err := d.DecideCall(t.Context(), toolCall())
	require.NoError(t, err)
	require.Equal(t, []string{"outer", "inner"}, order)
	require.Equal(t, Verdict{Allow, "innerouter"}, v)
}

func TestNoGateAllows(t *testing.T) {
	t.Parallel()
	v, err := new(Definition).DecideCall(t.Context(), toolCall())
	require.NoError(t, err)
	require.Equal(t, Verdict{Kind: Allow}, v)
	p, err := new(Definition).DecideResult(t.Context(), ToolOutcome{Call: toolCall()})
	require.NoError(t, err)
	require.Equal(t, PostDecision{}, p)
}

func TestGuardsHaveTheLastWord(t *testing.T) { // §4.8, pipeline 3
	t.Parallel()
	says := func(reason string) Guard {
		return func(in ToolCall) string {
			in.Arguments[0] = '[' // a copy
			return reason
		}
	}
	for _, kind := range []VerdictKind{Allow, Deny, Ask} {
		d := Definition{
			ToolPreExecute: []ToolPreGate{func(context.Context, ToolCall, nextPre) (Verdict, error) {
				return Verdict{Kind: kind, Reason: "gate"}, nil
			}},
			Guards: []Guard{says(""), says("first"), says("second")},
		}
		call := toolCall()
		v, err := d.DecideCall(t.Context(), call)
		require.NoError(t, err)
		require.Equal(t, Verdict{Deny, "first"}, v)
		require.Equal(t, toolCall(), call)
	}
}

func TestExecuteGatesNest(t *testing.T) { // §4.8, pipeline 5
	t.Parallel()
	var order []string
	gate := func(name string) ToolExecuteGate {
		return func(ctx context.Context, in ToolCall, next nextExec) (tools.Result, error) {
			in.Arguments[0] = '[' // a copy
			order = append(order, name)
			return next(ctx)
		}
	}
	d := Definition{ToolExecute: []ToolExecuteGate{gate("outer"), gate("inner")}}
	out, err := d.Executed(t.Context(), toolCall(), func(context.Context) (tools.Result, error) { return tools.TextResult("ok"), nil })
	require.NoError(t, err)
	require.Equal(t, "ok", out.Content.Text())
	require.Equal(t, []string{"outer", "inner"}, order)
}

func TestTheBodysErrorIsTellableFromAGates(t *testing.T) { // §4.8, pipeline 5
	t.Parallel()
	broken, own := errors.New("broken body"), errors.New("broken gate")
	for name, c := range map[string]struct {
		gate  ToolExecuteGate
		gates bool
		says  string
	}{
		"passed on": {func(ctx context.Context, _ ToolCall, next nextExec) (tools.Result, error) { return next(ctx) }, false, "broken body"},
		"with more text": {func(ctx context.Context, _ ToolCall, next nextExec) (tools.Result, error) {
			_, err := next(ctx)
			return tools.Result{}, errors.Join(own, err)
		}, false, "broken gate\nbroken body"},
		"replaced": {func(ctx context.Context, _ ToolCall, next nextExec) (tools.Result, error) {
			_, _ = next(ctx)
			return tools.Result{}, own
		}, true, "execute gate 1: broken gate"},
		"equal, but its own":  {func(context.Context, ToolCall, nextExec) (tools.Result, error) { return tools.Result{}, broken }, true, "execute gate 1: broken body"},
		"a value of no error": {func(context.Context, ToolCall, nextExec) (tools.Result, error) { panic(42) }, true, "execute gate 1: panic: 42"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Definition{ToolExecute: []ToolExecuteGate{c.gate}}
			_, err := d.Executed(t.Context(), toolCall(), func(context.Context) (tools.Result, error) { return tools.Result{}, broken })
			require.EqualError(t, err, c.says)
			var gates *ExecuteError
			require.Equal(t, c.gates, errors.As(err, &gates))
		})
	}
	_, err := new(Definition).Executed(t.Context(), toolCall(), func(context.Context) (tools.Result, error) { return tools.Result{}, broken })
	require.Equal(t, broken, err)
}

func TestACancelReachesThroughAForeignContext(t *testing.T) { // §4.8, pipeline 5
	t.Parallel()
	reason := errors.New("the user said so")
	ctx, cancel := context.WithCancelCause(t.Context())
	d := Definition{ToolExecute: []ToolExecuteGate{func(_ context.Context, _ ToolCall, next nextExec) (tools.Result, error) {
		return next(context.Background())
	}}}
	_, err := d.Executed(ctx, toolCall(), func(ctx context.Context) (tools.Result, error) {
		cancel(reason)
		<-ctx.Done()
		return tools.Result{}, context.Cause(ctx)
	})
	require.Equal(t, reason, err)
}

func TestPostGatesNest(t *testing.T) { // §4.8, pipeline 7
	t.Parallel()
	outcome := ToolOutcome{Call: toolCall(), Content: session.TextContent("x"), Error: &session.CodedError{Name: "E", Code: "C"}, Meta: json.RawMessage(`1`)}
	gate := func(name string) ToolPostGate {
		return func(ctx context.Context, in ToolOutcome, next nextPost) (PostDecision, error) {
			require.Equal(t, outcome, in)
			p, err := next(ctx)
			p.Contexts = append(p.Contexts, user(name))
			return p, err
		}
	}
	d := Definition{ToolPostExecute: []ToolPostGate{gate("outer"), gate("inner")}}
	p, err := d.DecideResult(t.Context(), outcome)
	require.NoError(t, err)
	require.Equal(t, []string{"inner", "outer"}, ids(p.Contexts))
}

func TestListenersGetCopies(t *testing.T) { // §4.8, pipeline 9
	t.Parallel()
	outcome := ToolOutcome{Call: toolCall(), Content: session.TextContent("x"), Error: &session.CodedError{Code: "C"}}
	heard := 0
	d := Definition{ToolResult: []ToolListener{
		func(o ToolOutcome) { o.Content[0], o.Error.Code = session.Text{}, "" },
		func(ToolOutcome) { panic("contained") },
		func(o ToolOutcome) { require.Equal(t, outcome, o); heard++ },
	}}
	d.Announce(outcome)
	require.Equal(t, 1, heard)
}

func TestHooksContainTheirPanics(t *testing.T) {
	t.Parallel()
	require.EqualError(t, Hook(func(context.Context, Moment) error { panic(1) }).Run(t.Context(), Moment{}), "panic: 1")
	require.EqualError(t, CreatedHook(func(context.Context, View) error { panic(1) }).Run(t.Context(), View{}), "panic: 1")
	_, err := MaintenanceTask(func(context.Context, Maintenance) (any, error) { panic(1) }).Run(t.Context(), Maintenance{})
	require.EqualError(t, err, "panic: 1")
}
