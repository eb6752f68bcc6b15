package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scenario of births, ends and second lives that holds in every line.
const soundLife = `# C-900  a sound scenario
model: text "one"
model: text "two"
tool work: text "done"
private work: first
created: hold g
session-start 2: inject never
> creating
> until g
  unborn
> release g
> created
  gate created: +1 -1
  announced: session/created agent/created
  listed: first
  roots: first
> followup a
> idle
> inject x
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM SE TE(completed) IS+(next-step:x)
  account 1 completed
  pending next-step: x
> export
> release g
> create as second
  nothing
> release g
> fork from nobody
  fails "SESSION_NOT_FOUND"
> meet first
> release g
> fork as child at TE(completed)
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM SE TE(completed) ES
  header: {"parentSession":"first","delegationDepth":null}
> meet second
> worker stop
> worker start
> terminate
> release g
> resume
  ES
> stale
  fails "nobody takes it"
> leaving d
> left d
  status closed
> create as twins
  nothing
`

// One of two creations, and logs that the scenario writes itself.
const soundText = `# C-900  a sound scenario
> create twice
  born 1 of 2
> append UM(a) TS1 SS1.1 AM(c1) TC(c1) TR(c1)
  UM(a) TS1 SS1.1 AM TC(c1) TR(c1)
> keep
  kept: user a | assistant call c1 work {} | result c1 done
> append TR(c1)~5-5 SE TE(error UNKNOWN) UM(s)~0-0
  TR(c1)~ SE TE(error UNKNOWN) UM(s)~
  history: user s | assistant call c1 work {} | result c1 short
> scatter 9
> replay
  nothing
`

var wrongLife = []wrongLine{
	{"  unborn\n> release g\n> created\n", "> release g\n> created\n  unborn\n", "unborn: want yes, got no"},
	{"agent/created\n", "agent/created agent/disposed\n", "announced: want"},
	{"listed: first", "listed: none", "listed: want none, got first"},
	{"roots: first", "roots: first,second", "roots: want first,second, got first"},
	{"account 1 completed", "account 1 completed dropped", "account: want 1 completed dropped, got 1 completed"},
	{"account 1 completed", "account none", "account: want none, got 1 completed"},
	{"pending next-step: x", "pending empty", "pending: want empty, got next-step: x"},
	{`"parentSession":"first"`, `"parentSession":"second"`, "header: want"},
	{"SESSION_NOT_FOUND", "OPEN_TURN", "fails: want"},
	{"  ES\n> stale", "  nothing\n> stale", "nothing: want nothing, got ES"},
	{"> left d\n", "> left e\n", "e is not leaving"},
	{"> meet second\n", "> meet nobody\n", "there is no other agent nobody"},
	{"> create as twins\n  nothing\n", "> create as twins\n> inject y\n  IS+(next-step:y)\n> meet first\n> inject z\n> meet second\n", "the log gained what nobody looked at: IS+(next-step:z)"},
}

var wrongText = []wrongLine{
	{"born 1 of 2", "born 2 of 2", "born: want 2 of 2, got 1 of 2"},
	{"kept: user a", "kept: user s", "kept: want"},
	{"TC(c1) TR(c1)\n  UM", "TC(c1) TR(c2)\n  UM", "§2.4.3.4"},
	{"UM(s)~0-0\n  TR", "UM(s)~0-9\n  TR", "surface.replace.unknown"},
	{"> scatter 9\n> replay\n  nothing\n", "> append UM(z)\n", "the log gained what nobody looked at: UM(z)"},
	{"history: user s", "history: user a", "history: want"},
}

func TestASoundLifeHolds(t *testing.T) {
	t.Parallel()
	for _, text := range []string{soundLife, soundText} {
		r := runText(t, text)
		require.True(t, r.OK, r.Error)
	}
}

func TestAWrongLifeFails(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string][]wrongLine{soundLife: wrongLife, soundText: wrongText} {
		for _, tt := range wrong {
			require.Contains(t, text, tt.old)
			t.Run(tt.old+" is not "+tt.wrong, func(t *testing.T) {
				t.Parallel()
				r := runText(t, strings.Replace(text, tt.old, tt.wrong, 1))
				require.False(t, r.OK)
				require.Contains(t, r.Error, tt.want)
			})
		}
	}
}

// Lines that cannot be meant are refused.
func TestWrongLinesOfLivesAreRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"created x: hold g":      "invalid syntax",
		"private work: first":    "want `private TOOL: NAME`, after the tool",
		"> create soon":          `unknown word "soon"`,
		"> worker kill":          "want `worker stop` or `worker start`",
		"> fork near":            "want as, at or from",
		"> append":               "want `append ENTRY …` or `append JSON`",
		"> look\n  header: {":    "is not JSON",
		"> scatter often":        "is not a whole number",
		"> import {\"version\":": "is not JSON",
		"> meet":                 "the name of an agent is missing",
		"> look\n  account":      "what is to be seen is missing",
		"> leaving":              "the name of the caller is missing",
		"> import as":            "the name of the agent is missing",
		"> left":                 "the name of the caller is missing",
		"> look\n  announced:":   "what is to be seen is missing",
		"> fork as child at":     "an event is missing",
		"session-start: reject":  `"reject" is nothing that a session-start does`,
		"> look\n  listed:":      "what is to be seen is missing",
		"> create as":            "the name of the agent is missing",
		"> fork from":            "the id of the parent is missing",
	} {
		text := "# C-900  x\n" + line + "\n"
		if !strings.Contains(line, ">") {
			text += "> look\n"
		}
		if !strings.Contains(line, "\n") {
			text += "  nothing\n"
		}
		_, err := Parse("f.txt", text)
		require.ErrorContains(t, err, want, line)
	}
}
