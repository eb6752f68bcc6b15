package workflows_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// An update is a signal with a receipt: on return the insert is in the log. See spec §3.1.1.
func TestAnUpdateIsAnsweredWithItsReceipt(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	var first, again, wrong *update
	p.after(time.Second, func() { first = p.update("followup", signals.Send{ID: "a", Text: "a", RequestID: "r"}) })
	p.after(2*time.Second, func() { again = p.update("followup", signals.Send{ID: "a", Text: "a", RequestID: "r"}) })
	p.after(3*time.Second, func() { wrong = p.update("followup", signals.Send{ID: "a"}) })
	p.after(4*time.Second, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Equal(t, signals.Started, first.receipt.Disposition)
	require.Zero(t, *first.receipt.Seq)
	require.Equal(t, signals.Duplicate, again.receipt.Disposition)
	require.False(t, wrong.done, "what is wrong costs nothing")
	var app *temporal.ApplicationError
	require.ErrorAs(t, wrong.rejected, &app)
	require.Equal(t, signals.ErrInvalid, app.Type())
}

// A large body is stored before the workflow holds it, and a stored one is looked at. See architecture A3.4.
func TestALargeBodyIsSetAside(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	large := strings.Repeat("x", work.InlineLimit+1)
	fits := strings.Repeat("x", work.InlineLimit)
	blob := session.Artifact{SHA256: strings.Repeat("0", 64), Bytes: 9, MediaType: work.ContentMediaType}
	var spilled []session.Content
	p.spill = func(in work.SpillIn) (work.SpillOut, error) {
		spilled = append(spilled, in.Content)
		switch len(spilled) {
		case 1:
			return work.SpillOut{Blob: blob}, nil
		case 2:
			return work.SpillOut{Code: work.SpillMissing, Message: "not here"}, nil
		}
		return work.SpillOut{}, temporal.NewNonRetryableApplicationError("disk full", "STORE", nil)
	}
	var stored, missing, refused *update
	p.after(time.Second, func() { p.signal("inject", `{"id":"small","text":"`+fits+`"}`) })
	p.after(2*time.Second, func() { stored = p.update("inject", signals.Send{ID: "large", Text: large}) })
	p.after(3*time.Second, func() { missing = p.update("inject", signals.Send{ID: "gone", Body: &blob}) })
	p.after(4*time.Second, func() { refused = p.update("inject", signals.Send{ID: "full", Text: large}) })
	p.after(time.Hour, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Equal(t, "IS+(next-step:small) IS+(next-step:large)", p.log())
	require.Equal(t, session.Content{blob}, p.events[1].Event.(session.InboxSpliced).Inserted[0].Content)
	require.Equal(t, []session.Content{session.TextContent(large), {blob}, session.TextContent(large)}, spilled)
	require.Equal(t, signals.Parked, stored.receipt.Disposition)
	require.Equal(t, work.SpillMissing, missing.receipt.Code)
	require.Equal(t, "STORE", refused.receipt.Code)
	require.Equal(t, int64(2), refused.receipt.Revision)
}

// A few callers may wait inside the run; the next one is told to ask. See spec §3.5, architecture A3.10.
func TestWhenIdleWaits(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	var waiters []*update
	after := int64(0)
	p.blocked(func() {
		for range 5 {
			waiters = append(waiters, p.update(signals.QueryWhenIdle, signals.WhenIdle{}))
		}
		p.signal("cancel", `{}`)
	})
	p.after(time.Second, func() { p.signal("followup", `{"id":"a","text":"a"}`) })
	var old, next *update
	p.after(time.Minute, func() {
		old = p.update(signals.QueryWhenIdle, signals.WhenIdle{After: &after})
		one := int64(1)
		next = p.update(signals.QueryWhenIdle, signals.WhenIdle{After: &one})
	})
	p.after(2*time.Minute, func() {
		require.True(t, old.done)
		require.False(t, next.done, "that generation is not over yet")
		p.signal("dispose", `{}`)
	})
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Len(t, waiters, 5)
	for _, w := range waiters[:4] {
		require.Equal(t, signals.Idle{Idle: true, Generation: 1, Revision: 2}, w.idle)
	}
	var app *temporal.ApplicationError
	require.ErrorAs(t, waiters[4].rejected, &app)
	require.Equal(t, signals.ErrTooMany, app.Type())
	require.Equal(t, signals.Idle{Generation: 1, Revision: 2, Retry: true}, next.idle, "whoever waits when the run ends is to ask again")
}

// Whoever asks for the end is answered before it. See spec §6.3.
func TestADisposalAsAnUpdateIsAnswered(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	var end *update
	p.after(time.Second, func() { end = p.update("dispose", signals.Dispose{}) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.True(t, end.done)
	require.Equal(t, signals.Done, end.receipt.Disposition)
}

// A batch that holds something wrong does nothing. See architecture D24.
func TestABatchIsAppliedAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	blob := session.Artifact{SHA256: strings.Repeat("0", 64), Bytes: 9, MediaType: work.ContentMediaType}
	p.spill = func(work.SpillIn) (work.SpillOut, error) {
		return work.SpillOut{Code: work.SpillMissing, Message: "not here"}, nil
	}
	var wrong, right *update
	good := signals.Act{Act: signals.Inject, Send: &signals.Send{ID: "a", Text: "a"}}
	p.after(time.Second, func() {
		wrong = p.update("batch", signals.Batch{Acts: []signals.Act{good, {Act: signals.Inject, Send: &signals.Send{ID: "b", Body: &blob}}}})
	})
	p.after(2*time.Second, func() {
		right = p.update("batch", signals.Batch{Acts: []signals.Act{good, {Act: signals.InboxClear, Clear: &signals.Clear{}}}})
	})
	p.after(3*time.Second, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Equal(t, signals.Refused, wrong.receipt.Disposition)
	require.Equal(t, work.SpillMissing, wrong.receipt.Code)
	require.Empty(t, wrong.receipt.Receipts)
	require.Len(t, right.receipt.Receipts, 2)
	require.Equal(t, "IS+(next-step:a) ISx(next-step:1)", p.log())
}

// A signal was accepted, and is durable: if the store is away, it waits, and what came after it waits behind it. A caller
// is told. See architecture A3.3, A3.4.
func TestASignalWaitsForTheStore(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.setup = newest
	large := strings.Repeat("x", work.InlineLimit+1)
	blob := session.Artifact{SHA256: strings.Repeat("0", 64), Bytes: 9, MediaType: work.ContentMediaType}
	down := true
	p.spill = func(work.SpillIn) (work.SpillOut, error) {
		if down {
			return work.SpillOut{}, temporal.NewNonRetryableApplicationError("disk full", "STORE", nil)
		}
		return work.SpillOut{Blob: blob}, nil
	}
	var waits signals.State
	idle := signals.Idle{Idle: true}
	p.after(time.Second, func() { p.signal("inject", `{"id":"large","text":"`+large+`"}`) })
	p.after(2*time.Second, func() { p.signal("inject", `{"id":"small","text":"s"}`) })
	p.after(time.Hour, func() {
		v, err := p.env.QueryWorkflow(signals.QueryState)
		require.NoError(t, err)
		require.NoError(t, v.Get(&waits))
		v, err = p.env.QueryWorkflow(signals.QueryWhenIdle, signals.WhenIdle{})
		require.NoError(t, err)
		require.NoError(t, v.Get(&idle))
	})
	p.after(2*time.Hour, func() { down = false })
	p.after(3*time.Hour, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Contains(t, waits.WaitingFor, "the store, to take a message's body: ")
	require.Contains(t, waits.WaitingFor, "disk full")
	require.False(t, idle.Idle, "there is something to do")
	require.Equal(t, "IS+(next-step:large) IS+(next-step:small)", strings.Split(p.log(), " ISx")[0])
}

// A store that never comes back must not hold a signal for ever.
func TestASignalWaitsForTheStoreForADay(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.setup = newest
	began := p.env.Now()
	p.spill = func(work.SpillIn) (work.SpillOut, error) {
		return work.SpillOut{}, temporal.NewNonRetryableApplicationError("gone", "STORE", nil)
	}
	p.after(time.Second, func() { p.signal("inject", `{"id":"large","text":"`+strings.Repeat("x", work.InlineLimit+1)+`"}`) })
	p.after(2*time.Second, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	require.Empty(t, p.log())
	require.Greater(t, p.env.Now().Sub(began), 23*time.Hour)
}

// newest is a birth by a worker of today's rules.
func newest(context.Context, work.SetupIn) (work.SetupOut, error) {
	return work.SetupOut{Store: "store", Worker: work.Worker{Rules: work.Rules}}, nil
}

// The Temporal UI offers what is described. No signal is received from a channel of its own: order would be lost.
func TestSignalsUpdatesAndQueriesAreDescribed(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	var said sdkpb.WorkflowMetadata
	p.after(time.Second, func() { p.signal("inject", `"a"`) })
	p.after(time.Second, func() { p.signal("steer", `"b"`) })
	p.after(time.Minute, func() {
		v, err := p.env.QueryWorkflow("__temporal_workflow_metadata")
		require.NoError(t, err)
		require.NoError(t, v.Get(&said))
	})
	p.after(time.Hour, func() { p.signal("dispose", `{}`) })
	p.run()
	require.NoError(t, p.env.GetWorkflowError())
	described := func(list []*sdkpb.WorkflowInteractionDefinition) (names []string) {
		for _, d := range list {
			require.NotEmpty(t, d.GetDescription(), d.GetName())
			names = append(names, d.GetName())
		}
		return names
	}
	require.ElementsMatch(t, signals.Acts, described(said.GetDefinition().GetSignalDefinitions()))
	require.ElementsMatch(t, append(slices.Clone(signals.Acts), signals.QueryWhenIdle), described(said.GetDefinition().GetUpdateDefinitions()))
	require.Subset(t, described(said.GetDefinition().GetQueryDefinitions()), []string{signals.QueryState, signals.QueryLog, signals.QueryMessage, signals.QueryWhenIdle})
	require.Contains(t, said.GetCurrentDetails(), "**idle** · turn 1 step 1")
}
