package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// New makes a tool from a function.
//
// The schema is that of the Go type In, which must be an object: a struct, or a map with string keys. A field is
// required unless it is tagged omitempty or omitzero; its description is the tag `jsonschema:"…"`. The answer Out is
// shown to the model as text if it is a string, as it is if it is a [Result], and as JSON text otherwise; an answer that
// has no JSON form fails with code [InvalidOutput].
func New[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts ...Option) (*Tool, error) {
	t := &Tool{Name: name, Description: description}
	for _, opt := range opts {
		opt(t)
	}
	if fn == nil {
		return nil, fmt.Errorf("tool %q: no function", name)
	}
	if t.Effect == "" {
		t.Effect = Once
	}
	c, err := contractOf[In](t)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", name, err)
	}
	t.Validate = func(args json.RawMessage) error { return check[In](c, args) }
	t.Run = func(ctx context.Context, args json.RawMessage) (Result, error) {
		return contain(name, func() (Result, error) { return run(ctx, name, fn, args) })
	}
	if err := t.validate(); err != nil {
		return nil, err
	}
	return t, nil
}

// Must is for tools made when a program starts: it panics on an error of [New].
func Must(t *Tool, err error) *Tool {
	if err != nil {
		panic(err)
	}
	return t
}

func run[In, Out any](ctx context.Context, name string, fn func(context.Context, In) (Out, error), args json.RawMessage) (Result, error) {
	var in In
	if err := json.Unmarshal(args, &in); err != nil {
		return Result{}, invalidArgs(name, "", err.Error(), err)
	}
	out, err := fn(ctx, in)
	if err != nil {
		return Result{}, err
	}
	return resultOf(name, out)
}

// validate refuses a tool that cannot work and names the fix.
func (t *Tool) validate() error {
	if err := t.problem(); err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	return nil
}

func (t *Tool) problem() error {
	switch {
	case !validName.MatchString(t.Name):
		return errors.New("the name must be 1 to 64 letters, digits, _ or -")
	case t.Run == nil:
		return errors.New("no Run function; make tools with tools.New")
	case t.Timeout < 0:
		return fmt.Errorf("timeout %v is negative", t.Timeout)
	case t.Effect == Reconcile && t.Reconcile == nil:
		return errors.New("effect class reconcile needs WithReconcile")
	case t.Effect != Reconcile && t.Reconcile != nil:
		return fmt.Errorf("a Reconcile function contradicts effect class %q", t.Effect)
	}
	switch t.Effect {
	case "", Once, Pure, Keyed, Reconcile:
	default:
		return fmt.Errorf("unknown effect class %q; use once, pure, keyed or reconcile", t.Effect)
	}
	return nil
}
