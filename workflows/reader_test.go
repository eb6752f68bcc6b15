package workflows

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// What a child is told first is set aside if it is large, since it would travel in the parent's history and in the child's.
// See architecture A3.4.
func TestTheFirstMessageOfAChild(t *testing.T) {
	t.Parallel()
	blob := session.Artifact{SHA256: strings.Repeat("0", 64), Bytes: 9, MediaType: work.ContentMediaType}
	spilled := 0
	r := Reader{MakeID: func() string { return "made" }, Ident: func() work.Ident { return work.Ident{Session: "parent", Definition: "d"} },
		Spill: func(work.SpillIn) (work.SpillOut, error) { spilled++; return work.SpillOut{Blob: blob}, nil }}
	spawn := func(n int) signals.Create {
		raw, err := json.Marshal(signals.Spawn{Create: signals.Create{First: &signals.Send{ID: "m", Text: strings.Repeat("x", n)}}, Follows: true})
		require.NoError(t, err)
		in, err := r.Input(signals.SpawnChild, raw, "ref")
		require.NoError(t, err)
		asked := in.(driver.SpawnAsked)
		require.Equal(t, "agent-made", asked.Child.ID)
		require.True(t, asked.Child.Follows)
		var c signals.Create
		require.NoError(t, json.Unmarshal(asked.Child.Create, &c))
		require.Equal(t, []string{"parent", "d", "m"}, []string{c.Parent, c.Definition, c.First.ID})
		return c
	}
	require.Nil(t, spawn(work.InlineLimit).First.Body)
	require.Zero(t, spilled)
	require.Equal(t, &blob, spawn(work.InlineLimit+1).First.Body)
	require.Equal(t, 1, spilled)
}

// Results of programs are set aside if they are large, like bodies of messages. See architecture A3.4.
func TestTheResultOfAProgram(t *testing.T) {
	t.Parallel()
	blob := session.Artifact{SHA256: strings.Repeat("0", 64), Bytes: 9, MediaType: work.ContentMediaType}
	var out work.SpillOut
	var failed error
	spilled := 0
	r := Reader{Ident: func() work.Ident { return work.Ident{Session: "s"} }, Spill: func(work.SpillIn) (work.SpillOut, error) { spilled++; return out, failed }}
	read := func(p signals.CallResult) (driver.Input, error) {
		raw, err := json.Marshal(p)
		require.NoError(t, err)
		return r.Input(signals.GiveResult, raw, "ref")
	}
	in, err := read(signals.CallResult{RequestID: "r", ID: "1.1.c1.result", Text: "hi", IsError: true, By: "ann"})
	require.NoError(t, err)
	require.Equal(t, driver.Answered{Ref: "ref", Request: "r", ID: "1.1.c1.result", By: "ann",
		Said: work.Said{Kind: work.WaitClient, Content: session.TextContent("hi"), IsError: true}}, in)
	in, err = read(signals.CallResult{ID: "x", Value: json.RawMessage(`{"a":1}`)})
	require.NoError(t, err)
	require.Equal(t, work.Said{Kind: work.WaitClient, Value: json.RawMessage(`{"a":1}`)}, in.(driver.Answered).Said)
	require.Zero(t, spilled)

	out = work.SpillOut{Blob: blob}
	in, err = read(signals.CallResult{ID: "x", Text: strings.Repeat("x", work.InlineLimit+1)})
	require.NoError(t, err)
	require.Equal(t, session.Content{blob}, in.(driver.Answered).Said.Content)
	out = work.SpillOut{Code: work.SpillMissing, Message: "not there"}
	_, err = read(signals.CallResult{ID: "x", Body: &blob})
	require.ErrorContains(t, err, "the result is refused: not there")
	failed = errors.New("disk full")
	_, err = read(signals.CallResult{ID: "x", Body: &blob})
	require.ErrorContains(t, err, "cannot be stored or found: disk full")
}

func TestTheAnswersOfPeople(t *testing.T) {
	t.Parallel()
	in, err := Reader{}.Input(signals.AnswerAsked, json.RawMessage(`{"requestId":"r","id":"1.1.c1.answer","answers":[{"text":"now"}],"by":"ann"}`), "ref")
	require.NoError(t, err)
	require.Equal(t, driver.Answered{Ref: "ref", Request: "r", ID: "1.1.c1.answer", By: "ann",
		Said: work.Said{Kind: work.WaitQuestion, Answers: json.RawMessage(`[{"text":"now"}]`)}}, in)
}
