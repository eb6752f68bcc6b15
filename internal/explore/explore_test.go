package explore

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// limit bounds the states of a world: one that needs more has bounds that are too wide.
const limit = 200_000

// TestInterleavings explores every world to its end.
func TestInterleavings(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // states are many, small, and soon forgotten
	states, transitions := 0, 0
	for i := range Worlds {
		w := &Worlds[i]
		t.Run(w.Name, func(t *testing.T) {
			if testing.Short() && !w.Short {
				t.Skip("not under -short")
			}
			r, err := Search(w, nil, limit)
			t.Log(r)
			require.NoError(t, err)
			states, transitions = states+r.States, transitions+r.Transitions
		})
	}
	t.Logf("%d distinct states, %d transitions", states, transitions)
}
