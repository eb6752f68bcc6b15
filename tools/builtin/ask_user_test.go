package builtin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/tools/builtin"
)

func askUser(t *testing.T, o builtin.AskUserOptions) *tools.Tool {
	t.Helper()
	tool, err := builtin.AskUser(o)
	require.NoError(t, err)
	return tool
}

func TestAskUserHandsTheCallToPeople(t *testing.T) {
	t.Parallel()
	tool := askUser(t, builtin.AskUserOptions{Deadline: time.Hour})
	require.Equal(t, "ask_user", tool.Name)
	require.Equal(t, tools.Pure, tool.Effect)
	all := `{"questions":[{"id":"target","text":"Where to?","header":"Deploy","detail":"It is Friday.",` +
		`"options":[{"label":"test","detail":"harmless"},{"label":"prod"}],"multi":true,"free":true,"must":true},{"id":"when","text":"When?"}]}`
	require.True(t, tool.ParallelWith(all))
	result, err := tool.Invoke(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, &tools.Questions{Deadline: time.Hour, Questions: []tools.Question{
		{ID: "target", Text: "Where to?", Header: "Deploy", Detail: "It is Friday.", Multi: true, Free: true, Must: true,
			Options: []tools.Choice{{Label: "test", Detail: "harmless"}, {Label: "prod"}}},
		{ID: "when", Text: "When?"},
	}}, result.Ask)
	require.Equal(t, "ask", askUser(t, builtin.AskUserOptions{Name: "ask"}).Name)
}

func TestHowLongAskUserWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		deadline time.Duration
		minutes  string
		want     time.Duration
	}{
		{0, ``, 0},
		{0, `,"wait_minutes":5`, 5 * time.Minute},
		{time.Hour, ``, time.Hour},
		{time.Hour, `,"wait_minutes":5`, 5 * time.Minute},
		{time.Hour, `,"wait_minutes":500`, time.Hour}, // the program has the last word
	} {
		result, err := askUser(t, builtin.AskUserOptions{Deadline: tt.deadline}).Invoke(t.Context(), `{"questions":[{"id":"q","text":"?"}]`+tt.minutes+`}`)
		require.NoError(t, err)
		require.Equal(t, tt.want, result.Ask.Deadline)
	}
	_, err := builtin.AskUser(builtin.AskUserOptions{Deadline: -1})
	require.ErrorContains(t, err, "use a positive one")
}

func TestAskUserRefuses(t *testing.T) {
	t.Parallel()
	tool := askUser(t, builtin.AskUserOptions{})
	many := strings.TrimSuffix(strings.Repeat(`{"id":"q","text":"?"},`, 9), ",")
	for name, tt := range map[string]struct{ args, want string }{
		"nothing":                     {`{}`, `field "questions": required`},
		"no question":                 {`{"questions":[]}`, "no question is asked"},
		"too many":                    {`{"questions":[` + many + `]}`, "at most 8"},
		"a question without an id":    {`{"questions":[{"text":"?"}]}`, `field "questions[0].id": required`},
		"an empty id":                 {`{"questions":[{"id":"","text":"?"}]}`, `question 1: the id "" must be`},
		"an empty text":               {`{"questions":[{"id":"q","text":" "}]}`, "question 1: the text is missing"},
		"two of one id":               {`{"questions":[{"id":"q","text":"?"},{"id":"q","text":"!"}]}`, `question 2: the id "q" is given twice`},
		"two options of one label":    {`{"questions":[{"id":"q","text":"?","options":[{"label":"a"},{"label":"a"}]}]}`, `question 1: the option "a" is offered twice`},
		"a text that is too long":     {`{"questions":[{"id":"q","text":"` + strings.Repeat("x", 5000) + `"}]}`, "at most 4096 can be asked"},
		"something that is not asked": {`{"questions":[{"id":"q","text":"?","kind":"oath"}]}`, `field "questions[0].kind": unknown`},
		"no time":                     {`{"questions":[{"id":"q","text":"?"}],"wait_minutes":0}`, `field "wait_minutes"`},
		"no object":                   {`"?"`, "invalid arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := tool.Invoke(t.Context(), tt.args)
			require.ErrorContains(t, err, tt.want)
			requireCode(t, err, tools.InvalidArgs)
			require.Nil(t, result.Ask)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

// The model asks; the call waits until somebody answers, wherever he is.
func ExampleAskUser() {
	tool, err := builtin.AskUser(builtin.AskUserOptions{Deadline: 24 * time.Hour})
	if err != nil {
		panic(err)
	}
	result, err := tool.Invoke(context.Background(), `{"questions":[{"id":"target","text":"Where to?","options":[{"label":"test"},{"label":"prod"}]}]}`)
	fmt.Println(result.Ask.Questions[0].Text, result.Ask.Questions[0].Options[1].Label, err)
	_, err = tool.Invoke(context.Background(), `{"questions":[]}`)
	fmt.Println(err)
	// Output:
	// Where to? prod <nil>
	// invalid arguments for tool "ask_user": no question is asked
}
