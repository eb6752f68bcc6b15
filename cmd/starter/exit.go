package main

import (
	"context"
	"errors"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"go.temporal.io/api/serviceerror"
)

// The exit codes. They are part of the interface; docs/cli.md lists them.
const (
	exitOK          = 0
	exitFailed      = 1 // something went wrong; the line on stderr says what
	exitUsage       = 2 // the command line is wrong
	exitUnknown     = 3 // no such agent
	exitNoWorker    = 4 // no worker answers; the line says whether the input was accepted
	exitUnreachable = 5 // Temporal does not answer
	exitRefused     = 6 // the agent refused; nothing changed
	exitStore       = 7 // the store cannot be used
	exitTurn        = 8 // the turn ended with an error, was blocked or cancelled
	exitClosed      = 9 // the agent has ended
	exitInterrupted = 130
)

// A failure carries its exit code.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail gives an error an exit code.
func fail(code int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{code, err}
}

// explain maps an error to its exit code and one clear line.
func explain(err error) (int, string) {
	var (
		f       *failure
		refused *agents.RefusedError
		create  *agents.CreateError
		corrupt *store.CorruptError
		nowhere *serviceerror.NamespaceNotFound
		away    *serviceerror.Unavailable
	)
	line := oneLine(err.Error())
	switch {
	case errors.As(err, &f):
		return f.code, line
	case errors.Is(err, agents.ErrUnknownAgent):
		return exitUnknown, line + " (list them with `starter list`)"
	case errors.Is(err, agents.ErrNoWorker):
		return exitNoWorker, line + " (start one with `starter worker` or `starter dev`)"
	case errors.Is(err, agents.ErrClosed):
		return exitClosed, line + " (create another one with `starter create`)"
	case errors.Is(err, agents.ErrExists):
		return exitRefused, line + " (choose another id, or talk to it with `starter chat ID`)"
	case errors.As(err, &refused), errors.As(err, &create):
		return exitRefused, line
	case errors.As(err, &corrupt):
		return exitStore, line
	case errors.As(err, &nowhere):
		return exitUnreachable, line + " (name another one with --namespace or TEMPORAL_NAMESPACE)"
	case errors.As(err, &away):
		return exitUnreachable, "temporal does not answer: " + line
	case errors.Is(err, context.Canceled):
		return exitInterrupted, ""
	case isUsage(line):
		return exitUsage, line + " (see `starter --help`)"
	default:
		return exitFailed, line
	}
}

// isUsage recognises what cobra says about a wrong command line.
func isUsage(line string) bool {
	for _, prefix := range []string{"unknown command", "unknown flag", "unknown shorthand", "accepts ", "requires ", "invalid argument", "flag needs", "required flag"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
