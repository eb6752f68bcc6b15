package agents_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/everturn/everturn/agents"
	"github.com/stretchr/testify/require"
)

// bare clears the environment that Dial reads.
func bare(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	for _, name := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_PROFILE", "EVERTURN_STORE"} {
		t.Setenv(name, "")
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(home, "none.toml"))
	t.Setenv("EVERTURN_HOME", home)
	return home
}

func TestDialSaysWhatToDo(t *testing.T) {
	tests := []struct {
		name    string
		file    string // of the development server
		options agents.DialOptions
		want    string
	}{
		{"nothing is named", "", agents.DialOptions{}, "no Temporal server is named: set TEMPORAL_ADDRESS, or start one with `starter dev`"},
		{"nobody listens", "", agents.DialOptions{Address: "127.0.0.1:1"}, "temporal at 127.0.0.1:1 does not answer"},
		{"the development server is gone", `{"address":"127.0.0.1:1"}`, agents.DialOptions{}, "temporal at 127.0.0.1:1 does not answer"},
		{"the address file is garbage", `{`, agents.DialOptions{}, "dev.json: unexpected end of JSON input (remove it, or set TEMPORAL_ADDRESS)"},
		{"the address file names nothing", `{}`, agents.DialOptions{}, "it names no address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := bare(t)
			if tt.file != "" {
				require.NoError(t, os.WriteFile(filepath.Join(home, "dev.json"), []byte(tt.file), 0o600))
			}
			_, err := agents.Dial(t.Context(), tt.options)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestDialNamesABrokenProfile(t *testing.T) {
	home := bare(t)
	file := filepath.Join(home, "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte("[profile"), 0o600))
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	_, err := agents.Dial(t.Context(), agents.DialOptions{})
	require.ErrorContains(t, err, "read the Temporal profile")
}
