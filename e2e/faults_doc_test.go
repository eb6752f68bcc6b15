package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheFaultMatrixIsDocumented holds docs/faults.md against the table.
func TestTheFaultMatrixIsDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/faults.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(raw), "| what is done | where it strikes | what it may cost |\n|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(strings.TrimSpace(table), "\n\n")
	seen := map[string]bool{}
	var rows []string
	for _, r := range strikes() {
		require.False(t, seen[r.name()], "two rows are named %s", r.name())
		seen[r.name()] = true
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", r.what, r.where, r.may))
	}
	require.Equal(t, strings.Join(rows, "\n"), table)
}

// String says it for the documents.
func (c toll) String() string {
	var out []string
	for _, part := range []struct {
		so   bool
		text string
	}{
		{c.Unknown, "`once`: outcome unknown"},
		{c.Again, "`reconcile`: twice"},
		{c.Store, "turn or call fails with `STORE`"},
		{c.Cut, "the turn is interrupted"},
	} {
		if part.so {
			out = append(out, part.text)
		}
	}
	return strings.Join(out, "; ")
}
