package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A bench builds tests with faults laid over the tree, and runs them.
type bench struct {
	root   string
	dir    string // for what is built
	memory int64  // bytes a test may use
}

// build makes the test of a package with all faults in it.
func (b *bench) build(ctx context.Context, pkg string) (binary string, err error) {
	binary = filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "-")+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-p", "1", "-overlay", b.overlay(), "-o", binary, "./"+pkg)
	cmd.Dir = b.root
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("build the test of %s: %w: %s", pkg, err, bytes.TrimSpace(out))
	}
	return binary, nil
}

// A verdict says how a test ended.
type verdict struct {
	failed bool
	how    string // the test that failed, or what happened
}

// test runs a stage's test with one fault, or none.
func (b *bench) test(ctx context.Context, s *stage, n int) (verdict, error) {
	patience := s.patience()
	ctx, cancel := context.WithTimeoutCause(ctx, patience+lastWord, errHangs)
	defer cancel()
	args := []string{"-test.v", "-test.short", "-test.failfast", "-test.count=1", "-test.timeout=" + patience.String()}
	if s.run != "" {
		args = append(args, "-test.run="+s.run)
	}
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Dir = filepath.Join(b.root, s.pkg)
	cmd.Env = append(os.Environ(), "GOMEMLIMIT="+strconv.FormatInt(b.memory/2, 10), choice+"="+strconv.Itoa(n))
	cmd.WaitDelay = time.Second
	out := &tail{limit: 256 << 10, failed: func() { _ = cmd.Process.Kill() }}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return verdict{}, err
	}
	greedy := watch(cmd.Process, b.memory)
	err := cmd.Wait()
	return judge(ctx, err, greedy(), out.text)
}

var errHangs = errors.New("hangs")

func judge(ctx context.Context, err error, greedy bool, out []byte) (verdict, error) {
	switch {
	case err == nil:
		return verdict{}, nil
	case greedy:
		return verdict{true, "eats memory"}, nil
	case errors.Is(context.Cause(ctx), errHangs):
		return verdict{true, errHangs.Error()}, nil
	case ctx.Err() != nil:
		return verdict{}, ctx.Err()
	}
	return verdict{true, reason(out)}, nil
}

// watch kills a process that takes more memory than it may; the returned function ends the watch and says whether it did.
func watch(p *os.Process, limit int64) (greedy func() bool) {
	done, ended := make(chan struct{}), make(chan bool, 1)
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				ended <- false
				return
			case <-ticker.C:
			}
			if resident(p.Pid) > limit && p.Kill() == nil {
				ended <- true
				return
			}
		}
	}()
	return func() bool {
		close(done)
		return <-ended
	}
}

// resident is the memory of a process in bytes; 0 where the system does not tell.
func resident(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := bytes.Fields(raw)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
