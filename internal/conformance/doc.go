// Package conformance runs the scenarios of spec §10 from text files.
//
// A scenario says how an agent is set up, what is done to it and what must be seen; conformance/README.md describes the
// format. [Load] reads a directory and refuses what cannot be meant, with file and line. [Run] runs scenarios on a
// [Target]: [Local] is the local engine, [Server] a Temporal server with a real worker. A scenario knows nothing of its
// target.
//
// What is seen is compared exactly. Whatever a scenario does not ask for is checked nevertheless: the log keeps every
// rule and holds nothing that was not looked at, every request can be rebuilt from the log, no message is lost or
// doubled, and the agent ends idle. When something happens is said by holds, never by the clock.
package conformance
