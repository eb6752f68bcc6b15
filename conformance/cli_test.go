package conformance_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The verb takes any folder and says by its exit code what it found.
func TestStarterConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	starter := filepath.Join(t.TempDir(), "starter")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", starter, "../cmd/starter").CombinedOutput()
	require.NoError(t, err, "build the program: %s", out)
	const holds = "# C-901  holds\n> inject a\n  IS+(next-step:a)\n"
	tests := []struct {
		name, text string
		args       []string
		code       int
		last       string // of stdout
		says       string // stderr
	}{
		{"what holds", holds, nil, 0, "1 passed, 0 failed", ""},
		{"what does not", holds + "# C-902  does not\n> idle\n  status running\n", nil, 1, "1 passed, 1 failed", "1 scenarios failed on local"},
		{"only what is chosen", holds + "# C-902  does not\n> idle\n  status running\n", []string{"--run", "^C-901"}, 0, "1 passed, 0 failed", ""},
		{"nothing that is chosen", holds, []string{"--run", "C-902"}, 1, "", `no scenario matches "C-902"`},
		{"JSON", holds, []string{"--json"}, 0, `{"failed":0,"passed":1}`, ""},
		{"mistakes", "# C-901  x\n> idle\n  sttus idle\n# C-901  x\n> idle\n  nothing\n", nil, 1, "", "a.txt:3: unknown observation"},
		{"an unknown target", holds, []string{"--target", "moon"}, 2, "", `--target is "moon": use local or server`},
		{"an odd expression", holds, []string{"--run", "("}, 2, "", "--run:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(tt.text), 0o600))
			cmd := exec.CommandContext(t.Context(), starter, append([]string{"conformance", "--dir", dir}, tt.args...)...)
			cmd.Dir = t.TempDir()
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			code := 0
			var exit *exec.ExitError
			if err := cmd.Run(); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tt.code, code, "%s%s", &stdout, &stderr)
			lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
			require.Equal(t, tt.last, lines[len(lines)-1])
			require.Contains(t, stderr.String(), tt.says)
		})
	}
}
