// Package imports holds a test that keeps the packages of this module apart: which of ours a package may import, and who
// may know Temporal, a model vendor or a command line.
//
// The direction is what lets the driver be tested without a server, a provider without an agent, and a session log be
// read without anything else. A new package needs a line in the list.
package imports
