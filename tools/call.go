package tools

import (
	"context"
	"encoding/json"
)

// A Call identifies the running call.
type Call struct {
	Session string
	Turn    int
	Step    int
	ID      string // the model's call id
	Key     string // idempotency key, stable over retries and rollovers
	Try     int    // execution number, from 1

	Plan   bool            // plan mode is on
	Params json.RawMessage // recorded at Create, for the agent; nil: none
}

type callKey struct{}

// WithCall returns a context that carries the call to the tool.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallFrom returns the call a tool runs for, and false outside a call.
func CallFrom(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(Call)
	return c, ok
}
