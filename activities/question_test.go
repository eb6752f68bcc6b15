package activities

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// asks is a tool that asks these questions.
func asks(q tools.Questions, opts ...tools.Option) setting {
	return tool(func(context.Context, anyArgs) (tools.Result, error) { return tools.Result{Ask: &q}, nil }, opts...)
}

var (
	whereTo = tools.Question{ID: "target", Text: "Where to?", Options: []tools.Choice{{Label: "test"}, {Label: "prod", Detail: "for all"}}, Must: true}
	extras  = tools.Question{ID: "extras", Text: "What else?", Options: []tools.Choice{{Label: "docs"}, {Label: "blog"}}, Multi: true, Free: true}
	when    = tools.Question{ID: "when", Text: "When?"}
)

// answers says what people answered to the questions of call c1 of tool t.
func (b *bench) answers(questions []tools.Question, answers string) work.ToolIn {
	b.t.Helper()
	raw, err := json.Marshal(questions)
	require.NoError(b.t, err)
	in := b.call("t", "{}")
	in.Mode, in.Said = work.ToolCheck, &work.Said{Kind: work.WaitQuestion, Questions: raw, Answers: json.RawMessage(answers)}
	return in
}

func TestACallThatAsksPeople(t *testing.T) { // A3.7
	t.Parallel()
	questions := []tools.Question{whereTo, extras}
	b := called(t, asks(tools.Questions{Questions: questions, Deadline: time.Minute + 1}, tools.WithEffect(tools.Pure)))
	out := b.tool(b.call("t", "{}"))
	require.Equal(t, work.WaitQuestion, out.Defer.Kind)
	require.Equal(t, int64(60_001), out.DeadlineMS, "a deadline is not shortened")
	require.Empty(t, out.Content)
	var told []signals.Question
	require.NoError(t, json.Unmarshal(out.Defer.Questions, &told))
	again, err := json.Marshal(told)
	require.NoError(t, err)
	require.JSONEq(t, string(out.Defer.Questions), string(again), "package signals knows every field")
	require.Equal(t, signals.Option{Label: "prod", Detail: "for all"}, told[0].Options[1])
}

func TestQuestionsThatNobodyCouldAnswerAreTheToolsFault(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]tools.Questions{
		"no question is asked":  {},
		"the id \"\" must be":   {Questions: []tools.Question{{Text: "x"}}},
		"shorten them":          {Questions: []tools.Question{{ID: "a", Text: strings.Repeat("x", 5000)}}},
		"is negative":           {Questions: []tools.Question{when}, Deadline: -1},
		"is given twice":        {Questions: []tools.Question{when, when}},
		"multi needs options":   {Questions: []tools.Question{{ID: "a", Text: "x", Multi: true}}},
		"is not valid UTF-8":    {Questions: []tools.Question{{ID: "a", Text: "x\xff"}}},
		"is offered twice":      {Questions: []tools.Question{{ID: "a", Text: "x", Options: []tools.Choice{{Label: "l"}, {Label: "l"}}}}},
		"option 1 has no label": {Questions: []tools.Question{{ID: "a", Text: "x", Options: []tools.Choice{{}}}}},
	} {
		b := called(t, asks(q))
		out := b.tool(b.call("t", "{}"))
		require.Nil(t, out.Defer, want)
		require.True(t, out.IsError, want)
		require.Equal(t, tools.InvalidOutput, out.Error.Code)
		require.Contains(t, out.Content.Text(), want)
	}
}

func TestWhatTheModelReadsOfAnswers(t *testing.T) {
	t.Parallel()
	for answers, want := range map[string]string{
		`[{"id":"target","selected":["prod"]},{"id":"extras","selected":["blog","docs"],"text":"a <b>"},{"id":"when","text":"now"}]`: `{"answers":[` +
			`{"id":"target","question":"Where to?","selected":["prod"]},` +
			`{"id":"extras","question":"What else?","selected":["docs","blog"],"text":"a <b>"},` +
			`{"id":"when","question":"When?","text":"now"}]}`,
		`[{"id":"when","skip":true},{"id":"extras","skip":true},{"id":"target","selected":["test"]}]`: `{"answers":[` +
			`{"id":"target","question":"Where to?","selected":["test"]},` +
			`{"id":"extras","question":"What else?","skipped":true},{"id":"when","question":"When?","skipped":true}]}`,
	} {
		b := called(t)
		out := b.tool(b.answers([]tools.Question{whereTo, extras, when}, answers))
		require.Equal(t, work.Allow, out.Verdict, out.Reason)
		require.Equal(t, want, out.Content.Text())
		require.False(t, out.IsError)
	}
	b := called(t)
	out := b.tool(b.answers([]tools.Question{when}, `[{"text":"now"}]`))
	require.Equal(t, `{"answers":[{"id":"when","question":"When?","text":"now"}]}`, out.Content.Text(), "one question needs no id")
}

func TestAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()
	good := `{"id":"target","selected":["test"]},{"id":"extras","skip":true}`
	for want, answers := range map[string]string{
		`question "when" is not answered: answer all of them, or skip it`: `[` + good + `]`,
		`there is no question "who": the questions are`:                   `[` + good + `,{"id":"who","text":"x"}]`,
		`there is no question ""`:                                         `[` + good + `,{"text":"x"}]`,
		`question "target" is answered twice`:                             `[` + good + `,{"id":"target","selected":["prod"]}]`,
		`question "target": it must not be skipped`:                       `[{"id":"target","skip":true},{"id":"extras","skip":true},{"id":"when","skip":true}]`,
		`question "when": it is answered and skipped`:                     `[` + good + `,{"id":"when","text":"x","skip":true}]`,
		`question "when": the answer is empty`:                            `[` + good + `,{"id":"when","text":" "}]`,
		`question "when": it has no options: give a text`:                 `[` + good + `,{"id":"when","selected":["now"]}]`,
		`question "target": it takes no text: select one of "test"`:       `[{"id":"target","text":"x"},{"id":"extras","skip":true},{"id":"when","text":"x"}]`,
		`question "target": one option may be selected`:                   `[{"id":"target","selected":["test","prod"]},{"id":"extras","skip":true},{"id":"when","text":"x"}]`,
		`question "target": there is no option "Test": select from "te`:   `[{"id":"target","selected":["Test"]},{"id":"extras","skip":true},{"id":"when","text":"x"}]`,
		`question "extras": option "docs" is selected twice`:              `[{"id":"target","selected":["test"]},{"id":"extras","selected":["docs","docs"]},{"id":"when","text":"x"}]`,
		`the answers cannot be read`:                                      `{"target":"test"}`,
	} {
		b := called(t)
		out := b.tool(b.answers([]tools.Question{whereTo, extras, when}, answers))
		require.Equal(t, work.Deny, out.Verdict)
		require.Contains(t, out.Reason, want)
		require.NotContains(t, out.Reason, "\n")
		require.Empty(t, out.Content)
	}
}

// What was answered goes through what comes after a body, and the answer says that it counts, whatever a gate makes of it.
func TestAnswersGoThroughThePostGate(t *testing.T) { // §4.8, pipeline 7
	t.Parallel()
	b := called(t, define(func(d *plugin.Definition) {
		d.ToolPostExecute = []plugin.ToolPostGate{func(context.Context, plugin.ToolOutcome, func(context.Context) (plugin.PostDecision, error)) (plugin.PostDecision, error) {
			return plugin.PostDecision{Block: true, Feedback: "no"}, nil
		}}
	}))
	out := b.tool(b.answers([]tools.Question{when}, `[{"text":"now"}]`))
	require.Equal(t, work.Allow, out.Verdict)
	require.True(t, out.IsError)
	require.Equal(t, "no", out.Content.Text())
}

func TestALargeAnswerIsProjected(t *testing.T) { // §9.4
	t.Parallel()
	b := called(t, define(func(d *plugin.Definition) { d.MaxResultBytes = 1000 }))
	out := b.tool(b.answers([]tools.Question{when}, `[{"text":"`+strings.Repeat("x", 9000)+`"}]`))
	_, stored := storedBody(out.Content)
	require.True(t, stored)
	require.Contains(t, out.Projection.Text(), "are left out here")
}

func TestACheckThatThisWorkerDoesNotKnow(t *testing.T) {
	t.Parallel()
	b := called(t)
	in := b.call("t", "{}")
	in.Mode, in.Said = work.ToolCheck, &work.Said{Kind: "oath"}
	out := b.tool(in)
	require.Equal(t, work.Deny, out.Verdict)
	require.Contains(t, out.Reason, `knows nothing of "oath"`)
	in.Said = nil
	_, err := b.a.Tool(b.ctx, in)
	require.ErrorContains(t, err, "nothing was said")
}

// The worker dies between the body and its answer: the ledger remembers that the call asks, and nobody is asked twice.
func TestAQuestionIsRememberedByTheLedger(t *testing.T) { // A3.7
	t.Parallel()
	runs := 0
	b := called(t, tool(func(context.Context, anyArgs) (tools.Result, error) {
		runs++
		return tools.Result{Ask: &tools.Questions{Questions: []tools.Question{when}}}, nil
	}))
	first := b.tool(b.call("t", "{}"))
	b.exec = 2
	again := b.tool(b.call("t", "{}"))
	require.Equal(t, 1, runs)
	require.Equal(t, first.Defer, again.Defer)
	in := b.call("t", "{}")
	in.Mode, in.Lost = work.ToolSettle, "exhausted"
	require.Equal(t, first.Defer, b.tool(in).Defer, "nor if every worker died")
}
