package local

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// long has a first delta that does not wait for the journal's clock: it is longer than a journal part.
var long = `text "` + strings.Repeat("a long answer ", 3000) + `" chunks=2`

// See architecture A3.6.
func TestAWorkerThatDiesInTheMiddleOfAStreamLeavesItsEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, long)
	w.KillAt(Point{Name: "chunk"}, 1)
	w.start()
	w.followup("m1")
	w.settled()
	require.ErrorIs(t, w.Query(t.Context(), "a", signals.QueryState, nil, nil), agents.ErrNoWorker)
	w.worker()
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×1 AA CH×5 AM SE TE(completed)", w.trace())
	require.Len(t, w.sent.Requests(), 2)
	for _, r := range w.log() {
		if e, ok := r.Event.(session.AssistantAttempt); ok {
			require.Equal(t, work.CodeWorkerLost, e.Failure.Code)
			require.Len(t, e.ChunkSeqs, 1)
		}
	}
}

func TestTheAnswerOfASettledCallIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, lose := range []struct {
		how string
		do  func(*world)
	}{
		{"the answer is lost", func(w *world) { w.LoseAnswer(Point{Activity: work.Step}) }},
		{"the worker dies with it", func(w *world) { w.KillAt(Point{Name: "activity/answer", Activity: work.Step}, 1) }},
		{"the worker dies before it", func(w *world) { w.KillAt(Point{Name: "step/settled"}, 1) }},
	} {
		t.Run(lose.how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, words)
			lose.do(w)
			w.start()
			w.followup("m1")
			w.settled()
			w.worker()
			w.idle()
			require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM SE TE(completed)", w.trace())
			require.Len(t, w.sent.Requests(), 1)
		})
	}
}

// See architecture A3.7.
func TestAToolIsRepeatedOnlyIfItMayBe(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		tool, point, want string
		bodies            int
	}{
		{"echo", "tool/body", "TR(c1)", 2},
		{"once", "tool/body", "TR!(c1,TOOL_OUTCOME_UNKNOWN)", 1},
		{"once", "tool/done", "TR(c1)", 1},
		{"once", "activity/start", "TR(c1)", 1},
		{"echo", "activity/answer", "TR(c1)", 2},
	} {
		t.Run(row.tool+" at "+row.point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "tool c1 "+row.tool+" {\"text\":\"hi\"}\ntext \"ok\"")
			w.KillAt(Point{Name: row.point, Activity: work.Tool}, 1)
			w.start()
			w.followup("m1")
			w.settled()
			w.worker()
			w.idle()
			require.Contains(t, w.trace(), "TC(c1) "+row.want+" SE SS1.2 CH×4 AM SE TE(completed)")
			require.Equal(t, row.bodies, w.bodies.of("c1"))
		})
	}
}

func TestAZombieCannotSayAnythingTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	h := w.HoldAt(Point{Name: "chunk", Execution: 1})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	_, err := w.Zombie()
	require.NoError(t, err)
	w.worker()
	w.idle()
	before := w.trace()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC AA CH×4 AM SE TE(completed)", before)
	h.Release() // the zombie goes on, writes what it has and answers
	w.settled()
	require.Equal(t, before, w.trace())
	w.followup("m2")
	w.idle()
	require.Equal(t, before+" IS+(next-turn:m2) TS2 IS-(next-turn:1) SS2.1 UM(m2) CH×4 AM SE TE(completed)", w.trace())
	require.Len(t, w.sent.Requests(), 3)
}

func TestAZombiesToolIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "tool c1 once {\"text\":\"hi\"}\ntext \"ok\"")
	h := w.HoldAt(Point{Name: "tool/body", Execution: 1})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	require.Equal(t, 1, w.TimeOut(Point{Activity: work.Tool}))
	w.idle()
	require.Contains(t, w.trace(), "TC(c1) TR!(c1,TOOL_OUTCOME_UNKNOWN) SE")
	before := w.trace()
	h.Release()
	w.settled()
	require.Equal(t, before, w.trace())
	require.Equal(t, 1, w.bodies.of("c1"))
}

// See architecture A3.6.
func TestAStepThatNobodyAnswersIsSettled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	h := w.HoldAt(Point{Name: "chunk"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	w.ExhaustRetries(Point{Activity: work.Step})
	w.idle()
	require.True(t, strings.HasSuffix(w.trace(), "RC AA SE TE(error WORKER_LOST)"), w.trace())
	h.Release()
	w.followup("m2")
	w.idle()
	require.True(t, strings.HasSuffix(w.trace(), "TS2 IS-(next-turn:1) SS2.1 UM(m2) CH×4 AM SE TE(completed)"), w.trace())
}

func TestASettlementThatIsLostTooEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.ExhaustRetries(Point{Activity: work.Step, Turn: 1})
	w.ExhaustRetries(Point{Activity: work.Step, Mode: work.StepSettle})
	w.start()
	w.followup("m1")
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) TE(error WORKER_LOST)", w.trace())
	w.followup("m2")
	w.idle()
	require.True(t, strings.HasSuffix(w.trace(), "TE(completed)"), w.trace())
}

func TestAToolThatNoWorkerTakesIsUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "tool c1 once {\"text\":\"hi\"}\ntext \"ok\"")
	w.CancelBeforeStart(Point{Activity: work.Tool})
	w.start()
	w.followup("m1")
	w.settled()
	w.Unavailable(Point{Activity: work.Tool})
	w.idle()
	require.Contains(t, w.trace(), "TC(c1) TR!(c1,TOOL_UNAVAILABLE) SE SS1.2")
	require.Zero(t, w.bodies.of("c1"))
}

// See spec §5 X3, X11.
func TestACancelBeforeAnythingStarted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ activity, want string }{
		{work.Step, "TS1 IS-(next-turn:1) CR(user) TE(aborted user)"},
		{work.Tool, "TC(c1) CR(user) TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)"},
	} {
		t.Run(row.activity, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "tool c1 once {\"text\":\"hi\"}")
			w.CancelBeforeStart(Point{Activity: row.activity})
			w.start()
			w.followup("m1")
			w.settled()
			w.signal(signals.CancelTurn, signals.Cancel{})
			w.idle()
			require.True(t, strings.HasSuffix(w.trace(), row.want), w.trace())
			require.Zero(t, w.bodies.of("c1"))
		})
	}
}

// See architecture A3.3.
func TestAFlushThatFailsIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words, manual)
	w.start()
	w.idle()
	w.FailPersist(Point{}, 4)
	w.followup("m1")
	w.settled()
	require.NoError(t, w.Advance(t.Context(), 1e9)) // the pauses between the four tries
	var s signals.State
	require.NoError(t, w.Query(t.Context(), "a", signals.QueryState, nil, &s))
	require.Equal(t, "idle", s.Status)
	require.NotEmpty(t, s.Log.Problem)
	require.NotZero(t, s.Log.Tail)
	require.NoError(t, w.Advance(t.Context(), 60e9))
	s = signals.State{}
	require.NoError(t, w.Query(t.Context(), "a", signals.QueryState, nil, &s))
	require.Empty(t, s.Log.Problem)
	require.Zero(t, s.Log.Tail)
}

// See architecture A1: signals are durable when they are accepted.
func TestSignalsAreTakenWhileNoWorkerRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	require.NoError(t, w.KillWorker())
	require.ErrorIs(t, w.KillWorker(), ErrNoneAlive)
	w.start()
	w.followup("m1")
	w.inject("m2")
	w.settled()
	has, err := w.Workers(t.Context())
	require.NoError(t, err)
	require.False(t, has)
	require.ErrorIs(t, w.Update(t.Context(), "a", signals.Followup, message("m3"), nil), agents.ErrNoWorker)
	w.worker()
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM IS+(next-step:m2) SE "+
		"IS-(next-step:1) SS1.2 UM(m2) CH×4 AM SE TE(completed)", w.trace(), "callers wait for the birth, and are heard in order")
}

// See architecture A3.15.
func TestAWorkerThatStopsHandsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	h := w.HoldAt(Point{Name: "chunk"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	old := w.workers[0]
	h.Release()
	hold := w.HoldAt(Point{Name: "chunk"})
	require.NoError(t, hold.Wait(t.Context(), 1))
	old.Stop()
	w.settled()
	hold.Release()
	w.worker()
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×2 AA CH×4 AM SE TE(completed)", w.trace(),
		"it keeps what it showed")
}

// See architecture A3.9.
func TestNativeCancellation(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, want string }{
		{"", "CR(user) SE TE(aborted user)"},
		{"because", "CR(user) SE TE(aborted user)"},
		{`{"kind":"hook","reason":"budget"}`, "CR(hook budget) SE TE(aborted hook budget)"},
		{`{"kind":"parent","keepInbox":true}`, "CR(parent) SE TE(aborted parent)"},
		{"dispose", "CR(disposed) SE TE(aborted disposed)"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, words)
			h := w.HoldAt(Point{Name: "chunk"})
			w.start()
			w.followup("m1")
			require.NoError(t, h.Wait(t.Context(), 1))
			require.NoError(t, w.NativeCancel("a", row.reason))
			require.NoError(t, w.NativeCancel("a", "only the first counts"))
			w.settled()
			w.idle()
			require.True(t, strings.HasSuffix(w.trace(), "CH×1 AM! "+row.want), w.trace())
			run, err := w.Describe(t.Context(), "a")
			require.NoError(t, err)
			if row.reason == "dispose" {
				require.Equal(t, "canceled", run.Status)
				return
			}
			require.Equal(t, 2, w.Runs("a"), "a run can be cancelled only once")
			h.Release()
			w.followup("m2")
			w.idle()
			require.True(t, strings.HasSuffix(w.trace(), "TE(completed)"), w.trace())
		})
	}
}

func TestTheSecondNativeCancelOfAnIdleAgentDisposesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.settled()
	require.NoError(t, w.NativeCancel("a", ""))
	w.settled()
	require.NoError(t, w.NativeCancel("a", ""))
	w.settled()
	run, err := w.Describe(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "canceled", run.Status)
}

// See architecture A3.3.
func TestAnotherProcessGoesOnWithTheSameStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goldenScript)
	h := w.HoldAt(Point{Name: "tool/body"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	w.steer("m2")
	w.settled()
	data, err := w.Save()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Signal(t.Context(), "a", signals.Followup, message("m9")), errClosed)

	w.Engine, err = Load(w.config, data)
	require.NoError(t, err)
	w.worker()
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM TC(c1) IS+(next-step:m2) TR(c1) SE "+
		"IS-(next-step:1) SS1.2 UM(m2) CH×4 AM SE TE(completed)", w.trace())
	require.Equal(t, 2, w.bodies.of("c1"), "a pure tool runs again")
	require.NoError(t, w.Close())
}

// See architecture A3.11.
func TestARolloverLeavesNoTrace(t *testing.T) {
	t.Parallel()
	script := `
		tool c1 echo {"text":"1"} tool c2 once {"text":"2"}
		error RATE_LIMIT
		text "ok"
		text "again"
	`
	run := func(every int) (string, int) {
		w := newWorld(t, script, withRollover(every), func(_ *Config, _ *activities.Config, m *scripted.Model) {
			m.Position = scripted.ByRequest
		})
		w.start()
		w.followup("m1")
		w.idle()
		w.inject("m2")
		w.followup("m3")
		w.idle()
		w.settled()
		return w.trace(), w.Runs("a")
	}
	want, runs := run(0)
	require.Equal(t, 1, runs)
	for every := 1; every <= 6; every++ {
		got, runs := run(every)
		require.Equal(t, want, got, "every %d inputs", every)
		require.Greater(t, runs, 1)
	}
}

func TestARolloverThatIsAskedForWaitsForASafePoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goldenScript)
	h := w.HoldAt(Point{Name: "tool/body"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	require.NoError(t, w.AskRollover("a"))
	w.settled()
	require.Equal(t, 1, w.Runs("a"), "a tool runs")
	h.Release()
	w.idle()
	w.settled()
	require.Equal(t, 2, w.Runs("a"))
	require.True(t, strings.HasSuffix(w.trace(), "TC(c1) TR(c1) SE SS1.2 CH×4 AM SE TE(completed)"), w.trace())
}

func TestWhatIsRetriedForEverDoesNotRunForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.settled()
	w.FailPersist(Point{}, 1_000_000)
	w.followup("m1")
	w.settled()
	w.mu.Lock()
	w.faults = nil
	w.mu.Unlock()
	w.inject("m2")
	w.settled()
	require.NoError(t, w.WaitUntil(t.Context(), "a", func(s signals.State) bool { return s.Log.Tail == 0 }))
}
