package workflows

import (
	"encoding/json"
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
