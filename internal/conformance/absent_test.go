package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAbsentItemsAreChecked(t *testing.T) {
	t.Parallel()
	const sound = "# comment\n\nC-902\n  rule: a\n  why:  b\n        c\n  instead: C-901\n"
	tests := []struct{ name, text, want string }{
		{"sound", sound, ""},
		{"says too little", "C-902\n  rule: a\n  instead: C-901\n", ":1: C-902 does not say why"},
		{"is there twice", sound + sound, "C-902 is there already"},
		{"is a scenario", "C-901\n  rule: a\n  why: b\n  instead: C-901\n", "C-901 is there already"},
		{"names nothing", "C-902\n  rule: a\n  why: b\n  instead: C-999\n", "there is no scenario C-999"},
		{"no id", "  rule: a\n", ":1: an item begins with its id"},
		{"another word", "C-902\n  reason: a\n", `want an id, or`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "scenarios")
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("# C-901  x\n> idle\n  nothing\n"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "..", notApplicable), []byte(tt.text), 0o644))
			_, err := Load(dir)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}
