// Package servertest runs the embedded development server for tests. EVERTURN_DEVSERVER names the program.
package servertest

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is the development server that EVERTURN_DEVSERVER names, empty if it names none.
func Program() string { return os.Getenv("EVERTURN_DEVSERVER") }

// Start runs program as an ephemeral server, without the UI, until the test ends; args are further flags of its own. It
// returns the address of the frontend.
func Start(t testing.TB, program string, args ...string) (address string) {
	t.Helper()
	cmd := exec.Command(program, append([]string{"--ephemeral", "--port", "0", "--headless", "--log-level", "fatal",
		"--parent-pid", strconv.Itoa(os.Getpid())}, args...)...)
	cmd.Env = append(os.Environ(), "GOGC=400") // it lives for minutes, and makes garbage all the time
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err, "the development server did not start")
	var served struct{ Address string }
	require.NoError(t, json.Unmarshal(line, &served))
	return served.Address
}
