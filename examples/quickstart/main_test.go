package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	cmd := exec.Command(devserver(t), "--ephemeral", "--port", "0", "--headless", "--log-level", "fatal", "--exit-with-parent")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err)
	var serving struct {
		Address string `json:"address"`
	}
	require.NoError(t, json.Unmarshal(line, &serving))
	return serving.Address
}

// devserver is the program EVERTURN_DEVSERVER names, or one built here, which takes minutes the first time.
func devserver(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("EVERTURN_DEVSERVER"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "devserver")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-ldflags", "-s -w", "-o", path, ".")
	cmd.Dir = filepath.Join("..", "..", "devserver")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}
