package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scenario of tool gates, large results, listeners of a turn's end and maintenance that holds in every line.
const soundAround = `# C-900  a sound scenario
model: tool c1 work {} tool c2 work {}
model: text "one"
tool work: parallel, long 2000
gate tool-pre c2: deny "no"
gate tool-post *:
stopping A 1.1: steer x
model: text "two"
max-result: 1000
task tidy: answer {"n":1}
> maintain tidy
  result {"n":1}
> maintain other
  refused UNKNOWN_TASK
> followup a
> idle
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM TC(c1) TC(c2) TR(c1) TR(c1)~ TR!(c2) SE
  SS1.2 CH AM SE IS+(next-step:x) IS-(next-step:1) SS1.3 UM(x) CH AM SE TE(completed)
  gate tool-pre: c1 c2
  gate tool-post: c1 c2!
  gate stopping: A:1.1 A:1.2
  shown TR(c1)#1: whole 2000
  shown TR(c1)~: head, note, tail of 2000
  sent 2 c1: TR(c1)~
  stored all
  index none
`

// A wrong line, and what the runner says of it.
type wrongLine struct{ old, wrong, want string }

// wrongElsewhere are the lines that tests of other files let fail.
var wrongElsewhere = [][]wrongLine{wrongRequest, wrongAround, wrongLife, wrongText, wrongFamily, wrongPeople, wrongInbox}

var wrongAround = []wrongLine{
	{`result {"n":1}`, `result {"n":2}`, `result: want {"n":2}, got {"n":1}`},
	{`result {"n":1}`, `result none`, `result: want none`},
	{"whole 2000", "whole 1999", "shown TR(c1)#1: want whole 1999, got whole 2000"},
	{"head, note, tail of 2000", "whole 2000", "shown TR(c1)~: want whole 2000, got head, note, tail of 2000"},
	{"shown TR(c1)#1", "shown TC(c1)", "shown TC(c1): tool/call is no result of a tool"},
	{"sent 2 c1: TR(c1)~", "sent 2 c1: TR(c1)#1", "sent 2 c1: want TR(c1)#1, got something else"},
	{"sent 2 c1: TR(c1)~", "sent 2 c3: TR(c1)~", "sent 2 c3: want TR(c1)~, got no such result"},
	{"tool-pre: c1 c2", "tool-pre: c1", "gate tool-pre: want c1, got c1 c2"},
	{"c1 c2!", "c1 c2", "gate tool-post: want c1 c2, got c1 c2!"},
	{"A:1.1 A:1.2", "A:1.1", "gate stopping: want A:1.1"},
	{"index none", "index 1.1.c1 approval", "index: want 1.1.c1 approval, got none"},
	{"stored all", "stored 30 of 31", "stored: want 30 of 31, got all"},
	{"refused UNKNOWN_TASK", "refused BUSY", "refused: want BUSY, got UNKNOWN_TASK"},
}

func TestASoundScenarioAroundToolsHolds(t *testing.T) {
	t.Parallel()
	r := runText(t, soundAround)
	require.True(t, r.OK, r.Error)
}

func TestAWrongObservationAroundToolsFails(t *testing.T) {
	t.Parallel()
	for _, tt := range wrongAround {
		require.Contains(t, soundAround, tt.old)
		t.Run(tt.old+" is not "+tt.wrong, func(t *testing.T) {
			t.Parallel()
			r := runText(t, strings.Replace(soundAround, tt.old, tt.wrong, 1))
			require.False(t, r.OK)
			require.Contains(t, r.Error, tt.want)
		})
	}
}

// What the model was shown in the place of a large result must tell the truth.
func TestAProjectionThatLiesIsSeen(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"xx":                             "whole 2",
		"x\n\n[abc]\n\nx":                `"x\n\n[abc]\n\nx"`,
		"x [5 of 9 bytes " + sum + "] x": "a wrong number of bytes",
		"x [7 of 9 bytes " + sum + "] x": "a pointer to something else",
		"xx [" + strings.Repeat("9", 3) + " of 1000 bytes " + sum + "] " + strings.Repeat("x", 100): "more than the threshold",
	} {
		require.Contains(t, shownWords(text, 100), want)
	}
}
