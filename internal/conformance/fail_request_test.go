package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scenario of routes, prompt parts, interceptors and attempts to create that holds in every line.
const soundRequest = `# C-900  a sound scenario
model: text "one"
model: text "two"
model: text "three"
route scenario: window=1000 updates
route other: max-tokens=100 effort=low
replacement other: says "something else"
section first: "Be kind."
context place: "Vienna"
gate request 2.1: model other
gate stream 1.1: recording "recorded"
gate inner-pre-step 2.1: series
message a: content [{"type":"text","text":"a"}]
> lend a "changed"
> followup b
> idle
  IS+(next-step:a) IS+(next-turn:b) TS1 IS-(next-step:1) IS-(next-turn:1) SS1.1 UM(a) UM(b) UM(ctx1.1) RH(initial) RC CH×3 AM SE TE(completed)
  mentions RH: "Be kind."
  rebuilt 1
  requests 0
> set context place "Graz"
> set section first "Be brief."
> swap other
> followup c
> idle
  IS+(next-turn:c) TS2 IS-(next-turn:1) SS2.1 UM(c) UM(ctx2.1) RH(change,series) RC CH AM SE TE(completed)
  request-data 1: {"config":{"model":"other","maxTokens":null},"system":"Be brief."}
  rebuilt 2
  history: user a | user b | user[prompt] "Runtime context. This snapshot supersedes every earlier one.\n\nVienna" | assistant recorded | user c | user[prompt] "Runtime context. This snapshot supersedes every earlier one.\n\nGraz" | assistant "something else"
  gate stream: 1.1/1 2.1/1
> attempt max-tokens 0
  fails "maxTokens is 0"
  published nothing
> attempt wire max-tokens 1
  published session
`

var wrongRequest = []wrongLine{
	{`request-data 1: {"config":{"model":"other"`, `request-data 1: {"config":{"model":"scenario"`, `request-data 1: want {"config":{"maxTokens":null,"model":"scenario"}`},
	{`"maxTokens":null`, `"maxTokens":100`, `request-data 1: want {"config":{"maxTokens":100`},
	{"request-data 1:", "request-data 2:", "request-data 2: want"},
	{"rebuilt 2", "rebuilt 1", "rebuilt: want 1, got 2"},
	{`mentions RH: "Be kind."`, `mentions RH: "Be brief."`, "mentions RH: want"},
	{"mentions RH", "mentions AA", "mentions AA: the log has no such event"},
	{"published nothing", "published session", "published: want session, got nothing"},
	{"published session", "published nothing", "published: want nothing, got session"},
	{"2.1/1", "2.1/2", "gate stream: want"},
	{"Graz\" | assistant", "Vienna\" | assistant", "history: want"},
	{"> attempt wire max-tokens 1", "> attempt wire max-tokens -1", "maxTokens is -1"},
}

func TestASoundScenarioOfRequestsHolds(t *testing.T) {
	t.Parallel()
	r := runText(t, soundRequest)
	require.True(t, r.OK, r.Error)
}

func TestAWrongObservationOfRequestsFails(t *testing.T) {
	t.Parallel()
	for _, tt := range wrongRequest {
		require.Contains(t, soundRequest, tt.old)
		t.Run(tt.old+" is not "+tt.wrong, func(t *testing.T) {
			t.Parallel()
			r := runText(t, strings.Replace(soundRequest, tt.old, tt.wrong, 1))
			require.False(t, r.OK)
			require.Contains(t, r.Error, tt.want)
		})
	}
}

// What a request is compared with is what reached the stream gate; nothing else may have been sent.
func TestARequestThatDidNotReachTheGateIsSeen(t *testing.T) {
	t.Parallel()
	text := "# C-900  x\nmodel: text \"ok\"\ngate stream *:\n> followup a\n> idle\n" +
		"  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM SE TE(completed)\n  rebuilt 1\n"
	require.True(t, runText(t, text).OK)
	all, err := Parse("f.txt", text)
	require.NoError(t, err)
	r := all[0].begin(Local())
	for _, c := range all[0].commands {
		require.NoError(t, r.command(t.Context(), c))
	}
	r.frozen.seen = []string{"another request"}
	require.ErrorContains(t, r.finish(t.Context()), "the model was sent 2 requests, but the log yields 1")
	require.NoError(t, r.leave())
}

// Lines that cannot be meant are refused.
func TestWrongLinesOfRequestsAreRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"route x: fast":                   `unknown fact "fast"`,
		"route: window=1":                 "want `route NAME: facts`",
		"route x: window=many":            "invalid character",
		"route x: says":                   "what the route says is missing",
		"route x: fails":                  "the code of the failure is missing",
		"agent: colour=red":               `unknown word "colour=red"`,
		"section: \"x\"":                  "want `section NAME: \"…\"`",
		"context x: y":                    "invalid character",
		"compaction: quick":               `unknown word "quick"`,
		"compaction: retain=much":         "invalid syntax",
		"summary: shout":                  "script line",
		"gate stream 1.1: reject":         `"reject" is nothing that a stream does`,
		"> set page x \"y\"":              "want `set section NAME",
		"> set section x \"y\"":           "has no line `section x:`",
		"> swap x":                        "has no line `replacement x:`",
		"> attempt cap 1":                 "want `attempt [wire] max-tokens N`",
		"> look\n  request-data 0: {}":    `"0" is not the number of a request`,
		"> look\n  request-data 1: {":     "is not JSON",
		"> look\n  mentions RH: unquoted": "in double quotes",
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
