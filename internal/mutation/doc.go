// Program mutation shows that the tests find faults: it breaks the code on purpose, one fault at a time, and runs the
// tests against it.
//
//	go run ./internal/mutation              # all deliberate faults and 100 generated ones
//	go run ./internal/mutation -only latch  # those whose name contains the text
//	go run ./internal/mutation -from 40     # go on where an earlier run stopped; -to 60 ends there
//	go run ./internal/mutation -own         # a quick look: only the tests of the fault's own package
//	go run ./internal/mutation -list        # names only
//
// Deliberate faults are in faults.txt, each with the rule of the spec that it breaks. Its old text must occur exactly
// once in its file: a stale fault is an error, of the program and of its test. Generated faults are drawn from the
// code of the packages in [packages]: the same seed draws the same faults as long as the functions they are in stay as
// they are. What the compiler refuses is no fault; another one is drawn.
//
// The tree is never touched: changed files are laid over it (`go test -c -overlay`), so a run may be stopped at any time
// and other work may go on. All faults are compiled in at once, each in a copy of its function, and the environment says
// which one is on (weave.go): every test is built once, and a fault costs what it takes to run into it. The tests run from the cheapest to the dearest, as long as they can reach the package,
// until one fails. A test that does not end in ten times its usual time, or eats memory, has found the fault too.
//
// A fault that no test finds is a gap in the tests, or it changes nothing that anybody can see. The latter are listed in
// equivalent.txt with the reason. The program exits 1 if a fault survives that is not listed, and 2 if it cannot
// work.
package main
