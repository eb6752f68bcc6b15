// Package session holds the vocabulary and the laws of an agent's session.
//
// A session is an append-only log of events ([Record], whose payload is an [Event]) plus an immutable [Header].
// It is the single source of truth: what the model is sent, what is pending in the inbox and what became of every
// message are all derived from it.
//
// [State] is the fold of a log. [State.Apply] refuses, with a [RuleError], whatever breaks a rule of spec §2; [Log] keeps
// the records beside it, and [Fold] folds them all at once. From a state follow
//
//   - what the model sees: [State.Messages], of [State.Surface];
//   - what a request must log first: [State.SeedConfig], [State.Reconcile], [State.HeaderDue], [State.ContextDue];
//   - what is pending, and how it may be edited: [State.Inbox], [Inbox];
//   - what became of the input: [State.Account];
//   - how a crashed log is closed and where one may be forked: [Repair], [ForkBoundary].
//
// [Assembler] turns stream chunks into a message. [Reader] and [Writer] are the JSON Lines form, [Trace] the short
// notation of spec §2.4.4.
//
// Values that were logged or returned are frozen: the caller must not change them. Nothing here blocks, reads a clock,
// does I/O of its own or knows a workflow engine.
package session
