package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/everturn/everturn/session"
)

// An Option sets a trait of a tool made by [New].
type Option func(*Tool)

// ParallelSafe declares that any call of the tool may run beside others.
func ParallelSafe() Option {
	return ParallelIf(func(json.RawMessage) bool { return true })
}

// ParallelIf declares that a call may run beside others when safe says so for its arguments.
func ParallelIf(safe func(args json.RawMessage) bool) Option {
	return func(t *Tool) { t.Parallel = safe }
}

// WithEffect sets the effect class. [Reconcile] is set by [WithReconcile].
func WithEffect(e Effect) Option {
	return func(t *Tool) { t.Effect = e }
}

// WithTimeout limits one execution.
func WithTimeout(d time.Duration) Option {
	return func(t *Tool) { t.Timeout = d }
}

// WithQueue runs the tool on a Temporal task queue of its own.
func WithQueue(queue string) Option {
	return func(t *Tool) { t.Queue = queue }
}

// WithReconcile gives the function that says what became of an effect, and sets effect class [Reconcile].
func WithReconcile(fn func(ctx context.Context, key string) (result Result, done bool, err error)) Option {
	return func(t *Tool) { t.Effect, t.Reconcile = Reconcile, fn }
}

// WithParameters replaces the schema derived from the Go type, for example to name an enumeration. The arguments of a
// tool with a given schema may be of any Go type that its values decode into.
func WithParameters(schema json.RawMessage) Option {
	return func(t *Tool) { t.Parameters = bytes.Clone(schema) }
}

// WithFinal gives the function that transforms the content of every outcome last of all.
func WithFinal(fn func(content session.Content) session.Content) Option {
	return func(t *Tool) { t.Final = fn }
}

// WithAnswered gives the function that makes the result of a call from what people answered.
func WithAnswered(fn func(ctx context.Context, answers []Answer) (Result, error)) Option {
	return func(t *Tool) { t.Answered = fn }
}

// KeepWhole shows the model results of any size in full.
func KeepWhole() Option {
	return func(t *Tool) { t.KeepWhole = true }
}

// NeedsApproval declares that a person must let each call run, and why, which that person reads. Where nobody can be asked
// the calls are denied. See plugin.Approval.
func NeedsApproval(reason string) Option {
	return func(t *Tool) { t.NeedsApproval = cmp.Or(reason, "every call of this tool needs an approval") }
}
