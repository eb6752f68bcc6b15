package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A status that changes is shown in listings, if the server knows the attributes; what an agent waits for only by workers
// that know that rule. See architecture A3.10.
func TestTheStatusIsShownInListings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		manifest work.Manifest
		shown    bool
		waiting  bool
	}{
		"a server that does not know them": {work.Manifest{Rules: 2}, false, false},
		"a birth under the first rules":    {work.Manifest{Rules: 1, Attributes: true}, true, false},
		"a birth under the second":         {work.Manifest{Rules: 2, Attributes: true}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t)
			p.setup = func(context.Context, work.SetupIn) (work.SetupOut, error) {
				return work.SetupOut{Store: "store", Manifest: c.manifest, Model: "p/m"}, nil
			}
			p.step = func(_ context.Context, in work.StepIn) (work.StepOut, error) {
				out := said(in)
				if in.Step == 1 {
					out.Finish, out.Calls = session.FinishToolCalls, []work.Call{{ID: "c1", Name: "t", Gated: true}}
				}
				return out, nil
			}
			p.tool = func(context.Context, work.ToolIn) (work.ToolOut, error) {
				return work.ToolOut{Verdict: work.Ask}, nil
			}
			var seen []temporal.SearchAttributes
			p.env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
				seen = append(seen, args.Get(0).(temporal.SearchAttributes))
			}).Return(nil).Maybe()
			p.after(time.Second, func() { p.signal("followup", `{"id":"a","text":"a"}`) })
			p.after(10*time.Second, func() { p.signal("deny", `"1.1.c1"`) })
			p.after(time.Minute, func() { p.signal("dispose", `{}`) })
			p.run()
			require.NoError(t, p.env.GetWorkflowError())
			require.Equal(t, c.shown, len(seen) > 0)
			var statuses []string
			waiting := false
			for _, a := range seen {
				status, ok := a.GetKeyword(temporal.NewSearchAttributeKeyKeyword(signals.AttrStatus))
				require.True(t, ok)
				statuses = append(statuses, status)
				_, waits := a.GetKeyword(temporal.NewSearchAttributeKeyKeyword(signals.AttrWaiting))
				waiting = waiting || waits
			}
			require.Equal(t, c.waiting, waiting)
			if c.shown {
				require.Contains(t, statuses, "running")
				require.Contains(t, statuses, "idle")
			}
		})
	}
}
