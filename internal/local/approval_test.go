package local

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/signals"
)

// A call waits for a person for a week, over runs and workers, and no longer. See architecture A3.7, A3.11.
func TestAWeekOfWaitingForAPerson(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]bool{"somebody decides on the last day": true, "nobody does": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "", manual, func(_ *Config, c *activities.Config, m *scripted.Model) {
				c.Definitions[0].Approval = &plugin.Approval{}
				c.Definitions[0].ToolPreExecute = []plugin.ToolPreGate{asks}
				m.Script, m.Position = scripted.MustParse(`tool c1 echo {"text":"1"}`+"\ntext \"Done.\""), scripted.ByRequest
			})
			w.start()
			w.followup("m1")
			w.settled()
			asked := w.view().Deferred[0]
			require.Equal(t, w.Now().Add(7*24*time.Hour).UnixMilli(), asked.DueMS)
			for day := 1; day < 7; day++ {
				require.NoError(t, w.Advance(t.Context(), 24*time.Hour))
				w.signal(signals.RollAct, signals.Roll{})
				w.settled()
				require.Equal(t, day+1, w.agents["a"].Run)
				require.Equal(t, asked, w.view().Deferred[0], "day %d", day)
			}
			if decide {
				w.signal(signals.Approve, signals.Decision{ID: asked.ID, Digest: asked.Digest})
				w.settled()
				require.Contains(t, w.trace(), "approval/decided TR(c1) SE SS1.2")
				return
			}
			require.NoError(t, w.Advance(t.Context(), 24*time.Hour-time.Millisecond))
			require.Len(t, w.view().Deferred, 1)
			require.NoError(t, w.Advance(t.Context(), time.Millisecond))
			require.Contains(t, w.trace(), "approval/decided TR!(c1) SE SS1.2", "denied, and it did not run")
			w.signal(signals.Approve, signals.Decision{ID: asked.ID, Digest: asked.Digest})
			w.settled()
			require.NotContains(t, w.trace(), "TR(c1)", "too late")
		})
	}
}

func asks(context.Context, plugin.ToolCall, func(context.Context) (plugin.Verdict, error)) (plugin.Verdict, error) {
	return plugin.Verdict{Kind: plugin.Ask, Reason: "sure?"}, nil
}
