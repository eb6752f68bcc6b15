package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scenario of a child agent and of calls that run, and of a wait that is cancelled, that holds in every line.
const soundFamily = `# C-900  a sound scenario
model: tool c1 look {}
model: text "seen"
model: tool c2 work {}
model: text "done"
model: error SERVER
tool look: delegate k "look around" keep
private look: first
tool work: hold CALL, text "done"
retry: base=1h cap=1h
> followup a
> idle
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM TC(c1) TR(c1) SE SS1.2 CH AM SE TE(completed)
  owns: k
> followup b
> until c2
  calls: running
> release c2
> idle
  IS+(next-turn:b) TS2 IS-(next-turn:1) SS2.1 UM(b) CH AM TC(c2) TR(c2) SE SS2.2 CH AM SE TE(completed)
> clock stop
> followup c
  IS+(next-turn:c) TS3 IS-(next-turn:1) SS3.1 UM(c) CH×1 AA LR(1)
> cancel
> idle
  CR(user) SE TE(aborted user)
> clock go
> meet k
  IS+(next-turn:prompt) TS1 IS-(next-turn:1) SS1.1 UM(prompt) RH(initial) RC CH AM TC(c1) TR!(c1,UNKNOWN_TOOL) SE
  SS1.2 CH AM SE TE(completed)
> meet first
> dispose
  nothing
  ended: k,first
`

var wrongFamily = []wrongLine{
	{"calls: running", "calls: finished", "calls: want finished, got running"},
	{"owns: k", "owns: none", "owns: want none, got k"},
	{"ended: k,first", "ended: first,k", "ended: want first,k, got k,first"},
}

func TestASoundFamilyHolds(t *testing.T) {
	t.Parallel()
	r := runText(t, soundFamily)
	require.True(t, r.OK, r.Error)
}

func TestAWrongFamilyFails(t *testing.T) {
	t.Parallel()
	for _, tt := range wrongFamily {
		require.Contains(t, soundFamily, tt.old)
		t.Run(tt.old+" is not "+tt.wrong, func(t *testing.T) {
			t.Parallel()
			r := runText(t, strings.Replace(soundFamily, tt.old, tt.wrong, 1))
			require.False(t, r.OK)
			require.Contains(t, r.Error, tt.want)
		})
	}
	_, err := Parse("f.txt", "# C-900  x\n> clock back\n  nothing\n")
	require.ErrorContains(t, err, "want `clock stop`, `clock go` or")
}
