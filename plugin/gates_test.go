package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

type (
	nextPreStep = func(context.Context, PreStep) (Decision, error)
	nextRequest = func(context.Context, RequestProposal) (session.CallConfig, error)
	nextFailure = func(context.Context, RequestFailure) (Recovery, error)
)

func user(id string) session.Message {
	return session.Message{ID: id, Role: session.RoleUser, Content: session.TextContent(id)}
}

func ids(messages []session.Message) (out []string) {
	for _, m := range messages {
		out = append(out, m.ID)
	}
	return out
}

func TestTheFirstGateIsTheOutermost(t *testing.T) { // §1 gate
	t.Parallel()
	var order []string
	gate := func(name string) PreStepGate {
		return func(ctx context.Context, in PreStep, next nextPreStep) (Decision, error) {
			order = append(order, "enter "+name)
			out, err := next(ctx, in)
			order = append(order, "leave "+name)
			out.Messages = append(out.Messages, user(name))
			return out, err
		}
	}
	d := Definition{PreStep: []PreStepGate{gate("outer"), gate("inner")}}
	snapshot := user("snapshot")
	out, err := d.DecidePreStep(t.Context(), PreStep{Messages: []session.Message{user("a")}}, &snapshot)
	require.NoError(t, err)
	require.Equal(t, []string{"enter outer", "enter inner", "leave inner", "leave outer"}, order)
	require.Equal(t, []string{"a", "snapshot", "inner", "outer"}, ids(out.Messages))
}

func TestAGateMayAnswerItself(t *testing.T) {
	t.Parallel()
	d := Definition{PreStep: []PreStepGate{
		func(context.Context, PreStep, nextPreStep) (Decision, error) {
			return Decision{Reject: true, Reason: "r"}, nil
		},
		func(context.Context, PreStep, nextPreStep) (Decision, error) { panic("not reached") },
	}}
	out, err := d.DecidePreStep(t.Context(), PreStep{}, nil)
	require.NoError(t, err)
	require.True(t, out.Reject)
}

func TestAGateThatBreaksTheRulesFails(t *testing.T) {
	t.Parallel()
	for says, gate := range map[string]PreStepGate{
		"pre-step gate 2: broken":              func(context.Context, PreStep, nextPreStep) (Decision, error) { return Decision{}, errors.New("broken") },
		"pre-step gate 2: panic: 42":           func(context.Context, PreStep, nextPreStep) (Decision, error) { panic(42) },
		"pre-step gate 2: panic: nil map":      func(context.Context, PreStep, nextPreStep) (Decision, error) { panic(errors.New("nil map")) },
		"pre-step gate 2 called next twice":    twice,
		"pre-step gate 2: and then: it failed": wrapping,
	} {
		pass := func(ctx context.Context, in PreStep, next nextPreStep) (Decision, error) { return next(ctx, in) }
		fail := func(context.Context, PreStep, nextPreStep) (Decision, error) {
			return Decision{}, errors.New("it failed")
		}
		d := Definition{PreStep: []PreStepGate{pass, gate, fail}}
		_, err := d.DecidePreStep(t.Context(), PreStep{}, nil)
		require.ErrorContains(t, err, says)
	}
}

func twice(ctx context.Context, in PreStep, next nextPreStep) (Decision, error) {
	_, _ = next(ctx, in)
	_, _ = next(ctx, in)
	return Decision{}, nil
}

func wrapping(ctx context.Context, in PreStep, next nextPreStep) (Decision, error) {
	_, err := next(ctx, in)
	return Decision{}, errors.New("and then: " + errors.Unwrap(err).Error())
}

func TestAGateMayMendTheFailureOfAnother(t *testing.T) {
	t.Parallel()
	d := Definition{PreStep: []PreStepGate{
		func(ctx context.Context, in PreStep, next nextPreStep) (Decision, error) {
			if out, err := next(ctx, in); err == nil {
				return out, nil
			}
			return Decision{Messages: in.Messages}, nil
		},
		func(context.Context, PreStep, nextPreStep) (Decision, error) { return Decision{}, errors.New("broken") },
	}}
	out, err := d.DecidePreStep(t.Context(), PreStep{Messages: []session.Message{user("a")}}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids(out.Messages))
}

func TestPreStepGatesMayChangeTheirCopies(t *testing.T) { // C-061
	t.Parallel()
	d := Definition{PreStep: []PreStepGate{func(ctx context.Context, in PreStep, next nextPreStep) (Decision, error) {
		in.Messages[0].Content[0] = session.Text{Text: "changed"}
		in.Messages[0].Source.Sections[0] = "changed"
		in.Messages[0].Source.Replay.Blocks[0][0] = 'x'
		nested := in.Messages[0].Content[1].(session.ToolResultBlock)
		nested.Content[0] = session.Text{Text: "changed"}
		in.View.Params[0] = 'x'
		return next(ctx, in)
	}}}
	m := user("a")
	m.Content = append(m.Content, session.ToolResultBlock{Content: session.TextContent("inner")})
	m.Source.Sections = []string{"s"}
	m.Source.Replay = &session.ReplayState{Blocks: []json.RawMessage{json.RawMessage("1")}}
	in := PreStep{View: View{Params: []byte("{}")}, Messages: []session.Message{m}}
	out, err := d.DecidePreStep(t.Context(), in, nil)
	require.NoError(t, err)
	require.Equal(t, "changed", out.Messages[0].Text())
	require.Equal(t, "a", in.Messages[0].Text())
	require.Equal(t, "s", in.Messages[0].Source.Sections[0])
	require.Equal(t, "1", string(in.Messages[0].Source.Replay.Blocks[0]))
	require.Equal(t, session.TextContent("inner"), in.Messages[0].Content[1].(session.ToolResultBlock).Content)
	require.Equal(t, "{}", string(in.View.Params))
}

func TestRequestGatesReturnSubstitutes(t *testing.T) { // C-077, C-078
	t.Parallel()
	warm := 0.5
	seed := session.CallConfig{Model: "m", Temperature: &warm, Stop: []string{"end"}}
	for name, c := range map[string]struct {
		gate RequestGate
		want string
		err  string
	}{
		"passes on": {func(ctx context.Context, in RequestProposal, next nextRequest) (session.CallConfig, error) {
			return next(ctx, in)
		}, "m", ""},
		"substitute": {func(context.Context, RequestProposal, nextRequest) (session.CallConfig, error) {
			return session.CallConfig{Model: "x"}, nil
		}, "x", ""},
		"changes the answer of next": {func(ctx context.Context, in RequestProposal, next nextRequest) (session.CallConfig, error) {
			out, err := next(ctx, in)
			*out.Temperature, out.Model = 1, "x"
			return out, err
		}, "x", ""},
		"changes its copy": {func(ctx context.Context, in RequestProposal, next nextRequest) (session.CallConfig, error) {
			*in.Config.Temperature = 1
			return next(ctx, in)
		}, "", "request gate 1 changed its copy in place"},
	} {
		d := Definition{Request: []RequestGate{c.gate}}
		out, err := d.DecideRequest(t.Context(), RequestProposal{Config: seed})
		require.InDelta(t, 0.5, *seed.Temperature, 0)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, out.Model, name)
	}
}

func TestRecoveryFallsBackToItsDefault(t *testing.T) { // §4.7.4
	t.Parallel()
	byDefault := func(_ context.Context, in RequestFailure) (Recovery, error) {
		return Recovery{Retry: in.Attempt < 2}, nil
	}
	d := Definition{}
	for attempt, want := range map[int]bool{1: true, 2: false} {
		out, err := d.DecideRecovery(t.Context(), RequestFailure{Attempt: attempt}, byDefault)
		require.NoError(t, err)
		require.Equal(t, want, out.Retry)
	}
	d.RequestError = []RequestErrorGate{func(ctx context.Context, in RequestFailure, next nextFailure) (Recovery, error) {
		in.Attempt = 1
		return next(ctx, in)
	}}
	out, err := d.DecideRecovery(t.Context(), RequestFailure{Attempt: 7}, byDefault)
	require.NoError(t, err)
	require.True(t, out.Retry)
}
