package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// process is one run of the program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
	ended  bool
}

// launch starts the program on free ports. It is killed when the test ends, if it still runs, and does not outlive a
// test binary that is itself killed.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	return launchCommand(t, exec.Command(program, append([]string{"--exit-with-parent", "--port=0", "--ui-port=0"}, args...)...))
}

func launchCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd}
	cmd.Stderr = &p.stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p.stdout = bufio.NewReader(stdout)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if !p.ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("standard error of %v:\n%s", cmd.Args, &p.stderr)
		}
	})
	return p
}

// serving waits for the serving line.
func (p *process) serving() Serving {
	p.t.Helper()
	s, _ := p.servingLine()
	return s
}

func (p *process) servingLine() (Serving, string) {
	p.t.Helper()
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		p.end()
		require.NoError(p.t, err, "no serving line; standard error: %s", &p.stderr)
	}
	var s Serving
	require.NoError(p.t, json.Unmarshal([]byte(line), &s), line)
	return s, line
}

// end waits for the end of the process, and returns what it still printed on standard output.
func (p *process) end() string {
	p.t.Helper()
	rest, err := io.ReadAll(p.stdout)
	require.NoError(p.t, err)
	_ = p.cmd.Wait()
	p.ended = true
	return string(rest)
}

// exit waits for the end of the process and requires its exit code and that it printed nothing more.
func (p *process) exit(code int) {
	p.t.Helper()
	require.Empty(p.t, p.end(), "standard output")
	require.Equal(p.t, code, p.cmd.ProcessState.ExitCode(), "standard error: %s", &p.stderr)
}

// fail is exit with one line on standard error, which it returns.
func (p *process) fail(code int) string {
	p.t.Helper()
	p.exit(code)
	require.Equal(p.t, 1, strings.Count(p.stderr.String(), "\n"), "standard error: %s", &p.stderr)
	return p.stderr.String()
}

func (p *process) signal(sig os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
}

func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.end()
}

// dial connects a client of the namespace default.
func dial(t *testing.T, s Serving) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: s.Address, Namespace: s.Namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// databaseIn is a fresh path for a database.
func databaseIn(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return filepath.Join(folder, "x.db")
}
