package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/everturn/everturn/session"
)

// An Effect class says what happens to a call whose worker died. See the package comment.
type Effect string

// The effect classes. The zero value means Once.
const (
	Once      Effect = "once"      // never repeated; the effect ledger says what became of it
	Pure      Effect = "pure"      // no side effect: retried
	Keyed     Effect = "keyed"     // idempotent under the key it is given: retried
	Reconcile Effect = "reconcile" // the tool's Reconcile function says what became of it
)

// DefaultTimeout limits one execution of a tool that names no timeout of its own.
const DefaultTimeout = 5 * time.Minute

// ReadArtifactName is the name of the tool that reads stored bodies in parts. An agent that has it is told to use it for
// results that are too large to be shown in full. See spec §9.4.
const ReadArtifactName = "read_artifact"

// A Tool is something an agent can do. Make one with [New]. It is read-only once an agent can see it.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments

	Effect  Effect
	Timeout time.Duration // of one execution, enforced by whoever runs the tool; 0 means DefaultTimeout
	Queue   string        // Temporal task queue of its own, or empty

	// Parallel reports whether a call with these arguments may run beside others. Nil means never. Ask with
	// [Tool.ParallelWith]. See spec §4.8.
	Parallel func(args json.RawMessage) bool
	// Run executes the tool. args is valid JSON that fits Parameters, or the call is refused before: [Tool.Invoke]
	// does that.
	Run func(ctx context.Context, args json.RawMessage) (Result, error)
	// Reconcile is needed by effect class Reconcile: it says what became of the effect under key; done false means it
	// never happened.
	Reconcile func(ctx context.Context, key string) (result Result, done bool, err error)
	// Final transforms the content of the outcome last of all, after every gate; nil leaves it. See spec §4.8, pipeline 8.
	Final func(content session.Content) session.Content
	// Answered makes the result of a call from what people answered, see [Result]; nil: the answers are the result, as JSON.
	// It runs again if its worker dies in it.
	Answered func(ctx context.Context, answers []Answer) (Result, error)
	// NeedsApproval is why a person must let each call run; empty: none need that. Where nobody can be asked the calls are
	// denied. See plugin.Approval.
	NeedsApproval string
	// KeepWhole says that the model is shown results of any size in full: for tools that read in parts. See spec §9.4.
	KeepWhole bool
	// Validate checks raw arguments; New derives it from the schema. Its errors are [*Error] with code InvalidArgs.
	Validate func(args json.RawMessage) error
}

// Schema is what the model is told of the tool.
func (t *Tool) Schema() session.ToolSchema {
	return session.ToolSchema{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
}

// A Result is a call's successful outcome.
type Result struct {
	Content       session.Content   // text, image and artifact blocks
	Meta          json.RawMessage   // private presentation data, never shown to the model
	Contexts      []session.Message // delivered as user messages of the next step; ids may be empty
	ConcludesTurn bool              // the model need not be asked again for this step

	// Delegate hands the call to a child agent: its answer is the call's, and nothing else of this result counts. The call
	// waits without a worker, over restarts.
	Delegate *Child

	// Ask hands the call to people: what they answer is the call's result, and nothing else of this one counts. The call
	// waits without a worker, over restarts.
	Ask *Questions

	// Outside hands the call to a program outside of the workers: the result that it gives is the call's, and nothing else
	// of this one counts. The call waits without a worker, over restarts.
	Outside *Outside
}

// ResultOf shapes what a tool answered: text as it is, a [Result] or content as it is, anything else as JSON text. An
// answer that the log could not hold fails with code [InvalidOutput]. See [New].
func ResultOf(tool string, answer any) (Result, error) { return resultOf(tool, answer) }

// TextResult is the result of a tool that answers with plain text.
func TextResult(text string) Result { return Result{Content: session.TextContent(text)} }
