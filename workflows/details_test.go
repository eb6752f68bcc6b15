package workflows

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// hintText ends the details of an agent that can be talked to.
const hintText = "Send a signal: `followup` or `steer` with `\"your text\"`, `cancel` or `dispose` without a payload."

func TestTheDetailsOfAnAgentThatWorks(t *testing.T) {
	t.Parallel()
	s := driver.State{Definition: "d", Model: "p/m", Title: "Refunds\nof today", Phase: driver.Stepping, Turn: 2, Attempt: 3,
		NextStep: make([]driver.Pending, 2), NextTurn: make([]driver.Pending, 1), Cancelled: &session.Cause{Kind: session.CauseUser},
		LastError: &session.Failure{Code: "RATE_LIMIT", Message: "slow\n\n# down"}, Usage: &session.Usage{InputTokens: 12, OutputTokens: 3}}
	require.Equal(t, strings.Join([]string{
		"`Refunds of today`",
		"**running** · turn 2 step 1 attempt 3 · `d` · `p/m` · cancelled by user",
		"Waits for the model (turn 2 step 1 attempt 3).",
		"Messages that wait: 2 for the next step, 1 for turns to come.",
		"Last error: `RATE_LIMIT` `slow # down`",
		"Tokens: 12 in, 3 out.",
		hintText,
	}, "\n\n"), Details(&s, ""))
	require.Contains(t, Details(&s, "the store"), "\n\nWaits for the store.\n\n")
}

func TestTheDetailsOfAnAgentThatRests(t *testing.T) {
	t.Parallel()
	require.Equal(t, "**idle** · turn 0 step 0 · `d`\n\n"+hintText, Details(&driver.State{Definition: "d", Phase: driver.Idle}, ""))
	require.Equal(t, "**closed** · turn 4 step 1 · `d`", Details(&driver.State{Definition: "d", Phase: driver.Closed, Turn: 4, Step: 1}, ""))
}

// Whoever decides needs nothing but this text. See architecture A3.7.
func TestTheDetailsSayHowToDecide(t *testing.T) {
	t.Parallel()
	due := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC).UnixMilli()
	s := driver.State{Definition: "d", Phase: driver.Tools, Turn: 1, Step: 2, StepOpen: true, Calls: []driver.Call{
		{Call: work.Call{Name: "shell"}, State: driver.CallRunning},
		{Call: work.Call{Name: "refund", Arguments: `{"order":1017}`}, State: driver.CallAsking, Ask: &driver.Wait{ID: "1.2.c2", DueMS: due, Digest: "d1"}},
		{Call: work.Call{Name: "mail"}},
	}}
	require.Equal(t, strings.Join([]string{
		"**running** · turn 1 step 2 · `d`",
		"Waits for tools: shell; somebody to answer what stands below.",
		"**To be decided:** `refund` with `{\"order\":1017}`",
		"* to let it run, send the signal `approve` with `{\"id\":\"1.2.c2\",\"by\":\"your name\",\"digest\":\"d1\"}`\n" +
			"* to refuse it, send the signal `deny` with `{\"id\":\"1.2.c2\",\"by\":\"your name\",\"reason\":\"why\"}`\n" +
			"* nobody decides until 2031-05-06T07:08:09Z: it is refused",
		"Calls: `shell` running, `refund` asking, `mail` waiting.",
		hintText,
	}, "\n\n"), Details(&s, ""))

	s.Calls[1].Ask.DueMS, s.Calls[1].Ask.Reason = 0, "more than `10`"
	require.NotContains(t, Details(&s, ""), "nobody decides")
	require.Contains(t, Details(&s, ""), "`{\"order\":1017}`, because `` more than `10` ``\n")
}

// So does whoever answers, or runs the call.
func TestTheDetailsSayHowToAnswer(t *testing.T) {
	t.Parallel()
	s := driver.State{Phase: driver.Tools, Calls: []driver.Call{
		{Call: work.Call{Name: "ask_user"}, State: driver.CallAsking, Ask: &driver.Wait{ID: "1.1.c1.answer", Kind: work.WaitQuestion,
			Questions: json.RawMessage(`[{"id":"to","text":"Where to?","options":[{"label":"test"},{"label":"prod"}]},{"id":"when","text":"When?"}]`)}},
		{Call: work.Call{Name: "open_file", Arguments: `{"n":1}`}, State: driver.CallAsking, Ask: &driver.Wait{ID: "1.1.c2.result", Kind: work.WaitClient, DueMS: 1}},
	}}
	require.Contains(t, Details(&s, ""), strings.Join([]string{
		"**To be answered:** `ask_user` asks",
		"* `Where to?`: `test`, `prod`\n* `When?`\n" +
			"* to answer, send the signal `answer` with `{\"id\":\"1.1.c1.answer\",\"answers\":[{\"id\":\"to\",\"selected\":[\"test\"]},{\"id\":\"when\",\"text\":\"your answer\"}],\"by\":\"your name\"}`",
		"**To be run by a program of yours:** `open_file` with `{\"n\":1}`",
		"* to give the result, send the signal `result` with `{\"id\":\"1.1.c2.result\",\"text\":\"the result\"}`\n" +
			"* no result until 1970-01-01T00:00:00Z: the call has failed",
	}, "\n\n"))
}

// However many calls there are, and however large, the text stays short.
func TestTheDetailsAreShort(t *testing.T) {
	t.Parallel()
	s := driver.State{Phase: driver.Tools}
	for range 100 {
		s.Calls = append(s.Calls, driver.Call{Call: work.Call{Name: "n", Arguments: strings.Repeat("x", 4<<10)}, State: driver.CallAsking, Ask: &driver.Wait{ID: "i"}})
	}
	text := Details(&s, "")
	require.Less(t, len(text), 5<<10)
	require.Contains(t, text, "xx` and 3696 bytes more\n")
	require.Contains(t, text, "\n\n95 more calls wait for somebody: see the query `state`.\n\n")
	require.Contains(t, text, "`n` asking, 90 more.")
}

func TestWhatACallWasGiven(t *testing.T) {
	t.Parallel()
	require.Equal(t, "no arguments", arguments(driver.Call{}))
	require.Equal(t, "70000 bytes of arguments", arguments(driver.Call{Call: work.Call{Blob: &session.Artifact{Bytes: 70000}}}))
}

// Nothing that others wrote is Markdown.
func TestForeignTextIsShownAsItIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 "–",
		"plain":            "`plain`",
		"two\n\n* lines":   "`two * lines`",
		"[a](http://b)":    "`[a](http://b)`",
		"`out` and **bold": "`` `out` and **bold ``",
		"``":               "``` `` ```",
	} {
		require.Equal(t, want, code(text))
	}
}

func TestTheTokensAreShown(t *testing.T) {
	t.Parallel()
	require.Empty(t, usageLine(&driver.State{}))
	require.Equal(t, "Tokens: 1 in, 2 out, 3 read from the cache, 4 written to it, 5 of reasoning.",
		usageLine(&driver.State{Usage: &session.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5}}))
}
