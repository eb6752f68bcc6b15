package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/servertest"
)

// beProgram makes the test binary behave as the program.
const beProgram = "EVERTURN_QUICKSTART"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTheProgramPrintsAnAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a development server")
	}
	home := t.TempDir()
	address := serve(t)
	out, err := program(t, "TEMPORAL_ADDRESS="+address, "EVERTURN_STORE="+filepath.Join(home, "store")).Output()
	require.NoError(t, err)
	require.Equal(t, "Sunny, 24 °C: take your sunglasses.\n", string(out))
}

func TestTheProgramSaysWhatIsMissing(t *testing.T) {
	out, err := program(t, "EVERTURN_HOME="+t.TempDir()).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "no Temporal server is named: set TEMPORAL_ADDRESS, or start one with `starter dev`")
}

// The ten lines of the README are the program's.
func TestTheReadmeShowsTheProgram(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, body, _ := strings.Cut(string(program), "func main() {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	require.Contains(t, string(readme), strings.ReplaceAll(body, "\n\t", "\n")[1:])
	require.Equal(t, 10, strings.Count(body, "\n")+1)
}

func program(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
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
