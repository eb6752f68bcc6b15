package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A Refusal is an error that another try cannot mend. Kind is one of the types work.Err….
type Refusal struct {
	Kind string
	Err  error
}

func (r *Refusal) Error() string { return r.Kind + ": " + r.Err.Error() }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// A Delay is an error that another try may mend, after some time; 0 leaves that to the engine.
type Delay struct {
	After time.Duration
	Err   error
}

func (d *Delay) Error() string { return d.Err.Error() }

// Unwrap returns the reason.
func (d *Delay) Unwrap() error { return d.Err }

// A final error is handed to the engine as it is, without the context that others get on their way out.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

func (a *Activities) refuse(kind string, err error) error { return final{a.Refuse(kind, err)} }

// halted says why an ended context is no cancel of the agent's; nil if it is one, or has not ended.
func (a *Activities) halted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if err := a.Stopped(ctx); err != nil {
		return final{err}
	}
	return nil
}

// leave is an error on its way to the engine. A writer of an old epoch must not come back.
func (a *Activities) leave(err error, what string) error {
	var f final
	switch {
	case errors.As(err, &f):
		return f.error
	case errors.Is(err, store.ErrFenced):
		return a.Refuse(work.ErrFenced, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// maxFailureText bounds what the log holds of an error, in bytes.
const maxFailureText = 4 << 10

// failureOf is an error as the log records it: a model failure with its facts, anything else with code UNKNOWN. See
// spec §2.4.2.
func failureOf(err error) *session.Failure {
	f := session.Failure{Code: work.CodeUnknown, Message: err.Error()}
	var known *llm.Error
	if errors.As(err, &known) && known != nil {
		f = known.Failure
	}
	f.Message = clip(f.Message)
	return &f
}

// storeFailure is a barrier that did not hold. See spec §4.11.
func storeFailure(err error) *session.Failure {
	return &session.Failure{Code: work.CodeStore, Message: clip(err.Error())}
}

// clip makes valid text of a bounded size.
func clip(text string) string {
	if len(text) > maxFailureText {
		return valid(text[:maxFailureText]) + "…"
	}
	return valid(text)
}

// The patience with a store that fails: a few quick tries before a barrier is given up, more for an answer of the model
// that was paid for.
const (
	quickTries   = 3
	patientTries = 8
	firstPause   = 50 * time.Millisecond
	longestPause = 4 * time.Second
	storeTimeout = time.Minute
)

// try does a write of the store that a cancel must not interrupt, and repeats it while that makes sense.
func (a *Activities) try(ctx context.Context, tries int, write func(context.Context) error) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	pause := firstPause
	for n := 1; ; n++ {
		err := write(ctx)
		if err == nil || n >= tries || hopeless(err) || ctx.Err() != nil {
			return err
		}
		a.Sleep(ctx, pause)
		pause = min(2*pause, longestPause)
	}
}

// hopeless reports whether the same write would fail again.
func hopeless(err error) bool {
	var rule *session.RuleError
	var conflict *store.ConflictError
	var corrupt *store.CorruptError
	return errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrNotFound) || errors.As(err, &rule) || errors.As(err, &conflict) || errors.As(err, &corrupt)
}

// probe is a point at which a test may let the worker die.
func (a *Activities) probe(ctx context.Context, point, session string, turn, step, attempt int) error {
	if a.Probe == nil {
		return nil
	}
	if err := a.Probe(ctx, point, session, turn, step, attempt); err != nil {
		return fmt.Errorf("probe %s: %w", point, err)
	}
	return nil
}
