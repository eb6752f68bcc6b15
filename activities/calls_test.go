package activities

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Arguments travel in the answer as long as each, and all together, are small. See architecture A3.4.
func TestHowManyArgumentsTravelInAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := &step{Activities: b.a, kind: b.a.kinds[agent], in: work.StepIn{Ident: work.Ident{Session: sess}, Turn: 1, Step: 1}}
	var content session.Content
	for i := range inlineTotal / work.InlineLimit {
		content = append(content, session.ToolCallBlock{ID: fmt.Sprint("c", i), Name: "t", Arguments: strings.Repeat("x", work.InlineLimit)})
	}
	calls, err := s.calls(t.Context(), append(content, session.ToolCallBlock{ID: "more", Name: "t", Arguments: "x"}))
	require.NoError(t, err)
	last := len(calls) - 1
	for _, c := range calls[:last] {
		require.Nil(t, c.Blob, "%s fits exactly", c.ID)
	}
	require.Empty(t, calls[last].Arguments)
	require.NotNil(t, calls[last].Blob)
	text, err := b.store.Blob(t.Context(), calls[last].Blob.SHA256)
	require.NoError(t, err)
	require.Equal(t, "x", string(text))
}
