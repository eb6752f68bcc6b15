package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A scenario that holds in every line. The tests below change one of them.
const sound = `# C-900  a sound scenario
model: tool c1 work {"n":1}
model: text "one" hold m
message a: text "hello"
tool work: text "done"
> followup a
  receipt started
> until m
  status running
> wait w
  waiting w
> release m
> join w
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM TC(c1) TR(c1) SE SS1.2 CH AM SE TE(completed)
  status idle
  status-trace running,idle
  notices: created inserted(a) session-start(startup) running TS1 claimed(a,1) TE(completed) idle
  requests 2
  request 1: user a
  history: user a | assistant call c1 work {"n":1} | result c1 done | assistant one
  surface 4
  inbox empty
  tools ran: c1
  gate pre-step: 1.1(a) 1.2()
  frames 1.1/1: start chunk×4 end(AM)
  data AM: {"usage":{"inputTokens":10},"interrupted":null}
  cites AM: own CH×4
  deltas AM: "one"
  seqs 0–22
> inject a
> inject a
  refused DUPLICATE_ID
  IS+(next-step:a)
> configure cap -1
  fails "tool calls in flight"
  nothing
`

func runText(t *testing.T, text string) Result {
	t.Helper()
	all, err := Parse("f.txt", text)
	require.NoError(t, err)
	require.Len(t, all, 1)
	all[0].patience = 3 * time.Second
	return all[0].Run(t.Context(), Local())
}

func TestASoundScenarioHolds(t *testing.T) {
	t.Parallel()
	all, err := Parse("f.txt", sound)
	require.NoError(t, err)
	r := all[0].Run(t.Context(), Local())
	require.True(t, r.OK, r.Error)
	require.Equal(t, Result{ID: "C-900", Title: "a sound scenario", File: "f.txt", Line: 1, Target: "local", OK: true, MS: r.MS}, r)
}

// Every kind of observation can fail.
func TestAWrongObservationFails(t *testing.T) {
	t.Parallel()
	tests := []struct{ old, wrong, want string }{
		{"TC(c1) TR(c1)", "TC(c1)", "log: want"},                                          // an event too many
		{"RH(initial) RC", "RH(initial)", "log: want"},                                    // of another kind
		{"TE(completed)\n  status idle", "TE(completed) TS2\n  status idle", "log: want"}, // one too few
		{"CH×4 AM", "CH×5 AM", "log: want"},
		{"UM(a)", "UM(b)", "log: want"},
		{"receipt started", "receipt queued", "receipt: want queued, got started"},
		{"receipt started", "refused INVALID", "refused: want INVALID, got no refusal, but started"},
		{"receipt started", `fails "anything"`, "fails: want"},
		{"status running\n", "status idle\n", "status: want idle, got running"},
		{"waiting w", "waiting v", "waiting: want v, got nobody"},
		{"status idle\n", "status running\n", "status: want running, got idle"},
		{"status-trace running,idle", "status-trace running", "status-trace: want running, got running,idle"},
		{"claimed(a,1)", "claimed(a,2)", "notices: want"},
		{"TE(completed) idle\n", "TE(completed)\n", "notices: want"},
		{"requests 2", "requests 1", "requests: want 1, got 2"},
		{"requests 2", "requests 3", "requests: want 3, got 2"},
		{"request 1: user a", "request 1: user b", "request 1: want user b, got user a"},
		{"request 1: user a", "request 3: user a", "request 3: want user a, got no such request"},
		{"assistant one\n", "assistant two\n", "history: want"},
		{"surface 4", "surface 5", "surface: want 5, got 4"},
		{"inbox empty", "inbox next-step: a", "inbox: want next-step: a, got empty"},
		{"tools ran: c1", "tools ran: none", "tools ran: want none, got c1"},
		{"tools ran: c1", "tools most: 2", "tools most: want 2, got 1"},
		{"tools ran: c1", "tools running: c1", "tools running: want c1, got none"},
		{"tools ran: c1", "tools order: -c1,+c1", "tools order: want -c1,+c1, got +c1,-c1"},
		{"1.1(a) 1.2()", "1.1(a)", "gate pre-step: want 1.1(a), got 1.1(a) 1.2()"},
		{"chunk×4", "chunk×3", "frames 1.1/1: want"},
		{"end(AM)", "end(AA)", "frames 1.1/1: want"},
		{`"inputTokens":10`, `"inputTokens":11`, "data AM: want"},
		{`"interrupted":null`, `"interrupted":true`, "data AM: want"},
		{"data AM:", "data AA:", "data AA: the log has no such event"},
		{"own CH×4", "own CH×3", "cites AM: want own CH×3, got own CH×4"},
		{"own CH×4", "none", "cites AM: want none"},
		{`deltas AM: "one"`, `deltas AM: "two"`, "deltas AM: want"},
		{"seqs 0–22", "seqs 0–21", "seqs: want 0–21, got 0–22"},
		{"refused DUPLICATE_ID", "refused INVALID", "refused: want INVALID, got DUPLICATE_ID"},
		{"  refused DUPLICATE_ID\n", "", "refused (DUPLICATE_ID)"}, // an error nobody looked at
		{`"tool calls in flight"`, `"MaxTokens"`, "fails: want"},
		{"> inject a\n> inject a\n  refused DUPLICATE_ID\n  IS+(next-step:a)\n", "> inject a\n  nothing\n", "nothing: want nothing, got IS+(next-step:a)"},
	}
	failed := map[string]bool{}
	for _, tt := range tests {
		require.Contains(t, sound, tt.old)
		failed[strings.TrimSuffix(strings.Fields(tt.want)[0], ":")] = true
		t.Run(tt.old+" is not "+tt.wrong, func(t *testing.T) {
			t.Parallel()
			r := runText(t, strings.Replace(sound, tt.old, tt.wrong, 1))
			require.False(t, r.OK)
			require.Contains(t, r.Error, tt.want)
			require.Regexp(t, `^f\.txt:\d+: `, r.Error)
		})
	}
	for _, tt := range slices.Concat(wrongElsewhere...) {
		failed[strings.TrimSuffix(strings.Fields(tt.want)[0], ":")] = true
	}
	for _, key := range slices.Sorted(maps.Keys(watches)) {
		require.True(t, failed[key], "no test lets %q fail", key)
	}
}

// What a scenario does not say is checked nevertheless.
func TestASilentScenarioFails(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"an event that nobody looked at", "# C-901  x\n> idle now\n  nothing\n> inject a\n", "the log gained what nobody looked at: IS+(next-step:a)"},
		{"the rest of a turn", "# C-901  x\nmodel: text \"ok\" hold m\n> followup a\n> until m\n  IS+(next-turn:a) TS1 IS-(next-turn:1)\n> release m\n",
			"the log gained what nobody looked at: SS1.1"},
		{"an agent that goes on", "# C-901  x\nmodel: text \"ok\" hold m\n> followup a\n> until m\n  IS+(next-turn:a) TS1 IS-(next-turn:1)\n",
			"the agent does not become idle"},
		{"a waiter that is forgotten", "# C-901  x\n> wait w\n  nothing\n", "nobody joined the waiter w"},
		{"an error of an act", "# C-901  x\n> inject a\n> inject a\n  IS+(next-step:a)\n", "f.txt:3: > inject a: refused (DUPLICATE_ID)"},
		{"an idle that does not come", "# C-901  x\nmodel: text \"ok\" hold m\n> followup a\n> idle\n  nothing\n", "f.txt:4:"},
		{"a hold that nobody reaches", "# C-901  x\nmodel: text \"ok\"\ngate pre-step 2.1: hold g\n> followup a\n> until g\n  nothing\n", "nobody arrives"},
		{"an agent that is not idle now", "# C-901  x\nmodel: text \"ok\" hold m\n> followup a\n> until m\n> idle now\n", "the agent is not idle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := tt.text
			if !strings.Contains(text, "\n  ") {
				text += "  status running\n"
			}
			r := runText(t, text)
			require.False(t, r.OK)
			require.Contains(t, r.Error, tt.want)
		})
	}
}
