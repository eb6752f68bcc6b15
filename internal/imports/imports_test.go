package imports

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/everturn/everturn/"

// standard, in a list, stands for nothing but the standard library.
const standard = "std"

// rules says for every package which of ours it may import. A name that ends with /... stands for what is below it too.
var rules = map[string]string{
	"session": standard,
	"signals": "session",

	"llm":                 "session",
	"llm/internal/vendor": "llm session",
	"llm/openai":          "llm llm/internal/vendor session",
	"llm/anthropic":       "llm llm/internal/vendor session",
	"llm/scripted":        "llm session",
	"llm/cassette":        "llm session",
	"llm/llmtest":         "llm session",

	"tools":         "session",
	"tools/builtin": "tools session",

	"plugin": "session llm tools",

	"internal/work":            "session",
	"internal/driver":          "session internal/work",
	"internal/store":           "session",
	"internal/store/storetest": "session internal/store",
	"internal/stream":          "session",
	"internal/log":             "",
	"internal/servertest":      "workflows internal/log",
	"internal/soak":            "",
	"internal/webhook":         "",

	"activities": "session signals llm tools plugin internal/work internal/store internal/stream internal/webhook",
	"workflows":  "session signals internal/work internal/driver",
	"agents":     "session signals internal/store internal/stream",
	"worker":     "everything",

	"agents/inworkflow": "session signals",

	// The reference scenario and the suite are made of the scripted model and built-in tools; the local engine of all.
	"internal/golden":      "everything",
	"internal/conformance": "everything",
	"internal/explore":     "everything",
	"internal/local":       "everything",
	"everturntest":         "everything",
	"internal/gateway":     "agents session",

	// The program puts everything together.
	"cmd/starter": "everything",

	// Programs and tests of the whole.
	"e2e/...": "everything", "bench/...": "everything", "conformance/...": "everything", "examples/...": "everything",
	"deploy/...": "", "docs": "", "internal/imports": "", "internal/mutation": "",
}

// foreign says which of others' packages only some of ours may import.
var foreign = map[string]string{
	"go.temporal.io/sdk":                  "agents agents/inworkflow workflows activities worker cmd/starter e2e/... bench/... examples/order internal/log internal/conformance internal/servertest",
	"go.temporal.io/api":                  "agents agents/inworkflow workflows activities worker cmd/starter e2e/... bench/... internal/conformance internal/servertest",
	"go.temporal.io/server":               "",
	"github.com/openai/openai-go":         "llm/openai llm/internal/vendor",
	"github.com/anthropics":               "llm/anthropic llm/internal/vendor",
	"gocloud.dev":                         "internal/store cmd/starter",
	"github.com/spf13/cobra":              "cmd/starter",
	"go.uber.org/zap":                     "internal/log worker cmd/starter",
	"github.com/google/jsonschema-go":     "tools",
	"github.com/standard-webhooks":        "internal/webhook",
	"github.com/klauspost/compress":       "internal/store",
	"github.com/compose-spec/compose-go":  "",
	"github.com/everturn/everturn/worker": "cmd/starter e2e/... bench/... examples/... internal/conformance everturntest",
}

// A listed package is what `go list` says of one.
type listed struct {
	ImportPath string
	Imports    []string
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, ok := ruleOf(name)
		if !ok {
			t.Errorf("%s is in no rule: add it to the list", name)
			continue
		}
		for _, i := range p.Imports {
			if why := violation(name, allowed, i); why != "" {
				t.Errorf("%s must not import %s: %s", name, i, why)
			}
		}
	}
}

// A rule that nothing can break is no rule.
func TestTheRulesCanBeBroken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, imports string }{
		{"session", "github.com/google/uuid"},
		{"session", module + "signals"},
		{"internal/driver", module + "internal/store"},
		{"workflows", module + "plugin"},
		{"agents", module + "worker"},
		{"worker", "go.temporal.io/server/temporal"},
		{"internal/driver", "go.temporal.io/sdk/workflow"},
		{"plugin", "go.temporal.io/sdk/activity"},
		{"tools", "github.com/openai/openai-go/v3"},
		{"workflows", module + "cmd/starter"},
	} {
		allowed, ok := ruleOf(tt.name)
		require.True(t, ok)
		require.NotEmpty(t, violation(tt.name, allowed, tt.imports), "%s imports %s", tt.name, tt.imports)
	}
}

// violation says why a package may not import another; empty means that it may.
func violation(name string, allowed []string, imports string) string {
	for prefix, users := range foreign {
		if (imports == prefix || strings.HasPrefix(imports, prefix+"/")) && !matches(strings.Fields(users), name) {
			return "only these may: " + users
		}
	}
	ours, isOurs := strings.CutPrefix(imports, module)
	switch {
	case isOurs && matches([]string{"cmd/...", "e2e/...", "examples/...", "bench/..."}, ours) && !strings.HasPrefix(name, "e2e"):
		return "nobody imports a program"
	case isOurs && slices.Contains(allowed, "everything"), isOurs && matches(allowed, ours):
		return ""
	case isOurs:
		return "it may import " + strings.Join(allowed, " ")
	case slices.Contains(allowed, standard) && strings.Contains(imports, "."):
		return "it may import the standard library only"
	}
	return ""
}

func ruleOf(name string) ([]string, bool) {
	for rule, allowed := range rules {
		if matches([]string{rule}, name) {
			return strings.Fields(allowed), true
		}
	}
	return nil, false
}

// matches reports whether one of the patterns stands for the package.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		above, below := strings.CutSuffix(p, "/...")
		return name == above || below && strings.HasPrefix(name, above+"/")
	})
}

// packages lists the packages of this module, without their tests.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// The server and this module do not compile together, and its tree is large: only devserver has it.
func TestTheServerIsNotInThisModule(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, path := range []string{"go.temporal.io/server", "github.com/temporalio/ui-server", "modernc.org/sqlite"} {
		require.NotContains(t, string(mod), path)
	}
	require.NotContains(t, string(mod), "\nreplace ")
}
