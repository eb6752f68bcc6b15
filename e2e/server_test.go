package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/internal/log"
)

// A served line is what the development server says when it serves.
type served struct {
	Address   string `json:"address"`
	UIAddress string `json:"uiAddress"`
	Database  string `json:"database"`
	PID       int    `json:"pid"`
}

// A server is one development server process.
type server struct {
	served
	cmd    *exec.Cmd
	line   []byte // what it said
	stderr *transcript
}

// startServer starts a development server. It does not outlive the test program.
func startServer(dir string, args ...string) (*server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &server{stderr: &transcript{}}
	s.cmd = exec.Command(devserver, append([]string{"--parent-pid", fmt.Sprint(os.Getpid()), "--log-level", "fatal", "--headless"}, args...)...)
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if s.line, err = bufio.NewReader(out).ReadBytes('\n'); err != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		return nil, fmt.Errorf("the server does not serve: %w: %s", err, s.stderr)
	}
	return s, json.Unmarshal(s.line, &s.served)
}

// kill is kill -9.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// alone makes a place with a server of its own on a database file, for a test that kills it. The returned function kills
// it and starts another one on the same file and port.
func alone(t *testing.T) (p *place, again func()) {
	t.Helper()
	long(t)
	t.Parallel()
	home := t.TempDir()
	start := func(port string) *server {
		started, err := startServer(home, "--db", filepath.Join(home, "temporal.db"), "--address-file", filepath.Join(home, "dev.json"), "--port", port)
		require.NoError(t, err)
		return started
	}
	s := start("0")
	t.Cleanup(func() { s.kill() })
	return at(t, s, home), func() {
		s.kill()
		*s = *start(port(s.Address))
	}
}

func port(address string) string {
	for i := len(address) - 1; i >= 0; i-- {
		if address[i] == ':' {
			return address[i+1:]
		}
	}
	return "0"
}

// dial connects to the server.
func (s *server) dial(t *testing.T) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: s.Address, Logger: log.Silent()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// long marks a test that needs real processes.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("real processes")
	}
}

// patience bounds a wait that only a hanging program reaches.
const patience = 120 * time.Second

// until waits for a condition. what completes the sentence "the condition does not come true: …".
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			require.FailNow(t, "the condition does not come true: "+what)
		case <-t.Context().Done():
			require.FailNow(t, "the test ended before: "+what)
		case <-tick.C:
		}
	}
}
