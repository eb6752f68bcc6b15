package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var documents = []string{"../README.md", "../CHANGELOG.md", "*.md", "decisions/*.md"}

func each(t *testing.T, patterns []string, f func(path, text string)) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			f(file, string(raw))
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	each(t, documents, func(path, text string) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(m[1], "://") {
				target, err := os.ReadFile(filepath.Join(filepath.Dir(path), m[1]))
				if info, statErr := os.Stat(filepath.Join(filepath.Dir(path), m[1])); statErr == nil && info.IsDir() {
					continue
				}
				require.NoError(t, err, path)
				if m[2] != "" {
					require.Contains(t, anchors(string(target)), m[2], path)
				}
			}
		}
	})
}

// anchors are the headings of a document as links name them.
func anchors(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, "#"+strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

// Every verb and every exit code of the program is in cli.md.
func TestTheCommandLineIsDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("cli.md")
	require.NoError(t, err)
	doc := string(raw)
	each(t, []string{"../cmd/starter/*.go"}, func(path, source string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, m := range regexp.MustCompile(`Use:\s+"(\w+)`).FindAllStringSubmatch(source, -1) {
			if m[1] != "starter" {
				require.Regexp(t, "(?m)^\\| `(inbox |log )?\\[?"+m[1]+"\\b", doc, "verb %s", m[1])
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^\texit[A-Z]\w+\s+= (\d+)`).FindAllStringSubmatch(source, -1) {
			require.Contains(t, doc, "\n| "+m[1]+" | ", "exit code %s", m[1])
		}
	})
}

func TestEveryDecisionIsListed(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("decisions/README.md")
	require.NoError(t, err)
	each(t, []string{"decisions/0*.md"}, func(path, text string) {
		name := filepath.Base(path)
		require.Contains(t, string(index), "("+name+")")
		require.True(t, strings.HasPrefix(text, "# "+name[:4]+" "), name)
		for _, part := range []string{"**Decision.**", "**Why.**", "**Cost.**"} {
			require.Contains(t, text, part, name)
		}
	})
}
