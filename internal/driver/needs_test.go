package driver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
)

// An older worker would refuse the log of a message that was moved, or run a call instead of looking at what was said to it.
// See architecture A3.12.
func TestWhatOlderWorkersDoNotKnowKeepsThemAway(t *testing.T) {
	t.Parallel()
	asks := []Call{{Call: work.Call{ID: "c1", Name: "t", Gated: true}, State: CallAsking, Ask: &Wait{ID: "1.1.c1"}}}
	for name, in := range map[string]Input{
		"move":  Promoted{ID: "b"},
		"plan":  PlanAsked{On: true},
		"check": Decided{ID: "1.1.c1", Grant: true, Arguments: []byte(`{}`)},
	} {
		s := State{Session: "s", Phase: Tools, Turn: 1, TurnOpen: true, Step: 1, StepOpen: true, Started: true, Rules: 1, Calls: asks,
			NextTurn: []Pending{{ID: "a"}, {ID: "b"}}}
		d := Restore(s)
		d.Handle(1, Cleared{Request: "r"})
		require.Equal(t, 1, d.State().Rules, name)
		d = Restore(s)
		_, effects := d.Handle(1, in)
		require.Equal(t, rulesPeople, d.State().Rules, name)
		for _, e := range effects {
			if start, ok := e.(StartTool); ok {
				require.Equal(t, rulesPeople, start.In.Ident.Rules, name)
			}
		}
	}
}
