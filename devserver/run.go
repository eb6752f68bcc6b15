package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/temporal"

	"github.com/everturn/everturn/devserver/internal/filelock"
)

const (
	stopTimeout = 15 * time.Second

	// attemptVar counts the starts that lost the race for an internal port.
	attemptVar  = "EVERTURN_DEVSERVER_ATTEMPT"
	maxAttempts = 5
)

// run serves until ctx ends, and returns nil if that was the reason. The function reserved may be nil.
func run(ctx context.Context, opts options, stdout io.Writer, reserved func(ports)) error {
	if opts.exitWithParent {
		ctx = untilParentEnds(ctx, opts.parentPID)
	}
	unlock, err := lockDatabase(ctx, opts.database)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer unlock()
	p, err := reservePorts(opts)
	if err != nil {
		return err
	}
	defer p.release()
	if reserved != nil {
		reserved(p)
	}
	if err := removeStale(opts.addressFile); err != nil {
		return err
	}
	if opts.database != "" {
		if err := prepareDatabase(ctx, opts.database, opts.sync); err != nil {
			return unlessEnded(ctx, err)
		}
	}
	err = serve(ctx, opts, p, stdout)
	if p.lostRace(err) {
		err = startAgain(err)
	}
	return p.explain(err)
}

// serve starts everything on the reserved ports, announces it, and stops it when ctx ends.
func serve(ctx context.Context, opts options, p ports, stdout io.Writer) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	logs := newLogs(opts.logLevel)
	server, err := start(ctx, opts, p, logs.logger(fail))
	if err != nil {
		return unlessEnded(ctx, err)
	}
	stopUI := func() {}
	if p.ui != nil {
		stopUI = startUI(p)
	}
	if err := waitReady(ctx, p); err != nil {
		return unlessEnded(ctx, err)
	}
	p.release()
	defer withdraw(opts.addressFile)
	if err := serving(opts, p).announce(stdout, opts.addressFile); err != nil {
		return err
	}
	<-ctx.Done()
	withdraw(opts.addressFile)
	if err := failure(ctx); err != nil {
		return err
	}
	logs.hush()
	stopUI()
	return stop(server, opts)
}

// start is [startServer], given up when ctx ends. The server does not return from what it calls fatal.
func start(ctx context.Context, opts options, p ports, logger log.Logger) (temporal.Server, error) {
	type result struct {
		server temporal.Server
		err    error
	}
	started := make(chan result, 1)
	go func() {
		server, err := startServer(opts, p, logger)
		started <- result{server, err}
	}()
	select {
	case r := <-started:
		return r.server, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// stop ends the server; everything it has acknowledged is in the database before and after.
func stop(server temporal.Server, opts options) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Stop() }()
	select {
	case err := <-stopped:
		if err != nil {
			return fmt.Errorf("stop the temporal server: %w", err)
		}
	case <-ctx.Done():
		return fmt.Errorf("the temporal server did not stop within %s (its state is safe, start it again)", stopTimeout)
	}
	if opts.database == "" {
		return nil
	}
	return foldLog(ctx, opts.database, opts.sync)
}

func serving(opts options, p ports) Serving {
	s := Serving{
		Address:   p.frontend.Dial(),
		Database:  cmp.Or(opts.database, "memory"),
		Namespace: namespace,
		PID:       os.Getpid(),
	}
	if p.ui != nil {
		s.UIAddress = uiURL(p)
	}
	if opts.exitWithParent {
		s.ParentPID = cmp.Or(opts.parentPID, os.Getppid())
	}
	return s
}

// failure is what ended ctx, or nil if that was a signal or the parent's end.
func failure(ctx context.Context) error {
	var fatal *fatalError
	if errors.As(context.Cause(ctx), &fatal) {
		return fatal
	}
	return nil
}

// unlessEnded is err, unless err only says that ctx ended: then it is what ended ctx.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failure(ctx)
	}
	return err
}

// lockPatience is how long the lock of a database is waited for: a server whose parent was killed notices that at its next
// look, and ends in order.
const lockPatience = 5 * time.Second

// acquire is [filelock.Acquire] that waits a while for a holder to end.
func acquire(ctx context.Context, path string) (*filelock.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	tick := time.NewTicker(parentPoll / 4)
	defer tick.Stop()
	for {
		lock, err := filelock.Acquire(path)
		var held *filelock.HeldError
		if !errors.As(err, &held) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-tick.C:
		}
	}
}

// lockDatabase keeps other devservers away from the database file.
func lockDatabase(ctx context.Context, path string) (unlock func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	lock, err := acquire(ctx, path+".lock")
	var held *filelock.HeldError
	switch {
	case errors.As(err, &held) && held.PID != 0:
		return nil, fmt.Errorf("database %s is in use by another devserver, process %d (use that one, end it, or choose another --db)", path, held.PID)
	case held != nil:
		return nil, fmt.Errorf("database %s is in use by another devserver (use that one, end it, or choose another --db)", path)
	case err != nil:
		return nil, fmt.Errorf("lock database %s: %w (check that its folder can be written, or choose another --db)", path, err)
	}
	return func() { _ = lock.Release() }, nil
}

// startAgain replaces this process by a fresh start of itself, after cause. A half-started server cannot be taken back,
// so nothing less will do; process id, parent and open streams stay the same.
func startAgain(cause error) error {
	attempt, _ := strconv.Atoi(os.Getenv(attemptVar))
	if attempt++; attempt >= maxAttempts {
		return fmt.Errorf("no internal port stayed free in %d attempts: %w", attempt, cause)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start again after %w: %w", cause, err)
	}
	if err := os.Setenv(attemptVar, strconv.Itoa(attempt)); err != nil {
		return fmt.Errorf("start again after %w: %w", cause, err)
	}
	err = syscall.Exec(self, os.Args, os.Environ())
	return fmt.Errorf("start again after %w: %w", cause, err)
}
