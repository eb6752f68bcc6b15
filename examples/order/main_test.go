package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/servertest"
)

// beProgram makes the test binary behave as the program.
const beProgram = "EVERTURN_ORDER"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The program is killed while the order waits for a person, and with it both workers.
func TestAnOrderOutlivesTheProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a development server")
	}
	env := []string{"TEMPORAL_ADDRESS=" + serve(t), "EVERTURN_STORE=" + filepath.Join(t.TempDir(), "store")}
	first := program(t, env, "order-1")
	_, err := first.StdinPipe() // nobody types
	require.NoError(t, err)
	out, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	lines := bufio.NewReader(out)
	for _, want := range []string{"order:  order-1\n", "offer:  12 red chairs for 1,188 €, in two weeks. (The price is right.)\n"} {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
	}
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()

	second := program(t, env, "order-1")
	second.Stdin = strings.NewReader("y\n")
	said, err := second.Output()
	require.NoError(t, err)
	require.Equal(t, "order:  order-1\noffer:  12 red chairs for 1,188 €, in two weeks. (The price is right.)\n"+
		"approve it? (y/n) letter: Dear customer, your chairs are on their way.\n", string(said))
}

func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	none := filepath.Join(t.TempDir(), "none.toml")
	cmd.Env = append(os.Environ(), beProgram+"=1", "OPENAI_API_KEY=", "TEMPORAL_ADDRESS=", "TEMPORAL_NAMESPACE=", "TEMPORAL_CONFIG_FILE="+none)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// serve runs a development server in memory and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	return servertest.Start(t, servertest.Built(t, filepath.Join("..", "..", "devserver")))
}
