package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sections are the parts of the behaviour that the driver and its surroundings carry.
var sections = map[int]int{3: 7, 4: 11, 5: 0, 6: 4, 7: 4} // number of subsections

// Whoever knows a section finds its file, and every file that is named is there.
func TestEverySectionNamesItsFile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("spec-map.md")
	require.NoError(t, err)
	behaviour, _, found := strings.Cut(string(raw), "## Architecture")
	require.True(t, found)
	covered := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9][0-9., –]*) \| .* \| (.*) \|$`).FindAllStringSubmatch(behaviour, -1) {
		files := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1)
		require.NotEmpty(t, files, row[0])
		folder := ""
		for _, f := range files {
			if strings.Contains(f[1], "/") {
				folder = filepath.Dir(f[1])
			}
			if strings.HasSuffix(f[1], ".go") {
				require.FileExists(t, filepath.Join("..", folder, filepath.Base(f[1])), row[0])
			}
		}
		for _, s := range expand(t, row[1]) {
			covered[s] = true
		}
	}
	for section, subsections := range sections {
		if subsections == 0 {
			require.True(t, covered[strconv.Itoa(section)], "§%d", section)
		}
		for n := 1; n <= subsections; n++ {
			require.True(t, covered[strconv.Itoa(section)+"."+strconv.Itoa(n)], "§%d.%d", section, n)
		}
	}
}

// expand reads "3.1–3.3" and "3.4, 5".
func expand(t *testing.T, text string) (all []string) {
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "–")
		all = append(all, first)
		if !isRange {
			continue
		}
		section, from, _ := strings.Cut(first, ".")
		_, to, _ := strings.Cut(last, ".")
		low, err := strconv.Atoi(from)
		require.NoError(t, err, text)
		high, err := strconv.Atoi(to)
		require.NoError(t, err, text)
		for n := low + 1; n <= high; n++ {
			all = append(all, section+"."+strconv.Itoa(n))
		}
	}
	return all
}

// Every handler of the driver names the part of the spec or of the architecture that it is.
func TestEveryHandlerNamesItsSection(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../internal/driver/*.go")
	require.NoError(t, err)
	handlers := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !strings.HasPrefix(f.Name.Name, "on") || strings.HasSuffix(file, "_test.go") {
				continue
			}
			handlers++
			require.Regexp(t, `§[0-9]|\b[AD][0-9]`, f.Doc.Text(), "%s: %s", file, f.Name.Name)
		}
	}
	require.Greater(t, handlers, 15)
}
