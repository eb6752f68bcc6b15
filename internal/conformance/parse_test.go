package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMistakesInFilesAreNamed(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"nothing to look at", "# C-001  x\n> followup a\n", "f.txt:1: C-001 looks at nothing"},
		{"no scenario", "> followup a\n", "f.txt:1: a scenario begins with `# C-nnn  title`"},
		{"an unknown key", "# C-001  x\nmodle: text \"a\"\n> idle\n  nothing\n", `f.txt:2: unknown key "modle"`},
		{"no key", "# C-001  x\nfollowup a\n> idle\n  nothing\n", "f.txt:2: a set-up line is `key: value`"},
		{"set-up after an act", "# C-001  x\n> idle\nmodel: text \"a\"\n  nothing\n", "f.txt:3: the set-up comes before the first act"},
		{"a script that is none", "# C-001  x\nmodel: txt\n> idle\n  nothing\n", "f.txt:2: model: script line 1, column 1"},
		{"an unknown act", "# C-001  x\n> folowup a\n  nothing\n", `f.txt:2: unknown act "folowup"`},
		{"an act without its name", "# C-001  x\n> followup\n  nothing\n", "f.txt:2: followup: the name of a message is missing"},
		{"words too many", "# C-001  x\n> followup a b\n  nothing\n", `f.txt:2: followup: nothing is expected in front of "b"`},
		{"an odd cause", "# C-001  x\n> cancel nobody\n  nothing\n", `f.txt:2: cancel: cancel: "nobody" is neither a cause nor keepInbox`},
		{"what cannot be in a batch", "# C-001  x\n> batch followup a; idle\n  nothing\n", `f.txt:2: batch: "idle" cannot stand here`},
		{"an unknown hold", "# C-001  x\n> until g\n  nothing\n", `f.txt:2: until: the scenario has no hold "g"`},
		{"an unknown fault", "# C-001  x\n> fault burn create blobs/\n  nothing\n", `unknown fault "burn"`},
		{"a rebuild of nothing", "# C-001  x\n> rebuild\n  nothing\n", "the scenario has no line `given:`"},
		{"an unknown deed", "# C-001  x\ntool t: dance\n> idle\n  nothing\n", `f.txt:2: tool: "dance" is nothing that a tool does`},
		{"a deed in the wrong place", "# C-001  x\ngate request 1.1: reject\n> idle\n  nothing\n", `"reject" is nothing that a request does`},
		{"deeds without a comma", "# C-001  x\ntool t: hold h text \"a\"\n> idle\n  nothing\n", "hold: a comma is expected"},
		{"an unknown gate", "# C-001  x\ngate post 1.1: hold h\n> idle\n  nothing\n", `unknown kind "post"`},
		{"an odd place", "# C-001  x\ngate request one: hold h\n> idle\n  nothing\n", `"one" is no place`},
		{"an odd point", "# C-001  x\npoint step/start 1.1: stop\n> idle\n  nothing\n", "want `point NAME PLACE: hold HOLD`"},
		{"an odd listener", "# C-001  x\nlistener agent/status: sleep\n> idle\n  nothing\n", "want `listener NOTICE: panic`"},
		{"an odd policy", "# C-001  x\nretry: fast\n> idle\n  nothing\n", `unknown word "fast"`},
		{"an odd message", "# C-001  x\nmessage a: colour red\n> idle\n  nothing\n", `unknown word "colour"`},
		{"seen before anything", "# C-001  x\n  nothing\n> idle\n  nothing\n", "f.txt:2: nothing was done yet"},
		{"an unknown observation", "# C-001  x\n> idle\n  sttus idle\n", `f.txt:3: unknown observation "sttus"`},
		{"no entry of a trace", "# C-001  x\n> idle\n  TS1 XX TE(completed)\n", `f.txt:3: "XX" is no entry of a trace`},
		{"an open parenthesis", "# C-001  x\n> idle\n  TS1 TE(completed\n", `"TE(completed" is no entry`},
		{"a value that is missing", "# C-001  x\n> idle\n  status\n", "f.txt:3: status: what is to be seen is missing"},
		{"data that is no JSON", "# C-001  x\n> idle\n  data AM: {\n", "f.txt:3: data:"},
		{"a request without number", "# C-001  x\n> idle\n  request one: user a\n", `"one" is not the number of a request`},
		{"an error without quotes", "# C-001  x\n> idle\n  fails because\n", "want a part of the error in double quotes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("f.txt", tt.text)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestEveryMistakeIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Parse("f.txt", "# C-001  x\nmodle: a\n> followup\n  sttus idle\n# C-002  y\n")
	for _, want := range []string{"f.txt:2:", "f.txt:3:", "f.txt:4:", "f.txt:1: C-001 looks at nothing", "f.txt:5: C-002 looks at nothing"} {
		require.ErrorContains(t, err, want)
	}
}

func TestADirectoryIsLoaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, err := Load(dir)
	require.ErrorContains(t, err, "holds no scenario file")
	write("b.txt", "# About these files.\n\n# C-002  two\n> idle\n  nothing\n")
	write("a.txt", "# C-001  one  # not a comment\n> idle   # a comment\n  nothing\n")
	write("not-applicable.txt", "C-159\n  rule: a\n  why: b\n  instead: the store\n")
	all, err := Load(dir)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "C-001", all[0].ID, "in the order of the files")
	write("c.txt", "# C-001  again\n> idle\n  nothing\n")
	_, err = Load(dir)
	require.ErrorContains(t, err, "c.txt:1: C-001 is there already, at "+filepath.Join(dir, "a.txt")+":1")
}

func TestCommentsEndLinesOutsideOfStrings(t *testing.T) {
	t.Parallel()
	require.Equal(t, `model: text "a # b"`, uncomment(`model: text "a # b"   # the answer`))
	require.Equal(t, `model: text "a \" # b"`, uncomment(`model: text "a \" # b"`))
	require.Equal(t, "data AM#2: {}", uncomment("data AM#2: {}"))
	require.Empty(t, uncomment("# all of it"))
}

func TestATraceIsBrokenAtTurnsAndSteps(t *testing.T) {
	t.Parallel()
	long := "IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM TC(c1) TR(c1) SE SS1.2 CH×4 AM SE TE(aborted user)"
	require.Equal(t, []string{
		"IS+(next-turn:a)", "TS1 IS-(next-turn:1)", "SS1.1 UM(a) RH(initial) RC CH×4 AM TC(c1) TR(c1) SE", "SS1.2 CH×4 AM SE TE(aborted user)",
	}, brokenTrace(long))
}
