package local

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// crashScript has every kind of thing that a crash can hit.
const crashScript = `
	tool c1 echo {"text":"1"} tool c2 once {"text":"2"}
	text "That was it."
	text "And again."
`

// A scenario runs an agent from its birth to its second rest.
func scenario(w *world) {
	w.start()
	w.inject("m1")
	w.idle2()
	w.followup("m2")
	w.idle2()
	w.followup("m3")
	w.idle2()
}

// idle2 is idle, with a new worker whenever there is none.
func (w *world) idle2() {
	w.t.Helper()
	for range 100 {
		w.settled()
		if has, _ := w.Workers(w.t.Context()); has {
			break
		}
		w.worker()
	}
	w.idle()
	w.settled()
}

// essence is a trace without what a crash may add: chunks, lost attempts, and the doubt about a call.
func essence(log []session.Record) string {
	var kept []string
	for _, e := range strings.Fields(session.Trace(log, nil)) {
		if e == "AA" || strings.HasPrefix(e, "CH×") {
			continue
		}
		if strings.HasPrefix(e, "TR!(c2,TOOL_OUTCOME_UNKNOWN") || strings.HasPrefix(e, "TR!(c2,TOOL_NOT_STARTED") {
			e = "TR(c2)"
		}
		kept = append(kept, e)
	}
	return strings.Join(kept, " ")
}

// TestACrashAnywhere lets the worker die, or be cut off, at every point it passes in a scenario. The log comes out the
// same, no call of the class once runs twice, and only a crash in the middle of a call of the model repeats it.
func TestACrashAnywhere(t *testing.T) {
	t.Parallel()
	calm := newWorld(t, crashScript)
	scenario(calm)
	want := essence(calm.log())
	for _, how := range []struct {
		name   string
		strike func(*world, int)
	}{
		{"kill", func(w *world, n int) { w.KillAt(Point{}, n) }},
		{"cut off", func(w *world, n int) { w.CutOffAt(Point{}, n) }},
		{"cut off beside another worker", func(w *world, n int) { w.worker(); w.CutOffAt(Point{}, n) }},
		{"kill in a task that takes one input", func(w *world, n int) { w.cfg.Batch = 1; w.KillAt(Point{}, n) }},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			n := 1
			for ; ; n++ {
				w := newWorld(t, crashScript)
				how.strike(w, n)
				scenario(w)
				missed := len(w.rules) > 0
				require.Equal(t, want, essence(w.log()), "struck at pass %d", n)
				require.LessOrEqual(t, w.bodies.of("c2"), 1, "struck at pass %d", n)
				require.LessOrEqual(t, len(w.sent.Requests()), 4, "struck at pass %d", n)
				require.NoError(t, w.Close())
				if missed {
					break
				}
			}
			require.Greater(t, n, 50)
			t.Logf("%d points", n-1)
		})
	}
}

// TestACrashOfAnEditedInbox lets the worker die at every point of a scenario in which messages move: what is claimed, and in
// which order, comes out the same, from the log as from the state of a run that goes on.
func TestACrashOfAnEditedInbox(t *testing.T) {
	t.Parallel()
	edit := func(w *world) {
		w.start()
		for _, id := range []string{"m1", "m2", "m3"} {
			w.inject(id)
		}
		w.signal(signals.SendTo, signals.Send{ID: "m4", Text: "m4", Target: session.NextTurn})
		w.signal(signals.SendTo, signals.Send{ID: "m5", Text: "m5", Target: session.NextTurn})
		w.signal(signals.InboxReorder, signals.Reorder{IDs: []string{"m3", "m1", "m2"}})
		w.signal(signals.InboxPromote, signals.Promote{ID: "m5"})
		w.idle2()
		w.signal(signals.InboxPromote, signals.Promote{ID: "m2", Target: session.NextTurn})
		w.signal(signals.Followup, signals.Send{ID: "m6", Text: "m6", Overlap: signals.OverlapInterrupt})
		w.idle2()
	}
	const want = "IS+(next-step:m1) IS+(next-step:m2) IS+(next-step:m3) IS+(next-turn:m4) IS+(next-turn:m5) ISm(next-step@0:m3,m1,m2) " +
		"ISm(next-turn@0:m5) ISm(next-turn@0:m2) IS+(next-turn:m6) TS1 IS-(next-step:2) IS-(next-turn:1) SS1.1 UM(m3) UM(m1) UM(m6)"
	for _, every := range []int{0, 2} { // events after which a run is left
		n := 1
		for ; ; n++ {
			w := openWorld(t, strings.Repeat("text \"ok\"\n", 4), func(c *Config, _ *activities.Config, _ *scripted.Model) { c.RolloverEvery = every })
			w.KillAt(Point{}, n)
			edit(w)
			missed := len(w.rules) > 0
			trace := essence(w.log())
			require.True(t, strings.HasPrefix(trace, want), "struck at pass %d: %s", n, trace)
			require.Contains(t, trace, "TS2 IS-(next-turn:1) SS2.1 UM(m2)")
			require.Contains(t, trace, "TS3 IS-(next-turn:1) SS3.1 UM(m5)")
			require.Contains(t, trace, "TS4 IS-(next-turn:1) SS4.1 UM(m4)")
			require.NoError(t, w.Close())
			if missed {
				break
			}
		}
		require.Greater(t, n, 20)
	}
}

// See architecture A3.2: what a task that is not committed wrote must not be in the way of the one that does it again.
func TestATaskThatIsLostAfterItsPersist(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.settled()
	w.LoseAnswer(Point{Activity: work.Persist})
	w.inject("m1")
	w.settled()
	require.NoError(t, w.WaitUntil(t.Context(), "a", func(s signals.State) bool { return s.Log.Problem == "" && s.Log.Tail == 0 }))
	require.Equal(t, "IS+(next-step:m1)", w.trace())
}

func TestManyAgentsRunAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goldenScript)
	for n := range 20 {
		id := fmt.Sprintf("agent-%d", n)
		require.NoError(t, w.Start(t.Context(), id, signals.Create{Definition: "test"}))
		require.NoError(t, w.Signal(t.Context(), id, signals.Followup, message("m1")))
	}
	w.settled()
	for n := range 20 {
		log := logOf(t, w.Engine, w.objects, fmt.Sprintf("agent-%d", n))
		require.True(t, strings.HasSuffix(session.Trace(log, nil), "SE TE(completed)"))
	}
}

func TestCloseEndsWhatStandsAndWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words, func(_ *Config, _ *activities.Config, m *scripted.Model) {
		m.Script = scripted.MustParse("delay 1h text \"late\"")
	}, manual)
	w.PinAt(Point{Name: "step/start"})
	w.start()
	w.followup("m1")
	w.settled()
	waits := make(chan error, 1)
	go func() {
		waits <- w.Update(context.Background(), "a", signals.QueryWhenIdle, signals.WhenIdle{}, nil)
	}()
	require.NoError(t, w.Close())
	require.ErrorIs(t, <-waits, errClosed)
	require.ErrorIs(t, w.Settled(t.Context()), nil)
	_, err := w.StartWorker()
	require.ErrorIs(t, err, errClosed)
}
