// Package session holds the vocabulary and the laws of an agent's session.
//
// A session is an append-only log of events ([Record], whose payload is an [Event]) plus an immutable [Header].
// It is the single source of truth: what the model is sent, what is pending in the inbox and what became of every
// message are all derived from it.
//
// [Log] enforces the rules of spec §2.4.3 on append. [Fold] turns records into a [State]: the surface, the last request
// header, the pending inbox, the open turn. [State.Messages] derives what the model sees. [Assembler] turns stream
// chunks into a message. [Reader] and [Writer] are the JSON Lines form.
//
// Nothing here blocks, reads a clock, does I/O of its own or knows a workflow engine.
package session
