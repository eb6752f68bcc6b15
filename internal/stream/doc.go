// Package stream carries the live feed of agents: frames of what a model says while it says it, and notices of what
// happens to an agent.
//
// Nothing here is durable and nothing here is the truth; the log is. A frame may be lost, may come twice, and may tell
// of something a workflow task did not commit (see [Frame.Provisional]). A reader that sees a [KindGap], or a hash that
// differs from its own, loads the log again. See spec §2.5.
//
// A [Broker] passes frames on. [Memory] does so within one process; publishing never blocks. [Merge] puts recorded and
// live frames into one order for a reader. [Memory.Hint] tells a running activity to ask its server at once whether it
// was cancelled.
package stream
