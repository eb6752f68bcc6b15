package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// cancelNatively cancels the workflow as the Temporal UI or CLI would, with a reason.
func (p *place) cancelNatively(id, reason string) {
	p.t.Helper()
	_, err := p.sdk.WorkflowService().RequestCancelWorkflowExecution(p.t.Context(), &workflowservice.RequestCancelWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}, Reason: reason, Identity: "operator"})
	require.NoError(p.t, err)
}

// runOf is the latest run of an agent and its status.
func (p *place) runOf(id string) (run string, status enumspb.WorkflowExecutionStatus) {
	p.t.Helper()
	d, err := p.sdk.DescribeWorkflow(p.t.Context(), id, "")
	require.NoError(p.t, err)
	return d.WorkflowExecution.RunID, d.Status
}

// renewed waits until an agent has moved to a new run.
func (p *place) renewed(id, from string) string {
	p.t.Helper()
	var run string
	until(p.t, "the agent moves to a new run", func() bool {
		run, _ = p.runOf(id)
		return run != from
	})
	return run
}

func TestANativeCancelStopsTheTurnAndTheAgentGoesOn(t *testing.T) { // A3.9
	p := here(t)
	p.worker()
	a := p.create("a")
	id := send(t, a, "count to 500")
	streams(t, a, 2)
	first, _ := p.runOf(a.ID())
	p.cancelNatively(a.ID(), "too long")

	require.Equal(t, session.TurnAborted, said(t, a, id).Outcome.Kind)
	idle(t, a)
	second := p.renewed(a.ID(), first)
	records := p.records(a.ID())
	require.True(t, strings.HasSuffix(trace(records), "SE TE(aborted user)"), trace(records))
	require.Equal(t, session.CancelRequested{Cause: session.Cause{Kind: session.CauseUser}, Via: "native", By: "operator", Text: "too long"},
		all[session.CancelRequested](records)[0])
	goesOn(t, p, a)
	require.Len(t, all[session.TurnEnd](p.records(a.ID())), 2)

	require.NoError(t, p.sdk.CancelWorkflow(t.Context(), a.ID(), "")) // idle: a no-op, but the run is renewed
	third := p.renewed(a.ID(), second)
	goesOn(t, p, a)
	id = send(t, a, "count to 500") // and it can be cancelled again
	until(t, "the model answers", func() bool { return has[session.StepStart](t, a) })
	streams(t, a, 2)
	p.cancelNatively(a.ID(), "again")
	require.Equal(t, session.TurnAborted, said(t, a, id).Outcome.Kind)
	p.renewed(a.ID(), third)
}

func TestANativeCancelMaySayWhyAndKeepTheInbox(t *testing.T) { // A3.9, A3.11, C-205
	p := here(t)
	p.worker()
	a := p.create("a")
	running := send(t, a, "count to 500")
	streams(t, a, 2)
	kept := send(t, a, "please echo kept")
	_, err := a.Inject(t.Context(), agents.Message{RequestID: "r1", Text: "context"})
	require.NoError(t, err)
	until(t, "both are pending", func() bool { s, err := a.State(t.Context()); return err == nil && len(s.Inbox) == 2 })
	waiting := make(chan error, 1)
	go func() { _, err := a.Await(t.Context(), kept); waiting <- err }()
	updated := make(chan error, 1)
	go func() { updated <- waitByUpdate(t.Context(), p, a) }()

	first, _ := p.runOf(a.ID())
	p.cancelNatively(a.ID(), `{"kind":"hook","reason":"r","keepInbox":true}`)
	require.Equal(t, session.Cause{Kind: session.CauseHook, Reason: "r"}, *said(t, a, running).Outcome.Aborted)
	idle(t, a)
	p.renewed(a.ID(), first)
	require.NoError(t, <-updated, "who waited is told")
	state, err := a.State(t.Context())
	require.NoError(t, err)
	require.Len(t, state.Inbox, 2, "the inbox came along")
	require.Equal(t, 2, strings.Count(p.ok("inbox", a.ID()), "\n"))
	require.Contains(t, p.ok("inject", a.ID(), "context", "--request-id", "r1"), "duplicate", "receipts came along")

	woken := send(t, a, "please echo woken")
	require.Equal(t, "The echo tool says: kept", said(t, a, kept).Text)
	require.NoError(t, <-waiting, "a wait goes on across runs")
	require.Equal(t, "The echo tool says: woken", said(t, a, woken).Text)
	idle(t, a)
	require.Contains(t, trace(p.records(a.ID())), "TE(aborted hook r)")
}

// waitByUpdate waits inside the workflow until the agent is idle.
func waitByUpdate(ctx context.Context, p *place, a *agents.Agent) error {
	h, err := p.sdk.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: a.ID(), UpdateName: signals.QueryWhenIdle,
		Args: []any{signals.WhenIdle{}}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return h.Get(ctx, &signals.Idle{})
}

func TestASecondNativeCancelOfAnIdleAgentEndsIt(t *testing.T) { // A3.9
	p := here(t)
	p.worker()
	a := p.create("a")
	goesOn(t, p, a)
	first, _ := p.runOf(a.ID())
	p.cancelNatively(a.ID(), "")
	second := p.renewed(a.ID(), first)
	p.cancelNatively(a.ID(), "")
	until(t, "the agent ends", func() bool { _, s := p.runOf(a.ID()); return s != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING })
	run, status := p.runOf(a.ID())
	require.Equal(t, second, run)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, status)
	require.Contains(t, p.fails(9, "followup", a.ID(), "x"), "has ended")
	require.True(t, strings.HasSuffix(trace(p.records(a.ID())), "TE(completed)"))
}

func TestANativeCancelThatAsksForDisposal(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	send(t, a, "count to 500")
	streams(t, a, 2)
	p.cancelNatively(a.ID(), "dispose")
	until(t, "the agent ends", func() bool { _, s := p.runOf(a.ID()); return s != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING })
	_, status := p.runOf(a.ID())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, status)
	records := p.records(a.ID())
	require.True(t, strings.HasSuffix(trace(records), "SE TE(aborted disposed)"), trace(records))
}

func TestATerminatedAgent(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	goesOn(t, p, a)
	send(t, a, "count to 500")
	streams(t, a, 2)
	require.NoError(t, p.sdk.TerminateWorkflow(t.Context(), a.ID(), "", "by hand"))
	for _, args := range [][]string{{"followup", "x"}, {"cancel"}} {
		require.Contains(t, p.fails(9, append([]string{args[0], a.ID()}, args[1:]...)...), "has ended")
	}
	records := p.records(a.ID())
	require.True(t, strings.HasPrefix(trace(records), "IS+(next-turn:please echo still here) TS1"), "the log stays: %s", trace(records))
}

func TestAnIdleAgentWithALongHistoryMovesOn(t *testing.T) { // A3.11: past 1,000 events
	p := here(t)
	p.worker()
	a := p.create("a")
	first, _ := p.runOf(a.ID())
	_, err := a.Receipt(t.Context(), signals.Inject, agents.Message{ID: "kept", RequestID: "r1", Text: "context"}, "", false)
	require.NoError(t, err)
	turns := 0
	until(t, "the agent moves to a new run", func() bool {
		turns++
		require.Equal(t, fmt.Sprintf("The echo tool says: %d", turns), ask(t, a, fmt.Sprintf("please echo %d", turns)).Text)
		idle(t, a)
		run, _ := p.runOf(a.ID())
		return run != first
	})
	r, err := a.Receipt(t.Context(), signals.Inject, agents.Message{ID: "kept", RequestID: "r1", Text: "context"}, "", false)
	require.NoError(t, err)
	require.Equal(t, signals.Duplicate, r.Disposition, "receipts came along")
	goesOn(t, p, a)
	records := p.records(a.ID())
	require.Len(t, all[session.TurnEnd](records), turns+1)
	require.Len(t, all[session.RequestHeader](records), 1, "a rollover is invisible in the log")
	require.Len(t, p.runs(a.ID()), 2)
}

func TestAFullInboxMovesOnAndIsRead(t *testing.T) { // A3.4
	p := here(t)
	p.worker()
	a := p.create("a")
	for n := 0; n < 999; n += signals.MaxBatch {
		var b signals.Batch
		for i := n; i < min(n+signals.MaxBatch, 999); i++ {
			b.Acts = append(b.Acts, signals.Act{Act: signals.Inject, Send: &signals.Send{ID: fmt.Sprintf("%036d", i), Text: strings.Repeat("context ", 100)}})
		}
		_, err := a.Act(t.Context(), signals.BatchActs, b)
		require.NoError(t, err)
	}
	idle(t, a)
	first, _ := p.runOf(a.ID())
	p.cancelNatively(a.ID(), "") // idle: only the run is renewed
	p.renewed(a.ID(), first)
	goesOn(t, p, a)
	entered := 0
	for _, r := range p.records(a.ID()) {
		if _, ok := r.Event.(session.UserMessage); ok && !r.Surface.Replace { // the summary of so much replaces
			entered++
		}
	}
	require.Equal(t, 1000, entered)
}
