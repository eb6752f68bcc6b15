// Devserver is Temporal in one process: the server and its web UI, with all state in one SQLite file or in memory.
//
// It is meant for one machine and one developer. It prints one JSON line ([Serving]) on standard output when it really
// serves: the frontend is healthy, and the namespace and its search attributes can be used. Everything else goes to
// standard error. A signal ends it cleanly, a second one at once; a killed server finds all its workflows again when it
// is started on the same file.
//
// It never listens beyond loopback unless --ip says so, never shares a database file with another process, and has no
// authentication: do not expose it.
//
// Exit codes: 0 after a signal or the parent's end, 1 when it could not start or serve, 2 when it was called wrongly.
package main
