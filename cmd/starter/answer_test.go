package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

var (
	target = signals.Question{ID: "target", Text: "Where\nto?", Header: "Deploy", Options: []signals.Option{{Label: "test", Detail: "harmless"}, {Label: "prod"}}, Must: true}
	extras = signals.Question{ID: "extras", Text: "What else?", Detail: "It is Friday.", Options: []signals.Option{{Label: "docs"}, {Label: "blog"}}, Multi: true, Free: true}
	when   = signals.Question{ID: "when", Text: "When?"}
)

func TestATypedLineAsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		q     signals.Question
		line  string
		want  signals.AnswerTo
		wrong string
	}{
		{target, "2", signals.AnswerTo{Selected: []string{"prod"}}, ""},
		{target, "Test", signals.AnswerTo{Selected: []string{"test"}}, ""},
		{target, "3", signals.AnswerTo{}, `there is no option "3"`},
		{target, "1,2", signals.AnswerTo{}, "one of them, not several"},
		{target, "moon", signals.AnswerTo{}, `there is no option "moon"`},
		{target, "-", signals.AnswerTo{}, "it cannot be skipped"},
		{extras, "2, 1", signals.AnswerTo{Selected: []string{"blog", "docs"}}, ""},
		{extras, "nothing", signals.AnswerTo{Text: "nothing"}, ""},
		{extras, "3 cakes", signals.AnswerTo{Text: "3 cakes"}, ""},
		{extras, "-", signals.AnswerTo{Skip: true}, ""},
		{when, "1", signals.AnswerTo{Text: "1"}, ""},
		{when, "-", signals.AnswerTo{Skip: true}, ""},
	} {
		got, err := replyTo(tt.q, tt.line)
		if tt.wrong != "" {
			require.ErrorContains(t, err, tt.wrong, tt.line)
			continue
		}
		require.NoError(t, err)
		tt.want.ID = tt.q.ID
		require.Equal(t, tt.want, got)
	}
}

func TestAnswersOfACommandLine(t *testing.T) {
	t.Parallel()
	all := []signals.Question{target, extras, when}
	for name, tt := range map[string]struct {
		questions []signals.Question
		args      []string
		o         answering
		want      []signals.AnswerTo
		wrong     string
	}{
		"a text":     {[]signals.Question{when}, []string{"now", "or", "never"}, answering{}, []signals.AnswerTo{{ID: "when", Text: "now or never"}}, ""},
		"by name":    {[]signals.Question{when}, []string{"when=now"}, answering{}, []signals.AnswerTo{{ID: "when", Text: "now"}}, ""},
		"a label":    {[]signals.Question{target}, []string{"prod"}, answering{}, []signals.AnswerTo{{ID: "target", Selected: []string{"prod"}}}, ""},
		"selected":   {[]signals.Question{target}, nil, answering{selected: []string{"prod"}}, []signals.AnswerTo{{ID: "target", Selected: []string{"prod"}}}, ""},
		"several":    {all, []string{"target=test", "when=now"}, answering{selected: []string{"extras=docs", "extras=blog"}}, []signals.AnswerTo{{ID: "target", Selected: []string{"test"}}, {ID: "extras", Selected: []string{"docs", "blog"}}, {ID: "when", Text: "now"}}, ""},
		"skipped":    {all, []string{"target=test"}, answering{skip: true}, []signals.AnswerTo{{ID: "target", Selected: []string{"test"}}, {ID: "extras", Skip: true}, {ID: "when", Skip: true}}, ""},
		"nothing":    {all, nil, answering{}, nil, `question "target" is not answered: Where to? (or use --skip)`},
		"no name":    {all, []string{"now"}, answering{}, nil, `"now": use QUESTION=TEXT; the questions are target, extras, when`},
		"no label's": {all, nil, answering{selected: []string{"docs"}}, nil, `--select "docs": use QUESTION=TEXT`},
	} {
		got, err := tt.o.answers(tt.questions, tt.args)
		if tt.wrong != "" {
			require.ErrorContains(t, err, tt.wrong, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, tt.want, got, name)
	}
}

func TestWhatPeopleAreShownOfAWait(t *testing.T) {
	t.Parallel()
	questions, err := json.Marshal([]signals.Question{target, extras})
	require.NoError(t, err)
	require.Equal(t, `

ask_user asks:
  [Deploy] Where to? (target)
    1. test: harmless
    2. prod
  What else? (extras)
    It is Friday.
    1. docs
    2. blog
  starter answer a 1.1.c1.answer QUESTION=TEXT … (or --skip)

may this run? deploy {"to":"prod"}
  because: production
  starter approve a 1.1.c2 (or deny)

a program is to run: open (arguments of 9 bytes, stored as abc)
  starter result a 1.1.c3.result TEXT (or --error)`, waitsText(signals.State{ID: "a", Deferred: []signals.Deferred{
		{ID: "1.1.c1.answer", Tool: "ask_user", Kind: signals.WaitQuestion, Questions: questions},
		{ID: "1.1.c2", Tool: "deploy", Kind: signals.WaitApproval, Arguments: `{"to":"prod"}`, Reason: "production"},
		{ID: "1.1.c3.result", Tool: "open", Kind: signals.WaitClient, Blob: &session.Artifact{SHA256: "abc", Bytes: 9}},
	}}))
	require.Equal(t, "numbers or a text, - to skip:", howToAnswer(extras))
	require.Equal(t, "a number:", howToAnswer(target))
	require.Equal(t, "your answer, - to skip:", howToAnswer(when))
}
