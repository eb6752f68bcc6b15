package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A transcript keeps what a process writes; it may be read meanwhile.
type transcript struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// A result is what a command line came to.
type result struct {
	code     int
	out, err string
}

// run runs a command line of the starter.
func (p *place) run(args ...string) result {
	p.t.Helper()
	return p.feed("", args...)
}

// feed is run with standard input.
func (p *place) feed(stdin string, args ...string) result {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, starter, append([]string{"--task-queue", p.queue}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdin = p.env, p.home, strings.NewReader(stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(p.t, err)
	}
	require.NoError(p.t, ctx.Err(), "starter %v hangs; stdout: %s; stderr: %s", args, &out, &stderr)
	return result{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// ok is run for a command line that must succeed; it returns its output.
func (p *place) ok(args ...string) string {
	p.t.Helper()
	r := p.run(args...)
	require.Zero(p.t, r.code, "starter %v: %s", args, r.err)
	return r.out
}

// fails is run for a command line that must end with a code; it returns the one line on standard error.
func (p *place) fails(code int, args ...string) string {
	p.t.Helper()
	r := p.run(args...)
	require.Equal(p.t, code, r.code, "starter %v: %s %s", args, r.out, r.err)
	require.Equal(p.t, 1, strings.Count(strings.TrimRight(r.err, "\n"), "\n")+1, "one clear line: %s", r.err)
	require.True(p.t, strings.HasPrefix(r.err, "starter: "), r.err)
	return r.err
}

// A process is a starter that keeps running.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err *transcript
	ended    chan struct{}
}

// start starts a command line and returns at once. It is killed when the test ends, if it still runs.
func (p *place) start(env []string, args ...string) *process {
	p.t.Helper()
	return p.command(exec.Command(starter, append([]string{"--task-queue", p.queue}, args...)...), append(append([]string(nil), p.env...), env...))
}

func (p *place) command(cmd *exec.Cmd, env []string) *process {
	p.t.Helper()
	x := &process{t: p.t, cmd: cmd, out: &transcript{}, err: &transcript{}, ended: make(chan struct{})}
	x.cmd.Env, x.cmd.Dir = env, p.home
	x.cmd.Stdout, x.cmd.Stderr = x.out, x.err
	var err error
	x.in, err = x.cmd.StdinPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, x.cmd.Start())
	go func() { defer close(x.ended); _ = x.cmd.Wait() }()
	p.t.Cleanup(func() {
		x.kill()
		if p.t.Failed() {
			p.t.Logf("%v\nstdout: %s\nstderr: %s", cmd.Args, tail(x.out.String()), tail(x.err.String()))
		}
	})
	return x
}

func tail(s string) string {
	const most = 4 << 10
	if len(s) > most {
		return "… " + s[len(s)-most:]
	}
	return s
}

// kill is kill -9.
func (x *process) kill() {
	_ = x.cmd.Process.Kill()
	<-x.ended
}

// stop is SIGTERM; it waits for the end and returns the exit code.
func (x *process) stop() int {
	x.t.Helper()
	_ = x.cmd.Process.Signal(syscall.SIGTERM)
	return x.wait()
}

// wait waits for the end.
func (x *process) wait() int {
	x.t.Helper()
	until(x.t, "the process ends", x.gone)
	return x.cmd.ProcessState.ExitCode()
}

func (x *process) gone() bool {
	select {
	case <-x.ended:
		return true
	default:
		return false
	}
}

// says waits for a text on standard output or error.
func (x *process) says(text string) {
	x.t.Helper()
	until(x.t, "the process says "+text, func() bool {
		if strings.Contains(x.out.String(), text) || strings.Contains(x.err.String(), text) {
			return true
		}
		require.False(x.t, x.gone(), "the process ended before it said %q: %s %s", text, x.out, x.err)
		return false
	})
}
