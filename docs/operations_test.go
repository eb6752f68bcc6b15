package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every operation in the table of temporal-ui.md is done to a real server by a test that exists.
func TestEveryOperationIsTested(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("temporal-ui.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(raw), "| operation | what happens | test |\n|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	tests := map[string]bool{}
	each(t, []string{"../e2e/*_test.go"}, func(_, source string) {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(source, -1) {
			tests[m[1]] = true
		}
	})
	rows := strings.Split(strings.TrimSpace(table), "\n")
	require.Greater(t, len(rows), 25)
	for _, row := range rows {
		m := regexp.MustCompile("\\| `(Test\\w+)` \\|$").FindStringSubmatch(row)
		require.NotNil(t, m, "no test is named: %s", row)
		require.True(t, tests[m[1]], "no such test in e2e: %s", m[1])
	}
}
