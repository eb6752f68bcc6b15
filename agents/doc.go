// Package agents is what programs use to talk to agents.
//
// A [Client] creates, finds and lists agents; an [Agent] is the handle of one: Followup, Steer, Inject, Send, Cancel,
// WhenIdle and the inbox edits of the spec and more, at a revision if need be ([Agent.Inbox], [Agent.At]); [Agent.Message]
// for what became of a message; [Agent.Ask] and [Agent.Await] for whoever wants an answer, and readers of its
// log and live feed. A handle holds nothing: any number of them, in any process that reaches Temporal and the store, are
// equal.
//
// What is sent with a signal is durable as soon as the call returns, whether or not a worker runs. [Agent.Act] sends the
// same as an update and returns a receipt; it needs a worker. So does a message that the agent may refuse for what it does.
//
// Errors are typed where a caller decides by them: [ErrUnknownAgent], [ErrExists], [ErrNoWorker], [ErrClosed],
// [*RefusedError], [*CreateError].
package agents
