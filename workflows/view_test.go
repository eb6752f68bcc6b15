package workflows

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// What is known of a message last counts: pending before claimed before how it ended; an id may be used again. See
// spec §4.3.5.
func TestWhereAMessageIs(t *testing.T) {
	t.Parallel()
	s := &driver.State{Turn: 3, Claimed: []string{"claimed", "again", "edited", "rewritten"}, ClaimedAt: []int{4, 4}, Batch: []string{"claimed"}, Dropped: []string{"rewritten"}, NextStep: []driver.Pending{{ID: "pending"}}, NextTurn: []driver.Pending{{ID: "again"}},
		Log: driver.Log{Head: work.Head{Count: 9}},
		Ended: []driver.Ended{
			{ID: "first", Turn: 1, Kind: session.TurnCompleted}, {ID: "twice", Discarded: true}, {ID: "claimed", Discarded: true},
			{ID: "dropped", Turn: 2, Kind: session.TurnBlocked, Dropped: true}, {ID: "discarded", Discarded: true}, {ID: "edited", Discarded: true}, {ID: "twice", Turn: 2, Kind: session.TurnErrored},
		},
		Fates: []string{"2 blocked", "replaced an id", "replaced edited", "1"}}
	for id, want := range map[string]signals.MessageState{
		"never":     {State: "unknown"},
		"first":     {State: "ended", Turn: 1, Kind: session.TurnCompleted, Consumed: true},
		"twice":     {State: "ended", Turn: 2, Kind: session.TurnErrored, Consumed: true, Step: 1},
		"dropped":   {State: "dropped", Turn: 2, Kind: session.TurnBlocked, Step: 2, Reason: "blocked"},
		"discarded": {State: "discarded", Cause: "replaced", ReplacedBy: "an id"},
		"claimed":   {State: "claimed", Turn: 3},
		"pending":   {State: "pending", Target: "next-step"},
		"again":     {State: "pending", Target: "next-turn"},
		"edited":    {State: "claimed", Turn: 3, Step: 4, Consumed: true, Edited: true},
		"rewritten": {State: "claimed", Turn: 3, Step: 4, Reason: "rewritten"},
	} {
		want.Count = 9
		require.Equal(t, want, MessageView(s, id), id)
	}
}

// The step that is being entered is the one that callers want to know of.
func TestTheStepThatIsShown(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1, View(&driver.State{Phase: driver.Stepping}).Step)
	require.Equal(t, 1, View(&driver.State{Phase: driver.Stepping, Step: 1, StepOpen: true}).Step)
	require.Equal(t, 2, View(&driver.State{Phase: driver.Stepping, Step: 1}).Step)
	require.Equal(t, 1, View(&driver.State{Phase: driver.Claiming, Step: 1}).Step)
}

// A change that waits, or callers who wait for one, are shown.
func TestWhetherAChangeIsPending(t *testing.T) {
	t.Parallel()
	require.False(t, View(&driver.State{}).Changing)
	require.True(t, View(&driver.State{Change: &work.Recorded{}}).Changing)
	require.True(t, View(&driver.State{Configures: make([]driver.Configuring, 1)}).Changing)
}

// What a server may not know must not even be taken away there. See architecture A3.10.
func TestTheAttributesOfAStatus(t *testing.T) {
	t.Parallel()
	count := func(s driver.State, tr driver.Transition) int { return len(listed(&s, tr)) }
	require.Equal(t, 3, count(driver.State{}, driver.Transition{}))
	require.Equal(t, 3, count(driver.State{Manifest: work.Manifest{Rules: 1}}, driver.Transition{}))
	require.Equal(t, 4, count(driver.State{Manifest: work.Manifest{Rules: 2}}, driver.Transition{}))
	require.Equal(t, 5, count(driver.State{Parent: "p"}, driver.Transition{Model: "p/m"}))
}

// Whatever waits says why; states of earlier workers do not know everything.
func TestWhatAnAgentWaitsFor(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC).UnixMilli()
	for want, s := range map[string]driver.State{
		"retry 2 at 2031-05-06T07:08:09Z after RATE_LIMIT":                            {Phase: driver.Retrying, Retry: &driver.Retry{Number: 2, DueMS: at, After: "RATE_LIMIT"}},
		"retry 2 at 2031-05-06T07:08:09Z":                                             {Phase: driver.Retrying, Retry: &driver.Retry{Number: 2, DueMS: at}},
		"the store, to flush the log, since 2031-05-06T07:08:09Z: connection refused": {Phase: driver.Idle, Log: driver.Log{Broken: "connection refused", Since: at}},
		"the store, to flush the log: connection refused":                             {Phase: driver.Idle, Log: driver.Log{Broken: "connection refused"}},
		"tools: shell; approval of mail (signal `approve` or `deny` with `\"ask-1\"`)": {Phase: driver.Tools, Calls: []driver.Call{
			{Call: work.Call{Name: "shell"}, State: driver.CallRunning}, {Call: work.Call{Name: "mail"}, State: driver.CallAsking, Ask: &driver.Wait{ID: "ask-1"}}}},
	} {
		require.Equal(t, want, View(&s).WaitingFor)
	}
}

// Who decides about a call sees what it is, and what it is bound to; who runs it sees what is executed.
func TestWhatAnAgentAsks(t *testing.T) {
	t.Parallel()
	s := driver.State{Phase: driver.Tools, Calls: []driver.Call{
		{Call: work.Call{ID: "c1", Name: "mail", Arguments: `{"to":"all"}`}, State: driver.CallAsking, Ask: &driver.Wait{ID: "1.1.c1", Digest: "d", Reason: "why", DueMS: 9}},
		{Call: work.Call{ID: "c2", Name: "mail", Blob: &session.Artifact{SHA256: "ab"}}, State: driver.CallChecking, Effect: "tool-1",
			Ask: &driver.Wait{ID: "1.1.c2", Checking: &driver.Checking{}}},
		{Call: work.Call{ID: "c3", Name: "run", Arguments: `{"k":1}`}, State: driver.CallAsking, Ask: &driver.Wait{ID: "1.1.c3.result", Kind: work.WaitClient},
			Approved: &work.Approved{Arguments: json.RawMessage(`{"k":2}`)}}}}
	require.Equal(t, []signals.Deferred{
		{ID: "1.1.c1", CallID: "c1", Tool: "mail", Arguments: `{"to":"all"}`, Kind: signals.WaitApproval, Digest: "d", Reason: "why", DueMS: 9},
		{ID: "1.1.c2", CallID: "c2", Tool: "mail", Blob: &session.Artifact{SHA256: "ab"}, Kind: signals.WaitApproval, Checking: true},
		{ID: "1.1.c3.result", CallID: "c3", Tool: "run", Arguments: `{"k":2}`, Kind: signals.WaitClient},
	}, View(&s).Deferred)
	require.Nil(t, View(&s).Approvals, "nothing is declared or switched")

	s.Manifest.Approvals = &work.Approvals{Mode: work.PolicyAllowList}
	require.Equal(t, &signals.Approvals{Policy: signals.PolicyAllowList}, View(&s).Approvals)
	s.Policy = &work.Policy{Rules: []work.Rule{{ID: "rule-1", Tool: "mail", Digest: "d", Args: []work.ArgPattern{{Name: "to", Pattern: "me*"}}, UntilMS: 5, By: "ann"}}}
	require.Equal(t, &signals.Approvals{Policy: signals.PolicyAllowList, Rules: []signals.Rule{
		{ID: "rule-1", Tool: "mail", Digest: "d", Args: signals.Patterns{{Arg: "to", Pattern: "me*"}}, UntilMS: 5, By: "ann"}}}, View(&s).Approvals)
	s.Policy = &work.Policy{Mode: work.PolicyNever}
	require.Equal(t, &signals.Approvals{Policy: signals.PolicyNever}, View(&s).Approvals)
}

// What an act comes to as an input of the driver.
func TestDecisionsBecomeInputs(t *testing.T) {
	t.Parallel()
	of := func(act, raw string) driver.Input {
		in, err := Reader{}.Input(act, json.RawMessage(raw), "ref")
		require.NoError(t, err)
		return in
	}
	require.Equal(t, driver.Decided{Ref: "ref", ID: "x", Grant: true, Remember: &work.Rule{Digest: driver.SameCall, UntilMS: 7}},
		of(signals.Approve, `{"id":"x","remember":{"untilMs":7}}`), "the very same call")
	require.Equal(t, driver.Decided{Ref: "ref", ID: "x", Grant: true, Remember: &work.Rule{}}, of(signals.Approve, `{"id":"x","remember":{"any":true}}`))
	require.Equal(t, driver.Decided{Ref: "ref", ID: "x", Grant: true, Remember: &work.Rule{Args: []work.ArgPattern{{Name: "b", Pattern: "1"}, {Name: "a", Pattern: "2"}}}},
		of(signals.Approve, `{"id":"x","remember":{"args":{"b":"1","a":"2"}}}`))
	require.Equal(t, driver.Decided{Ref: "ref", ID: "x", By: "ann", Digest: "d"}, of(signals.DenyCall, `{"id":"x","by":"ann","digest":"d"}`))
	require.Equal(t, driver.PolicyAsked{Ref: "ref", Request: "r", Mode: "never", Allow: []work.Rule{{Tool: "t", UntilMS: 5}}, Revoke: []string{"rule-1"}, By: "ann", Reason: "night"},
		of(signals.SetPolicy, `{"requestId":"r","mode":"never","allow":[{"tool":"t","untilMs":5}],"revoke":["rule-1"],"by":"ann","reason":"night"}`))
}
