package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
)

// What callers do before the agent is born comes after what it inherits. See spec §6.1.7, §7.1.
func TestCallersWaitForTheBirth(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	var sent *update
	p.setup = func(context.Context, work.SetupIn) (work.SetupOut, error) {
		sent = p.update("inject", signals.Send{ID: "new", Text: "a"})
		p.signal("inject", `{"id":"newer","text":"b"}`)
		return work.SetupOut{Store: "store", Log: &work.Inherited{Epoch: 2, Head: work.Head{Hash: "old", Count: 7}, Turn: 3, NextStep: []work.Pending{{ID: "old"}}}}, nil
	}
	p.after(time.Minute, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Equal(t, "IS+(next-step:new) IS+(next-step:newer)", p.log())
	require.Equal(t, int64(7), p.events[0].Seq)
	require.True(t, sent.done)
	require.Equal(t, int64(7), *sent.receipt.Seq)
	require.Equal(t, signals.Parked, sent.receipt.Disposition)
}

// A birth that fails fails the run and whoever waits for it; nothing was published. See spec §6.1.5.
func TestABirthThatFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind string
		notices    []string
	}{
		{"before it is announced", work.ErrInvalidSpec, nil},
		{"while it is announced", work.ErrCreatedHook, []string{"agent/disposed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t)
			var sent *update
			p.setup = func(context.Context, work.SetupIn) (work.SetupOut, error) {
				sent = p.update("followup", signals.Send{ID: "new", Text: "a"})
				return work.SetupOut{}, temporal.NewNonRetryableApplicationError("it must not be", tt.kind, nil)
			}
			p.run()
			require.ErrorContains(t, p.env.GetWorkflowError(), "it must not be")
			require.Equal(t, tt.notices, p.notices)
			var app *temporal.ApplicationError
			require.ErrorAs(t, sent.err, &app)
			require.Equal(t, tt.kind, app.Type())
		})
	}
}

// A creation that nobody wants any more is called off. See spec §6.1.8.
func TestADisposalBeforeTheBirthCallsItOff(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.setup = func(context.Context, work.SetupIn) (work.SetupOut, error) {
		p.signal("dispose", `{}`)
		<-p.gone
		return work.SetupOut{}, context.Canceled
	}
	p.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, p.env.GetWorkflowError(), &app)
	require.Equal(t, signals.ErrAborted, app.Type())
	require.NotContains(t, p.notices, "agent/created")
}
