// Command starter runs and talks to durable agents. See `starter --help`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	app := &app{out: os.Stdout, err: os.Stderr, in: os.Stdin}
	root := app.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	app.close()
	if err == nil {
		return exitOK
	}
	code, line := explain(err)
	if line != "" {
		fmt.Fprintln(os.Stderr, "starter: "+line)
	}
	return code
}
