// Package workflows carries the driver on Temporal: the agent's workflow.
//
// [Agent] is a thin adapter. Signals, updates, activity answers, timers and cancellation become inputs of
// internal/driver; its effects become activities, timers, replies and cancellations. Nothing here decides anything an
// agent does, and no prompt, provider, tool or hook of a user ever runs here, so a change to one cannot break the
// replay of a live agent.
//
// Order is kept by one queue (queue.go): the [Interceptor] appends every signal in event order, update handlers append
// an input and await its receipt, and one coroutine feeds the driver. A worker and a replayer must both carry the
// interceptor; [Register] and worker.Options{Interceptors: …} do that.
//
// Everything runs on a context that is not cancelled with the run: a native cancellation is an input like any other.
package workflows
