package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/signals"
)

// See spec §7.1: what a run had decided, shown and accepted when it vanished is in the session that goes on.
func TestAResumedSessionGoesOnWhereATerminatedRunStood(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		point        Point
		want         string
		requests     int
	}{
		{"in the middle of a stream", long, Point{Name: "chunk"}, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×1 SE TE(interrupted) ES IS+(next-turn:m2)", 1},
		{"in the middle of a later attempt's stream", "error SERVER\n" + long, Point{Name: "chunk", Attempt: 2},
			"IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×1 AA LR(1) LRS(1) CH×1 SE TE(interrupted) ES IS+(next-turn:m2)", 2},
		{"after the model's answer", `tool c1 once {"text":"x"}`, Point{Name: "step/settled"},
			"IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM TR!(c1,TOOL_NOT_STARTED) SE TE(interrupted) ES IS+(next-turn:m2)", 1},
		{"while a tool runs", `tool c1 once {"text":"x"}`, Point{Name: "tool/body"},
			"IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM TC(c1) IS+(next-turn:m2) TR!(c1,TOOL_OUTCOME_UNKNOWN) SE TE(interrupted) ES", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.script, func(_ *Config, _ *activities.Config, m *scripted.Model) { m.Position = scripted.ByRequest })
			hold := w.PinAt(tt.point)
			w.start()
			w.followup("m1")
			require.NoError(t, hold.Wait(t.Context(), 1))
			w.followup("m2")
			w.settled()
			run, err := w.Describe(t.Context(), "a")
			require.NoError(t, err)
			require.NoError(t, w.Terminate("a"))
			require.ErrorIs(t, w.Terminate("a"), agents.ErrClosed)
			require.ErrorIs(t, w.Update(t.Context(), "a", signals.InboxClear, signals.Clear{}, nil), agents.ErrClosed)
			require.NoError(t, w.Start(t.Context(), "a", signals.Create{Definition: "test", Resume: &signals.Resume{RunID: run.ID}}))
			w.idle()
			require.Equal(t, tt.want, w.trace())
			require.ErrorIs(t, w.SignalRun(t.Context(), "a", run.ID, signals.DisposeAgent, signals.Dispose{}), agents.ErrClosed)
			hold.Release()
			w.settled()
			require.Equal(t, tt.want, w.trace(), "what still ran is not heard")
			require.Len(t, w.sent.Requests(), tt.requests)
		})
	}
}

// An answer to a run that never came to life is heard by nobody.
func TestABirthIsCalledOffWhileTheReasonOfANativeCancelIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	birth, reading := w.PinAt(Point{Activity: work.Setup}), w.PinAt(Point{Activity: work.CancelReason})
	w.start()
	require.NoError(t, birth.Wait(t.Context(), 1))
	require.NoError(t, w.NativeCancel("a", ""))
	require.NoError(t, reading.Wait(t.Context(), 1))
	w.signal(signals.DisposeAgent, signals.Dispose{})
	birth.Release()
	w.settled()
	run, err := w.Describe(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, signals.ErrAborted, run.Code)
	reading.Release()
	w.settled()
}
