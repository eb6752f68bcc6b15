package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const three = `# C-901  holds
model: text "ok"
> followup a
> idle
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM SE TE(completed)

# C-902  does not
> idle now
  status running

# C-903  holds too
> idle now
  nothing
`

func loaded(t *testing.T, text string) []*Scenario {
	t.Helper()
	all, err := Parse("f.txt", text)
	require.NoError(t, err)
	for _, s := range all {
		s.patience = 5 * time.Second
	}
	return all
}

func TestTheReportHasOneLinePerScenario(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	failed, err := Run(t.Context(), &out, loaded(t, three), Local(), Options{})
	require.NoError(t, err)
	require.Equal(t, 1, failed)
	require.Equal(t, []string{
		"ok    C-901  holds",
		"FAIL  C-902  does not — f.txt:9: status: want running, got idle",
		"ok    C-903  holds too",
		"2 passed, 1 failed",
		"",
	}, strings.Split(out.String(), "\n"))
}

func TestTheReportCanBeJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	failed, err := Run(t.Context(), &out, loaded(t, three), Local(), Options{JSON: true, Only: regexp.MustCompile("holds")})
	require.NoError(t, err)
	require.Zero(t, failed)
	dec := json.NewDecoder(&out)
	var r Result
	require.NoError(t, dec.Decode(&r))
	require.Equal(t, "C-901", r.ID)
	require.NoError(t, dec.Decode(&r))
	require.Equal(t, "C-903", r.ID)
	var sum map[string]int
	require.NoError(t, dec.Decode(&sum))
	require.Equal(t, map[string]int{"passed": 2, "failed": 0}, sum)
}

func TestUpdateWritesWhatIsSeen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f.txt")
	before := `# C-901  an update
model: text "ok"
> inject x                 # a comment
  nothing
  status running
> followup a
> idle
  IS+(next-turn:a)
  TS1 TE(completed)
  requests 7
  request 1: user a
  data AM: {"usage":{"inputTokens":1}}
> idle now
  TS2
`
	after := `# C-901  an update
model: text "ok"
> inject x                 # a comment
  IS+(next-step:x)
  status idle
> followup a
> idle
  IS+(next-turn:a)
  TS1 IS-(next-step:1) IS-(next-turn:1)
  SS1.1 UM(x) UM(a) RH(initial) RC CH×4 AM SE TE(completed)
  requests 1
  request 1: user x | user a
  data AM: {"usage":{"inputTokens":10}}
> idle now
  nothing
`
	require.NoError(t, os.WriteFile(file, []byte(before), 0o600))
	for range 2 { // what was written holds
		all, err := Load(filepath.Dir(file))
		require.NoError(t, err)
		require.NoError(t, Update(t.Context(), all, Local()))
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, after, string(got))
	}
}
