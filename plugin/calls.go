package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// A ToolCall is a call of the model on its way through the gates. It cannot be rewritten: gates get copies, and a gate
// that changes its copy in place fails. View names the route the agent declares, not the one of the request.
type ToolCall struct {
	View      View
	ID        string
	Name      string
	Arguments json.RawMessage // {} for none; text that is no JSON is a JSON string of it
}

// A VerdictKind says what a [Verdict] comes to.
type VerdictKind string

// The verdicts. The zero value is none of them: a gate that forgets to answer keeps the tool from running.
const (
	Allow VerdictKind = "allow"
	Deny  VerdictKind = "deny" // the model reads the reason
	Ask   VerdictKind = "ask"  // a person decides, see [Definition.Approval]
)

// A Verdict says whether a call may run. See spec §4.8, pipeline 2.
type Verdict struct {
	Kind   VerdictKind
	Reason string
}

// A ToolPreGate decides about a call before its body runs; its innermost answer is to allow. An error keeps the body
// from running, and the post stage too. See spec §4.8, pipeline 2 and 4.
type ToolPreGate func(ctx context.Context, in ToolCall, next func(context.Context) (Verdict, error)) (Verdict, error)

// A Guard may refuse a call: any reason that is not empty denies. Guards are asked after the gate, whatever it said, and
// again before the body runs, since a person's approval may be old by then. They must be quick and do no I/O. See
// spec §4.8, pipeline 3.
type Guard func(in ToolCall) (reason string)

// A ToolExecuteGate wraps the body of a tool, for example with a time limit, another try or a measurement: it may call
// next several times and with a context of its own, in which the caller's cancellation survives. An error that the
// body did not return is a failure of the gate: the post stage is left out. See spec §4.8, pipeline 5.
type ToolExecuteGate func(ctx context.Context, in ToolCall, next func(context.Context) (tools.Result, error)) (tools.Result, error)

// A ToolOutcome is what became of a call.
type ToolOutcome struct {
	Call      ToolCall
	Content   session.Content
	IsError   bool
	Error     *session.CodedError
	Meta      json.RawMessage
	Concludes bool // the turn
}

// A PostDecision is what the post stage makes of an outcome. The zero value accepts it as it is. See spec §4.8,
// pipeline 7.
type PostDecision struct {
	Block    bool   // make it an error result of the feedback
	Feedback string // block

	Content session.Content // accept: in the place of the outcome's, unless nil
	Value   any             // accept, of a success: shown as a tool's own answer would be, unless nil

	Contexts []session.Message // user messages of the next step, after the tool's own, which a block drops
}

// A ToolPostGate judges an outcome. An error makes it an error result. See spec §4.8, pipeline 7.
type ToolPostGate func(ctx context.Context, in ToolOutcome, next func(context.Context) (PostDecision, error)) (PostDecision, error)

// A ToolListener learns of final outcomes, at least once each. Its panic is contained. See spec §4.8, pipeline 9.
type ToolListener func(ToolOutcome)

// DecideCall runs the pre-execute gate and then the guards. A guard's reason is never overruled. See spec §4.8,
// pipeline 2 and 3.
func (d *Definition) DecideCall(ctx context.Context, in ToolCall) (Verdict, error) {
	allow := func(context.Context, ToolCall) (Verdict, error) { return Verdict{Kind: Allow}, nil }
	out, err := runGates("pre-execute gate", fixed(d.ToolPreExecute), copyCall, sameCall, allow)(ctx, in)
	switch {
	case err != nil:
		return Verdict{}, err
	case out.Kind != Allow && out.Kind != Deny && out.Kind != Ask:
		return Verdict{}, fmt.Errorf("pre-execute gate: verdict %.40q: use allow, deny or ask", out.Kind)
	}
	reason, err := d.Objection(in)
	switch {
	case err != nil:
		return Verdict{}, err
	case reason != "":
		return Verdict{Kind: Deny, Reason: reason}, nil
	}
	return out, nil
}

// Objection is the reason of the first guard that has one. See spec §4.8, pipeline 3.
func (d *Definition) Objection(in ToolCall) (string, error) {
	for i, guard := range d.Guards {
		reason, err := contain(func() (string, error) { return guard(copyCall(in)), nil })
		if err != nil {
			return "", fmt.Errorf("guard %d: %w", i+1, err)
		}
		if reason != "" {
			return reason, nil
		}
	}
	return "", nil
}

// An ExecuteError is a failure of an execute gate, not of the tool that it wraps.
type ExecuteError struct{ Err error }

func (e *ExecuteError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *ExecuteError) Unwrap() error { return e.Err }

// bodyError is the tool's own failure on its way through the gates.
type bodyError struct{ error }

func (e *bodyError) Unwrap() error { return e.error }

// Executed runs the body within the execute gates. The error is the body's, maybe with what gates said about it, or an
// [*ExecuteError]. See spec §4.8, pipeline 5.
func (d *Definition) Executed(ctx context.Context, in ToolCall, body func(context.Context) (tools.Result, error)) (tools.Result, error) {
	next := func(ctx context.Context) (tools.Result, error) {
		out, err := body(ctx)
		if err != nil {
			err = &bodyError{err}
		}
		return out, err
	}
	for i, gate := range slices.Backward(d.ToolExecute) {
		next = wrapped(gate, fmt.Sprintf("execute gate %d", i+1), in, next)
	}
	out, err := next(ctx)
	var own *bodyError
	switch {
	case err == nil:
		return out, nil
	case !errors.As(err, &own):
		return tools.Result{}, &ExecuteError{err}
	case err == error(own):
		return out, own.error
	}
	return out, err
}

// wrapped is the body within one gate. What goes inwards is cancelled with the gate itself, whatever context it uses.
func wrapped(gate ToolExecuteGate, what string, in ToolCall, inner func(context.Context) (tools.Result, error)) func(context.Context) (tools.Result, error) {
	return func(ctx context.Context) (tools.Result, error) {
		out, err := contain(func() (tools.Result, error) {
			return gate(ctx, copyCall(in), func(given context.Context) (tools.Result, error) {
				joined, leave := under(ctx, given)
				defer leave()
				return inner(joined)
			})
		})
		var own *bodyError
		if err != nil && !errors.As(err, &own) {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return out, err
	}
}

// under is ctx, cancelled with its caller too.
func under(caller, ctx context.Context) (context.Context, func()) {
	joined, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(caller, func() { cancel(context.Cause(caller)) })
	return joined, func() {
		stop()
		cancel(nil)
	}
}

// DecideResult runs the post-execute gate. See spec §4.8, pipeline 7.
func (d *Definition) DecideResult(ctx context.Context, in ToolOutcome) (PostDecision, error) {
	accept := func(context.Context, ToolOutcome) (PostDecision, error) { return PostDecision{}, nil }
	same := func(a, b ToolOutcome) bool { return reflect.DeepEqual(a, b) }
	out, err := runGates("post-execute gate", fixed(d.ToolPostExecute), copyOutcome, same, accept)(ctx, in)
	if err == nil {
		err = out.check(in.IsError)
	}
	if err != nil {
		return PostDecision{}, err
	}
	out.Content = cloneContent(out.Content)
	if len(out.Contexts) > 0 {
		out.Contexts = cloneMessages(out.Contexts)
	}
	return out, nil
}

// check refuses a decision that says two things.
func (p PostDecision) check(failed bool) error {
	replaces := p.Content != nil || p.Value != nil
	switch {
	case p.Block && replaces:
		return errors.New("post-execute gate: it blocks and replaces (use one of them)")
	case p.Content != nil && p.Value != nil:
		return errors.New("post-execute gate: it replaces content and value (use one of them)")
	case p.Value != nil && failed:
		return errors.New("post-execute gate: a failed call has no value (replace the content)")
	}
	return nil
}

// Announce tells the listeners of a final outcome. See spec §4.8, pipeline 9.
func (d *Definition) Announce(out ToolOutcome) {
	for _, listen := range d.ToolResult {
		_, _ = contain(func() (struct{}, error) { // a failing listener affects nothing
			listen(copyOutcome(out))
			return struct{}{}, nil
		})
	}
}

// fixed makes gates that cannot alter what they are given fit into a chain.
func fixed[G ~func(context.Context, In, func(context.Context) (Out, error)) (Out, error), In, Out any](gates []G) []func(context.Context, In, handler[In, Out]) (Out, error) {
	var out []func(context.Context, In, handler[In, Out]) (Out, error)
	for _, gate := range gates {
		out = append(out, func(ctx context.Context, in In, next handler[In, Out]) (Out, error) {
			return gate(ctx, in, func(ctx context.Context) (Out, error) { return next(ctx, in) })
		})
	}
	return out
}

func sameCall(a, b ToolCall) bool { return reflect.DeepEqual(a, b) }

func copyCall(c ToolCall) ToolCall {
	c.View = copyView(c.View)
	c.Arguments = slices.Clone(c.Arguments)
	return c
}

func copyOutcome(o ToolOutcome) ToolOutcome {
	o.Call = copyCall(o.Call)
	o.Content = cloneContent(o.Content)
	o.Meta = slices.Clone(o.Meta)
	if o.Error != nil {
		e := *o.Error
		o.Error = &e
	}
	return o
}
