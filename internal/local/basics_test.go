package local

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

const words = `
	text "One."
	text "Two."
	text "Three."
	text "Four."
`

// See spec C-002.
func TestFollowupRunsOneTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.followup("m1")
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM SE TE(completed)", w.trace())
}

// See spec C-020, C-021.
func TestInjectWaitsForAWake(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.inject("m1")
	w.idle()
	require.Equal(t, "IS+(next-step:m1)", w.trace())
	w.followup("m2")
	w.idle()
	require.Equal(t, "IS+(next-step:m1) IS+(next-turn:m2) TS1 IS-(next-step:1) IS-(next-turn:1) SS1.1 UM(m1) UM(m2) RH(initial) RC CH×4 AM SE TE(completed)",
		w.trace())
	require.Len(t, w.sent.Requests(), 1)
}

// See spec C-024.
func TestSeveralFollowupsAreTurnsInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.signal(signals.BatchActs, signals.Batch{Acts: []signals.Act{
		{Act: signals.Followup, Send: &signals.Send{ID: "m1", Text: "a"}},
		{Act: signals.Followup, Send: &signals.Send{ID: "m2", Text: "b"}},
	}})
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) IS+(next-turn:m2) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM SE TE(completed) "+
		"TS2 IS-(next-turn:1) SS2.1 UM(m2) CH×4 AM SE TE(completed)", w.trace())
	require.Equal(t, "running idle", w.kinds.statuses())
}

// See spec C-028.
func TestSteerDuringAToolJoinsTheNextStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goldenScript)
	h := w.HoldAt(Point{Name: "tool/body"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	w.steer("m2")
	w.settled()
	h.Release()
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM TC(c1) IS+(next-step:m2) TR(c1) SE "+
		"IS-(next-step:1) SS1.2 UM(m2) CH×4 AM SE TE(completed)", w.trace())
}

// See spec C-222, C-236.
func TestCancelInTheMiddleOfAStreamKeepsTheVisiblePrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	h := w.HoldAt(Point{Name: "chunk"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	w.signal(signals.CancelTurn, signals.Cancel{})
	w.settled()
	h.Release()
	w.idle()
	require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×1 AM! CR(user) SE TE(aborted user)", w.trace())
	w.followup("m2")
	w.idle()
	require.Contains(t, w.trace(), "UM(m2) CH×4 AM SE TE(completed)")
}

// See spec C-200.
func TestCancelOfAnIdleAgentDoesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	var r signals.Receipt
	require.NoError(t, w.Update(t.Context(), "a", signals.CancelTurn, signals.Cancel{}, &r))
	require.Equal(t, signals.Done, r.Disposition)
	w.idle()
	require.Empty(t, w.log())
}

// See spec C-235.
func TestCancelWaitsForABodyThatDoesNotListen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goldenScript)
	h := w.PinAt(Point{Name: "tool/body"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	w.signal(signals.CancelTurn, signals.Cancel{})
	w.settled()
	require.NoError(t, w.WaitUntil(t.Context(), "a", func(s signals.State) bool { return s.Status == "running" && s.Cancel != nil }))
	h.Release()
	w.idle()
	require.Contains(t, w.trace(), "TC(c1) CR(user) TR!(c1,ABORTED) SE TE(aborted user)")
}

// See spec C-154.
func TestParallelToolsRunTogetherAndCommitInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
		tool c1 echo {"text":"1"} tool c2 echo {"text":"2"} tool c3 alone {"text":"3"}
		text "Done."
	`)
	h := w.HoldAt(Point{Name: "tool/body"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 2))
	w.settled()
	require.Len(t, w.Held(), 2, "the exclusive call waits")
	h.Release()
	w.idle()
	require.Contains(t, w.trace(), "TC(c1) TC(c2) TR(c1) TR(c2) TC(c3) TR(c3) SE SS1.2")
}

func TestUpdatesAnswerWithReceipts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	var r signals.Receipt
	require.NoError(t, w.Update(t.Context(), "a", signals.Inject, message("m1"), &r))
	require.Equal(t, signals.Parked, r.Disposition)
	require.Equal(t, "m1", r.ID)
	require.EqualValues(t, 0, *r.Seq)
	require.NoError(t, w.Update(t.Context(), "a", signals.Inject, message("m1"), &r))
	require.Equal(t, signals.Refused, r.Disposition)
	require.Equal(t, "DUPLICATE_ID", r.Code)

	var refused *agents.RefusedError
	require.ErrorAs(t, w.Update(t.Context(), "a", signals.Followup, signals.Send{}, nil), &refused)
	require.Equal(t, signals.ErrInvalid, refused.Code)
	require.ErrorAs(t, w.Update(t.Context(), "a", "sing", nil, nil), &refused)
	require.ErrorAs(t, w.Query(t.Context(), "a", "weather", nil, nil), &refused)
}

func TestAMalformedSignalIsDroppedVisibly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.signal(signals.Followup, signals.Send{})
	w.signal("sing", "la")
	w.followup("m1")
	w.idle()
	require.True(t, strings.HasPrefix(w.trace(), "IS+(next-turn:m1) TS1"))
	require.Equal(t, 2, strings.Count(strings.Join(w.kinds.heard, " "), "agent/refused"))
}

func TestWhenIdleWaitsForWhatWasAcceptedBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.followup("m1")
	var idle signals.Idle
	require.NoError(t, w.Update(t.Context(), "a", signals.QueryWhenIdle, signals.WhenIdle{}, &idle))
	require.True(t, idle.Idle)
	require.EqualValues(t, 1, idle.Generation)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := w.Update(ctx, "a", signals.QueryWhenIdle, signals.WhenIdle{After: &idle.Generation}, &idle)
	require.ErrorIs(t, err, context.Canceled, "nothing happened since")
}

// See architecture D17.
func TestAQuerySeesWhatWasAcceptedBeforeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.HoldAt(Point{Name: "chunk"})
	w.start()
	w.idle()
	w.followup("m1")
	var s signals.State
	require.NoError(t, w.Query(t.Context(), "a", signals.QueryState, nil, &s))
	require.Equal(t, "running", s.Status)
	var m signals.MessageState
	require.NoError(t, w.Query(t.Context(), "a", signals.QueryMessage, signals.MessageID{ID: "m1"}, &m))
	require.Equal(t, "claimed", m.State)
	var l signals.Log
	require.NoError(t, w.Query(t.Context(), "a", signals.QueryLog, nil, &l))
	require.NotEmpty(t, l.Tail)
}

// See spec §6.3.
func TestDisposeEndsTheAgentAndFreesItsCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	h := w.HoldAt(Point{Name: "chunk"})
	w.start()
	w.followup("m1")
	require.NoError(t, h.Wait(t.Context(), 1))
	var r signals.Receipt
	require.NoError(t, w.Update(t.Context(), "a", signals.DisposeAgent, signals.Dispose{}, &r))
	require.Equal(t, signals.Done, r.Disposition)
	require.True(t, strings.HasSuffix(w.trace(), "AM! CR(disposed) SE TE(aborted disposed)"), w.trace())

	run, err := w.Describe(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, run.Open)
	require.Equal(t, "completed", run.Status)
	require.ErrorIs(t, w.Signal(t.Context(), "a", signals.Followup, message("m2")), agents.ErrClosed)
	require.ErrorIs(t, w.Update(t.Context(), "a", signals.Followup, message("m2"), nil), agents.ErrClosed)
	require.NoError(t, w.Query(t.Context(), "a", signals.QueryState, nil, nil), "the dead can be read")
}

// See spec C-286, C-287.
func TestAFailedBirthFreesTheID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	require.NoError(t, w.Start(t.Context(), "a", signals.Create{Definition: "nobody"}))
	var failed *agents.CreateError
	require.ErrorAs(t, w.Update(t.Context(), "a", signals.QueryWhenIdle, signals.WhenIdle{}, nil), &failed)
	require.Equal(t, work.ErrUnknownDefinition, failed.Code)
	w.settled()
	run, err := w.Describe(t.Context(), "a")
	require.NoError(t, err)
	said := agents.Listed{ID: "a", Status: "failed", Definition: "nobody", Started: w.Now()}
	require.Equal(t, agents.Run{ID: "a-run-1", Status: "failed", Code: work.ErrUnknownDefinition, Reason: run.Reason, Started: w.Now(), Said: said}, run)
	require.Contains(t, run.Reason, "nobody")
	w.start()
	require.ErrorIs(t, w.Start(t.Context(), "a", signals.Create{Definition: "test"}), agents.ErrExists)
	w.followup("m1")
	w.idle()
	require.Contains(t, w.trace(), "TE(completed)")
}

func TestListNamesTheNewestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	require.NoError(t, w.Start(t.Context(), "b", signals.Create{Definition: "test"}))
	w.signal(signals.DisposeAgent, signals.Dispose{})
	w.settled()
	var got []string
	for l, err := range w.List(t.Context()) {
		require.NoError(t, err)
		got = append(got, l.ID+" "+l.Status)
	}
	require.Equal(t, []string{"b idle", "a completed"}, got)
}

func TestUnknownAgentsAreSaidToBeUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	require.ErrorIs(t, w.Signal(t.Context(), "a", signals.Followup, message("m")), agents.ErrUnknownAgent)
	require.ErrorIs(t, w.Query(t.Context(), "a", signals.QueryState, nil, nil), agents.ErrUnknownAgent)
	_, err := w.Describe(t.Context(), "a")
	require.ErrorIs(t, err, agents.ErrUnknownAgent)
	var refused *agents.RefusedError
	require.ErrorAs(t, w.Start(t.Context(), "", signals.Create{}), &refused)
}

// See architecture A3.4.
func TestALargeMessageIsStoredAndComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	text := strings.Repeat("long ", 4000)
	w.signal(signals.Followup, signals.Send{ID: "m1", Text: text})
	w.signal(signals.InboxReplace, signals.Replace{ID: "nobody", With: signals.Send{Text: text}})
	w.idle()
	require.Equal(t, text, w.sent.Requests()[0].Messages[0].Text())
}

// See spec C-139.
func TestRetriesWaitOnTheVirtualClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", manual, func(_ *Config, _ *activities.Config, m *scripted.Model) {
		m.Script = scripted.MustParse("error RATE_LIMIT\n text \"ok\"")
		m.Position = scripted.ByRequest
	})
	w.start()
	w.followup("m1")
	w.settled()
	begun := w.Now()
	require.NoError(t, w.WaitUntil(t.Context(), "a", func(s signals.State) bool { return s.Phase == "retry" }))
	require.NoError(t, w.Advance(t.Context(), time.Minute))
	require.Equal(t, begun.Add(time.Minute), w.Now())
	require.True(t, strings.HasSuffix(w.trace(), "CH×1 AA LR(1) LRS(1) CH×4 AM SE TE(completed)"), w.trace())
	var waited session.LLMRetry
	for _, r := range w.log() {
		if e, ok := r.Event.(session.LLMRetry); ok {
			waited = e
		}
		if _, ok := r.Event.(session.LLMRetryStarted); ok {
			require.Equal(t, begun.UnixMilli()+waited.DelayMS, r.Time)
		}
	}
}

func TestAQueryDoesNotOutliveTheLastWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words)
	w.start()
	w.settled()
	w.PinAt(Point{Activity: activityTask})
	w.inject("m1")
	w.settled()
	asked := make(chan error, 1)
	go func() { asked <- w.Query(context.Background(), "a", signals.QueryState, nil, nil) }()
	require.NoError(t, w.wait(t.Context(), func() bool { return len(w.agents["a"].Queue) == 2 }))
	require.NoError(t, w.KillWorker())
	require.ErrorIs(t, <-asked, agents.ErrNoWorker)
}

func TestOneAgentMayRestWhileAnotherWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, words, manual, func(_ *Config, _ *activities.Config, m *scripted.Model) {
		m.Script = scripted.MustParse(`delay 1h text "late"`)
	})
	w.start()
	w.followup("m1")
	require.NoError(t, w.Quiesce(t.Context(), "a"))
	require.NoError(t, w.Advance(t.Context(), 59*time.Minute))
	require.NoError(t, w.WaitUntil(t.Context(), "a", func(s signals.State) bool { return s.Phase == "step" }))
	require.NoError(t, w.Advance(t.Context(), time.Minute))
	w.idle()
	require.Contains(t, w.trace(), "TE(completed)")
}
