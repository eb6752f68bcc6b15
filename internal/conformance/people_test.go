package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scenario of calls that people answer, that holds in every line.
const soundPeople = `# C-900  a sound scenario
model: tool c1 ask {}
model: text "ok"
tool ask: question [{"id":"q","text":"Well?"}] 1h
> clock stop
> followup a
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM TC(c1) question/asked
  deferred: c1(question)
> clock pass 30m
> give c1 text "x"
  refused UNKNOWN_CALL
> answer c1 [{"text":"now"}]
  receipt done
> clock go
> idle
  question/answered TR(c1) SE SS1.2 CH AM SE TE(completed)
  data question/answered: {"by":"somebody"}
`

var wrongPeople = []wrongLine{
	{"deferred: c1(question)", "deferred: none", "deferred: want none, got c1(question)"},
	{"clock pass 30m", "clock pass 2h", "refused (UNKNOWN_CALL)"},
	{`answer c1 [{"text":"now"}]`, `answer c1 [{"id":"p","text":"now"}]`, "refused (INVALID)"},
	{`?"}] 1h`, `?"}] soon`, "TR!(c1)"}, // no duration: the tool fails
}

func TestASoundScenarioOfPeopleHolds(t *testing.T) {
	t.Parallel()
	r := runText(t, soundPeople)
	require.True(t, r.OK, r.Error)
}

func TestAWrongScenarioOfPeopleFails(t *testing.T) {
	t.Parallel()
	for _, tt := range wrongPeople {
		t.Run(tt.old+" is not "+tt.wrong, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, soundPeople, tt.old)
			r := runText(t, strings.Replace(soundPeople, tt.old, tt.wrong, 1))
			require.False(t, r.OK)
			require.Contains(t, r.Error, tt.want)
		})
	}
	for act, want := range map[string]string{
		"clock pass": "a duration is missing", `give c1 "x"`: "want text, long, value, content or error", "answer c1 {}": "cannot unmarshal object",
	} {
		_, err := Parse("f.txt", "# C-900  x\n> "+act+"\n  nothing\n")
		require.ErrorContains(t, err, want)
	}
}
