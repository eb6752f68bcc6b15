package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// The program's exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// The libraries inside print to os.Stdout here and there; only the serving line may go there.
	stdout := os.Stdout
	os.Stdout = os.Stderr
	os.Exit(execute(os.Args[1:], stdout, os.Stderr, nil))
}

// execute runs the command line and returns the exit code. The function reserved, if not nil, sees the ports before the
// server listens on them.
func execute(args []string, stdout, stderr io.Writer, reserved func(ports)) int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	cmd := newCommand(func(opts options) error { return run(ctx, opts, stdout, reserved) })
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.Execute()
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "devserver: "+oneLine(err))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// untilSignal is cancelled by the first signal; from then on a signal has its default effect, which is to kill.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	// Whoever read our output may be gone by the time we clean up; that must not kill us half-way.
	signal.Ignore(syscall.SIGPIPE)
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup stays in force
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
