// Package store keeps the bytes of sessions: segments of the log, artefacts, journals of running steps, published
// heads, claimed epochs and the ledger of effects.
//
// Everything is a create-only object: an object is written once, whole, and never changed. A log is a chain of
// immutable segments named by the SHA-256 of their bytes; a [Head] names its end. Bytes first, pointer second: a
// segment counts only once somebody recorded a head that reaches it, so a writer that dies in between leaves nothing
// but an orphan.
//
// Open a [Store] with [Open]. [Store.Append] adds events under an epoch, [Store.State] folds a log through a bounded
// cache, [Store.Records] reads it back event by event. [Store.PublishHead] lets readers find a log with no worker
// running. What is read is verified; a missing or damaged object is a [*CorruptError] that says what to do.
//
// A Store is safe for concurrent use, also by several processes on one folder or bucket. In a folder an object is
// flushed, file and folder, before it is reported stored; [SyncNone] leaves that to the operating system.
//
// [Store.PlanCollect] finds what nothing reaches any more, [Store.PlanErase] what belongs to one session alone;
// [Plan.Run] deletes it. Both trust only what they read, and ask whoever runs the sessions what it still holds.
//
// [Store.Asked] and [Store.WaitEnded] keep an index of the calls that wait for somebody outside, over all sessions;
// [Store.Waiting] reads it.
//
// Two things it does not do. The epoch check of Append is not atomic with the write: a writer that loses its epoch
// between the two leaves an orphan segment, which no head of the new epoch reaches. And it never overwrites: the only
// object ever replaced is a content-addressed one whose bytes do not match its own name. A bucket, which knows no touch,
// gets the same bytes again when they are stored again.
package store
