// Package llm is the seam between an agent and a model.
//
// A [Provider] prepares a call for an exact route (provider and model): it fills in the route's defaults, says what the
// route can do and binds the implementation that will serve it. The [Prepared] call then streams chunks. Failures carry
// a stable [Code], never text to be parsed.
//
// Providers do not retry: every attempt is a fact of the agent's log, so retries belong to the agent. They never put a
// credential into an error, a log or a chunk.
//
// A [Registry] holds the providers of a worker. [Stream] is what the agent calls: it guards the stream with an idle
// watchdog and turns whatever the provider throws into a final [session.Finish]. A [Secret] is a credential that does
// not print.
//
// Providers are in openai, anthropic, scripted (answers by script) and cassette (records and plays back); llmtest proves
// that a provider keeps this contract.
package llm

import (
	"context"
	"iter"
	"time"

	"github.com/everturn/everturn/session"
)

// A Provider serves the models of one provider name.
type Provider interface {
	// Name is the provider part of a route, such as "openai".
	Name() string
	// Prepare validates the configuration against the exact route and binds the call. It must not call the model.
	// Errors are [*Error].
	Prepare(ctx context.Context, config session.CallConfig) (*Prepared, error)
}

// Prepared is a call bound to the route that will serve it. See spec §4.5.4.
type Prepared struct {
	Config             session.CallConfig       // with route defaults filled in
	Defaults           *session.AdapterDefaults // which of them came from the route; nil for none
	ContextWindow      int                      // tokens, 0 if unknown
	SystemPromptUpdate bool                     // the route can read a later system message in history
	Images             bool                     // the route accepts images
	Retry              RetryPolicy              // the route's recovery policy
	Idle               time.Duration            // watchdog per read; 0 means DefaultIdle

	// Stream performs the request. A failure is yielded as an error, which ends the stream. A stream that ends without
	// a Finish counts as a normal stop. Breaking out of the loop releases everything.
	Stream func(ctx context.Context, req Request) iter.Seq2[session.Chunk, error]
}

// A Request is what the model is sent: a pure function of the session log. See spec §4.6.
type Request struct {
	Session  string               `json:"session"`
	Config   session.CallConfig   `json:"config"`
	System   string               `json:"system,omitempty"`
	Messages []session.Message    `json:"messages"`
	Tools    []session.ToolSchema `json:"tools,omitempty"`
}

// DefaultIdle is how long a stream may be silent, per read, before it fails with TIMEOUT.
const DefaultIdle = 300 * time.Second
