package main

import (
	"errors"
	"fmt"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.uber.org/zap"
)

// logs is where the server's logs go: standard error, from some level on.
type logs struct{ level zap.AtomicLevel }

func newLogs(level string) logs {
	return logs{zap.NewAtomicLevelAt(log.ParseZapLevel(level))}
}

// logger hands what the server calls fatal to a function instead of ending the process from within.
func (l logs) logger(fatal func(error)) log.Logger {
	base := log.BuildZapLogger(log.Config{Level: l.level.String()}).WithOptions(
		zap.IncreaseLevel(l.level),
		zap.AddStacktrace(zap.DPanicLevel), // of an ordinary error they only bury the message
	)
	return logger{Logger: log.NewZapLogger(base), fatal: fatal}
}

// hush is for a server that is told to stop: it reports every wait that this cuts short as an error. Whoever asked for
// more than errors still gets to see them.
func (l logs) hush() {
	if l.level.Level() > zap.InfoLevel {
		l.level.SetLevel(zap.FatalLevel)
	}
}

// logger is the server's view of [logs].
type logger struct {
	log.Logger
	fatal func(error)
}

// Fatal implements [log.Logger]. It does not return: the caller relies on that.
func (l logger) Fatal(msg string, tags ...tag.Tag) {
	l.fatal(newFatalError(msg, tags))
	select {}
}

// With implements [log.WithLogger].
func (l logger) With(tags ...tag.Tag) log.Logger {
	return logger{Logger: log.With(l.Logger, tags...), fatal: l.fatal}
}

// Skip implements [log.SkipLogger].
func (l logger) Skip(frames int) log.Logger {
	if inner, ok := l.Logger.(log.SkipLogger); ok {
		return logger{Logger: inner.Skip(frames), fatal: l.fatal}
	}
	return l
}

// A fatalError is what the server says before it gives up.
type fatalError struct {
	msg     string
	address string // that it is about, if any
	cause   error  // nil if none was given
}

func (e *fatalError) Error() string {
	if e.cause == nil {
		return e.msg
	}
	return fmt.Sprintf("%s: %v", e.msg, e.cause)
}

func (e *fatalError) Unwrap() error { return e.cause }

func newFatalError(msg string, tags []tag.Tag) *fatalError {
	e := &fatalError{msg: msg}
	for _, t := range tags {
		switch t.Key() {
		case "address":
			e.address = fmt.Sprint(t.Value())
		case "error":
			e.cause = errorOf(t)
		}
	}
	return e
}

func errorOf(t tag.Tag) error {
	if t, ok := t.(tag.ZapTag); ok {
		if err, ok := t.Field().Interface.(error); ok {
			return err
		}
	}
	return errors.New(fmt.Sprint(t.Value()))
}
