// Package tools is the seam between an agent and what it can do.
//
// A [Tool] is made by [New] from an ordinary Go function:
//
//	type args struct {
//		City string `json:"city" jsonschema:"name of the city"`
//	}
//	weather, err := tools.New("weather", "Tells the weather of a city.",
//		func(ctx context.Context, in args) (string, error) { … }, tools.ParallelSafe(), tools.WithEffect(tools.Pure))
//
// The JSON schema the model sees is taken from the Go type, and arguments are checked against it before the function
// runs. Options say how the tool may be scheduled and what happens when a worker dies in the middle of it. A [Set] is
// what one agent can see.
//
// A tool runs in a Temporal activity: it may do I/O, must obey its context, and finds its identity and idempotency key
// with [CallFrom].
//
// # Failures
//
// A failed tool is an answer for the model, not a failure of the agent: return an error, with [Coded] if the model or a
// program should tell it apart. A function that panics has failed too. [ErrorOf] reads the code back.
//
// # Effects
//
// A worker can die after a tool acted and before anyone heard of it. The effect class says what then happens to the
// call: [Pure] and [Keyed] tools are run again; a [Once] tool is never repeated, its ledger entry says what became of
// it, and if nothing is known the model is told so; a [Reconcile] tool is asked. Once is the default because it is the
// only safe guess.
package tools
