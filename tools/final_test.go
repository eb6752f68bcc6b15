package tools

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

func TestOptionsOfTheOutcome(t *testing.T) { // §4.8, pipeline 8, §9.4
	t.Parallel()
	none := func(context.Context, struct{}) (string, error) { return "", nil }
	tool := Must(New("t", "For tests.", none, KeepWhole(), WithFinal(func(session.Content) session.Content { return session.TextContent("last") })))
	require.True(t, tool.KeepWhole)
	require.Equal(t, "last", tool.Final(nil).Text())
	require.Nil(t, Must(New("t", "For tests.", none)).Final)
}

func TestResultOfShapesAnyAnswer(t *testing.T) {
	t.Parallel()
	for text, answer := range map[string]any{"x": "x", `{"n":1}`: map[string]int{"n": 1}, "y": session.TextContent("y"), "z": TextResult("z")} {
		r, err := ResultOf("t", answer)
		require.NoError(t, err)
		require.Equal(t, text, r.Content.Text())
	}
	_, err := ResultOf("t", session.Content{session.Reasoning{}})
	_, code, _ := ErrorOf(err)
	require.Equal(t, InvalidOutput, code)
}
