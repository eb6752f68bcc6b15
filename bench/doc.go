// Program bench measures agents on the embedded Temporal server, with a scripted model and a real worker.
//
//	go run ./bench                     # everything
//	go run ./bench -only history,turn  # some of it; -list names all
//	go run ./bench -small              # a quick look: fewer of everything
//	go run ./bench -json results.json  # the same figures for a program
//
// It starts servers of its own, in memory or in a temporary folder, and leaves nothing behind. EVERTURN_DEVSERVER, or
// -server, names the server's program. The results are a table on standard output. A figure that has a bound is met or
// missed; the program exits 1 if one is missed, and 2 if it cannot work. Sizes are exact and the same on every machine.
// Times are not: what is compared is measured in turns within one run, and given as a ratio. See docs/benchmarks.md.
package main
