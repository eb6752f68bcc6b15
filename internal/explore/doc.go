// Package explore tries every interleaving of what can happen to an agent, within bounds.
//
// [Search] walks breadth-first through all states of a small [World]: the driver (internal/driver), what it started and
// nobody answered yet, and what callers and chance may still do. Every enabled act, answer, loss and rollover is a
// [Move]. States are compared in a canonical form in which ids, counters and times do not show, so the walk is finite and the
// path to a violation is as short as any. In every state the laws of laws.go hold, among them: the log keeps every
// rule, no message is lost or doubled, a turn ends with its first cause, idle is never said too early, every caller is
// answered once, nothing stands still, and a rollover changes nothing.
//
// [Model] is the reference: inbox, turns, cancel and idle once more, written from the spec (agent semantics §3–§5)
// without a line of the driver. The search holds the driver against it after every input; the tests hold the whole
// local engine (internal/local), and a Temporal server with a real worker, against it on random schedules.
//
// The package decides nothing and is imported by no program. How it is run:
//
//	go test ./internal/explore -short                          # small worlds, few schedules
//	go test ./internal/explore                                 # all worlds, 10,000 schedules against the model
//	go test ./internal/explore -run Interleavings -v           # bounds, distinct states and transitions
//	go test ./internal/explore -run Faults -v                  # what the search must find, and a shortest path
//	go test ./internal/explore -run LocalSchedules -args -first 17 -schedules 1   # one schedule again
//	EVERTURN_DEVSERVER=bin/devserver go test ./internal/explore -run ServerSchedules  # 300 schedules on a Temporal server
//	make soak                                                # 100,000 and 3,000 schedules, worlds with one more twist
//
// Simulated crashes, in which workers, activities and answers are lost and zombies answer late at any point, are the
// random schedules of package local, which owns the kit for it.
package explore
