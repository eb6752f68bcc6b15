package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the built devserver that the tests run as a process.
var program string

// stealVar turns the test binary into a devserver that loses its internal ports to somebody else, as often as it says.
const stealVar = "DEVSERVER_TEST_STEAL"

func TestMain(m *testing.M) {
	if os.Getenv(stealVar) != "" {
		os.Exit(mainWithThief())
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "devserver")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "devserver")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		return 1
	}
	return m.Run()
}

// stolen keeps the thief's listener from being collected, and so closed.
var stolen net.Listener

// mainWithThief is main, except that somebody listens on an internal port after it was reserved:
// once if the variable says "once", at every attempt otherwise.
func mainWithThief() int {
	stdout := os.Stdout
	os.Stdout = os.Stderr
	return execute(os.Args[1:], stdout, os.Stderr, func(p ports) {
		if os.Getenv(attemptVar) != "" && os.Getenv(stealVar) == "once" {
			return
		}
		var err error
		if stolen, err = net.Listen("tcp", p.internal["matching"].Listen()); err != nil {
			panic(err)
		}
	})
}
