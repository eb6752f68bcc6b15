// Package servertest runs the embedded development server for tests and benchmarks. EVERTURN_DEVSERVER names the program.
package servertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is the development server that EVERTURN_DEVSERVER names, empty if it names none.
func Program() string { return os.Getenv("EVERTURN_DEVSERVER") }

// A Server is one that runs. Stop it in the end.
type Server struct {
	Address   string // of the frontend
	UIAddress string // URL of the web UI, if it has one
	PID       int
	cmd       *exec.Cmd
}

// Run runs program without the UI; args are flags of its own. It is ephemeral, unless they name a database.
func Run(program string, args ...string) (*Server, error) {
	cmd := exec.Command(program, append([]string{"--port", "0", "--headless", "--log-level", "fatal",
		"--parent-pid", strconv.Itoa(os.Getpid())}, args...)...)
	cmd.Env = append(os.Environ(), "GOGC=400") // it lives for minutes, and makes garbage all the time
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the development server: %w", err)
	}
	s := &Server{PID: cmd.Process.Pid, cmd: cmd}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, s)
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("the development server did not start: %w", err)
	}
	return s, nil
}

// Stop ends the server and waits for it.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// Start runs program as an ephemeral server, without the UI, until the test ends; args are further flags of its own. It
// returns the address of the frontend.
func Start(t testing.TB, program string, args ...string) (address string) {
	t.Helper()
	s, err := Run(program, append([]string{"--ephemeral"}, args...)...)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s.Address
}

// Built is [Program], or one that is built from a folder, which takes minutes the first time.
func Built(t testing.TB, folder string) (program string) {
	t.Helper()
	if program := Program(); program != "" {
		return program
	}
	program = filepath.Join(t.TempDir(), "devserver")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, ".") // the Makefile's flags: one build cache serves both
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "build the development server: %s", out)
	return program
}
