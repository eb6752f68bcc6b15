// Package local runs agents in one process: the driver and the activities that Temporal carries in production, without
// Temporal, on a virtual clock.
//
// An [Engine] is the server: what it holds is durable. For every agent that is the driver's state after the last input,
// the inputs accepted but not handled, the open effects with their executions, and the timers. A [Worker] is volatile:
// its driver, its running activities and its caches are gone when it dies. [Engine.Save] and [Load] carry the durable
// part to another process.
//
// The engine honours Temporal's contract, so it is also a simulator of it. Inputs are durable once accepted, also while
// no worker runs. A task handles an agent's inputs one at a time, in order, runs the local activities they lead to, and
// commits state and effects together; what a dead worker did not commit is decided again, at a later time. Activities run at least once, are numbered by
// execution, learn of a cancel through their context and are waited for. An answer nobody awaits any more is dropped.
// See architecture A1 and A3.
//
// Faults are asked for by name: [Engine.KillWorker], [Engine.Zombie], [Engine.LoseAnswer], [Engine.ExhaustRetries],
// [Engine.CancelBeforeStart], [Engine.FailPersist], [Engine.NativeCancel]. Activities, scripts and tools pass named
// points (see [Point]); [Engine.HoldAt] makes them stand there, [Engine.KillAt] lets their worker die there.
//
// Time is virtual: when nothing runs, the clock jumps to the next timer, a bounded number of times; see [Engine.Advance]. A test waits with
// [Engine.Settled] and [Engine.WaitUntil]; it never sleeps. A script waits with `delay` on that clock if its provider
// is given [Sleep]. What blocks an activity in another way, such as `hold` in a script, counts as running, and time
// stands still meanwhile.
//
// Engine implements agents.Backend. It is safe for concurrent use and leaves no goroutine behind after [Engine.Close].
package local
