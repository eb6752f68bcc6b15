package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/everturn/everturn/session"
)

// DecidePreStep runs the pre-step gate. Its innermost answer is to enter with the messages that reach it, followed by
// the snapshot if there is one. Nothing of what the gates were given or returned is shared with the result. See
// spec §4.4.
func (d *Definition) DecidePreStep(ctx context.Context, in PreStep, snapshot *session.Message) (Decision, error) {
	enter := func(_ context.Context, in PreStep) (Decision, error) {
		messages := in.Messages
		if snapshot != nil {
			messages = append(slices.Clip(messages), *snapshot)
		}
		return Decision{Messages: cloneMessages(messages)}, nil
	}
	out, err := runGates("pre-step gate", d.PreStep, copyPreStep, nil, enter)(ctx, in)
	if err != nil {
		return Decision{}, err
	}
	out.Messages = cloneMessages(out.Messages)
	return out, nil
}

// DecideRequest runs the request gate. Its innermost answer is the configuration that reaches it. A gate that changes
// what its copy points to fails; it must return a substitute. See spec §4.5.2.
func (d *Definition) DecideRequest(ctx context.Context, in RequestProposal) (session.CallConfig, error) {
	keep := func(_ context.Context, in RequestProposal) (session.CallConfig, error) {
		return copyConfig(in.Config), nil
	}
	same := func(a, b RequestProposal) bool { return reflect.DeepEqual(a, b) }
	out, err := runGates("request gate", d.Request, copyProposal, same, keep)(ctx, in)
	if err != nil {
		return session.CallConfig{}, err
	}
	return copyConfig(out), nil
}

// DecideRecovery runs the recovery gate around the default answer. See spec §4.7.4.
func (d *Definition) DecideRecovery(ctx context.Context, in RequestFailure, byDefault func(context.Context, RequestFailure) (Recovery, error)) (Recovery, error) {
	same := func(a, b RequestFailure) bool { return reflect.DeepEqual(a, b) }
	return runGates("recovery gate", d.RequestError, copyFailure, same, byDefault)(ctx, in)
}

type handler[In, Out any] = func(context.Context, In) (Out, error)

// runGates builds the chain: every gate gets a copy of its own and may call next once. If same is given, a gate that
// changed its copy in place fails.
func runGates[G ~func(context.Context, In, handler[In, Out]) (Out, error), In, Out any](
	name string, gates []G, clone func(In) In, same func(a, b In) bool, last handler[In, Out],
) handler[In, Out] {
	next := last
	for i, gate := range slices.Backward(gates) {
		inner, what := next, fmt.Sprintf("%s %d", name, i+1)
		next = func(ctx context.Context, in In) (Out, error) {
			given := clone(in)
			out, err := runGate(ctx, gate, what, given, inner)
			if err == nil && same != nil && !same(given, in) {
				err = fmt.Errorf("%s changed its copy in place (return a substitute instead)", what)
			}
			return out, err
		}
	}
	return next
}

// runGate contains the panic of one gate and lets it call next once.
func runGate[G ~func(context.Context, In, handler[In, Out]) (Out, error), In, Out any](
	ctx context.Context, gate G, what string, in In, inner handler[In, Out],
) (Out, error) {
	calls := 0
	var nextErr error
	out, err := contain(func() (Out, error) {
		return gate(ctx, in, func(ctx context.Context, in In) (Out, error) {
			if calls++; calls > 1 {
				var none Out
				nextErr = fmt.Errorf("%s called next twice", what)
				return none, nextErr
			}
			out, err := inner(ctx, in)
			if err != nil {
				nextErr = err
			}
			return out, err
		})
	})
	switch {
	case err == nil && calls > 1:
		return out, nextErr
	case err != nil && !errors.Is(err, nextErr): // its own
		return out, fmt.Errorf("%s: %w", what, err)
	}
	return out, err
}

func copyPreStep(in PreStep) PreStep {
	in.View = copyView(in.View)
	in.Messages = cloneMessages(in.Messages)
	return in
}

func copyProposal(in RequestProposal) RequestProposal {
	in.View = copyView(in.View)
	in.Config = copyConfig(in.Config)
	return in
}

func copyFailure(in RequestFailure) RequestFailure {
	in.View = copyView(in.View)
	return in
}

func copyView(v View) View {
	v.Params = slices.Clone(v.Params)
	return v
}

func copyConfig(c session.CallConfig) session.CallConfig {
	if c.Temperature != nil {
		t := *c.Temperature
		c.Temperature = &t
	}
	c.Stop = slices.Clone(c.Stop)
	return c
}

func cloneMessages(in []session.Message) []session.Message {
	out := make([]session.Message, len(in))
	for i, m := range in {
		out[i] = cloneMessage(m)
	}
	return out
}

// cloneMessage shares no memory that could be written with m.
func cloneMessage(m session.Message) session.Message {
	m.Content = cloneContent(m.Content)
	m.Source.Sections = slices.Clone(m.Source.Sections)
	if m.Source.Replay != nil {
		r := *m.Source.Replay
		r.Blocks = slices.Clone(r.Blocks)
		for i, b := range r.Blocks {
			r.Blocks[i] = slices.Clone(b)
		}
		m.Source.Replay = &r
	}
	return m
}

func cloneContent(in session.Content) session.Content {
	out := slices.Clone(in)
	for i, b := range out {
		if r, ok := b.(session.ToolResultBlock); ok {
			r.Content = cloneContent(r.Content)
			out[i] = r
		}
	}
	return out
}
