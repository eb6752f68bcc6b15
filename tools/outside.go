package tools

import (
	"context"
	"encoding/json"
	"time"
)

// Outside says how long the result of a call is waited for that a program outside of the workers runs, see [Result]. Its
// body has told that program what to do, or the program looks for calls that wait.
type Outside struct {
	Deadline time.Duration // 0 means without end
}

// DefaultOutside is how long the result of a [RunOutside] tool is waited for that names no time of its own.
const DefaultOutside = 24 * time.Hour

// RunOutside makes a tool whose calls programs outside of the workers run: the arguments are checked against the schema,
// then the call waits for a result, see signals.GiveResult. deadline 0 means [DefaultOutside]. The body does nothing that
// could be repeated, so the tool is pure.
func RunOutside(name, description string, parameters json.RawMessage, deadline time.Duration, opts ...Option) (*Tool, error) {
	if deadline == 0 {
		deadline = DefaultOutside
	}
	if len(parameters) == 0 {
		parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	wait := func(context.Context, map[string]json.RawMessage) (Result, error) {
		return Result{Outside: &Outside{Deadline: deadline}}, nil
	}
	return New(name, description, wait, append([]Option{WithParameters(parameters), WithEffect(Pure)}, opts...)...)
}
