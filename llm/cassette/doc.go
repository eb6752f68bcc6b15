// Package cassette records what a provider answers and plays it back.
//
// [Record] wraps a provider: every prepared call and every stream goes into a file as it happens. [Open] makes a provider
// of that file which needs neither a key nor a network. A request finds its recording by a digest of what the model is
// sent; identifiers of messages and sessions do not count, so a test may make new ones. Equal requests are answered in
// the order in which they were recorded, each recording once. A request that was not recorded fails, and the failure
// names what differs.
//
// The file is JSON Lines. It holds the answers and digests of the requests, but neither the requests themselves nor any
// credential; look at the answers before you share it.
package cassette
