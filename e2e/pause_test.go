package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/everturn/everturn/session"
)

// pause pauses the activities of a type, as the Temporal UI and CLI do.
func (p *place) pause(id, activity string) {
	p.t.Helper()
	_, err := p.sdk.WorkflowService().PauseActivity(p.t.Context(), &workflowservice.PauseActivityRequest{Namespace: "default",
		Execution: &commonpb.WorkflowExecution{WorkflowId: id}, Activity: &workflowservice.PauseActivityRequest_Type{Type: activity}, Reason: "by hand"})
	require.NoError(p.t, err)
}

func (p *place) unpause(id, activity string) {
	p.t.Helper()
	_, err := p.sdk.WorkflowService().UnpauseActivity(p.t.Context(), &workflowservice.UnpauseActivityRequest{Namespace: "default",
		Execution: &commonpb.WorkflowExecution{WorkflowId: id}, Activity: &workflowservice.UnpauseActivityRequest_Type{Type: activity}})
	require.NoError(p.t, err)
}

// pending is the only activity of an agent that is not finished.
func (p *place) pending(id string) *workflowpb.PendingActivityInfo {
	p.t.Helper()
	d, err := p.sdk.DescribeWorkflow(p.t.Context(), id, "")
	require.NoError(p.t, err)
	require.Len(p.t, d.RawResponse.GetPendingActivities(), 1)
	return d.RawResponse.GetPendingActivities()[0]
}

// stands waits until a paused activity runs nowhere any more.
func (p *place) stands(id string) {
	p.t.Helper()
	until(p.t, "the activity is paused", func() bool {
		return p.pending(id).GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSED
	})
}

func TestAPausedStepIsNotCancelled(t *testing.T) { // A3.15
	p := here(t)
	p.worker()
	a := p.create("a")
	id := send(t, a, "count to 10")
	streams(t, a, 2)
	p.pause(a.ID(), "Step")
	p.stands(a.ID())
	state, err := a.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, "step", state.Phase)
	require.Nil(t, state.Cancel)
	p.unpause(a.ID(), "Step")
	require.Equal(t, counted, said(t, a, id).Text)
	idle(t, a)
	records := p.records(a.ID())
	requireNothingDoubled(t, records, "count to 10")
	require.Empty(t, all[session.CancelRequested](records))
	require.Len(t, all[session.AssistantAttempt](records), 1, "what it had shown stays as evidence")
}

func TestAPausedTool(t *testing.T) { // A3.7, A3.15
	for name, c := range map[string]struct{ trace, result string }{
		"once":  {"TR!(c1,TOOL_OUTCOME_UNKNOWN)", session.TextToolOutcomeUnknown},
		"keyed": {"TR(c1)", "done in try 2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			a, id := p.acted("tool c1 " + name + " {}\ntext \"I see.\"\n")
			p.pause(a.ID(), "Tool")
			p.stands(a.ID())
			p.write("go", "")
			p.unpause(a.ID(), "Tool")
			require.Equal(t, "I see.", said(t, a, id).Text)
			idle(t, a)
			records := p.records(a.ID())
			require.Contains(t, trace(records), "TC(c1) "+c.trace+" SE")
			require.Equal(t, c.result, resultText(all[session.ToolResult](records)[0]))
		})
	}
}

func TestAnActivityIsPausedWhileNobodyRunsIt(t *testing.T) { // A3.15: in its back-off, or before any worker takes it
	p := here(t)
	first := p.workerWith(nil, "--drain", "1ms")
	a := p.create("a")
	id := send(t, a, "count to 10")
	streams(t, a, 2)
	require.Zero(t, first.stop())
	until(t, "its execution failed and is to be retried", func() bool {
		return p.pending(a.ID()).GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	})
	p.pause(a.ID(), "Step")
	p.stands(a.ID())
	attempt := p.pending(a.ID()).GetAttempt()
	p.worker()
	other := p.create("b") // the worker works
	goesOn(t, p, other)
	require.Equal(t, attempt, p.pending(a.ID()).GetAttempt())
	require.Equal(t, enumspb.PENDING_ACTIVITY_STATE_PAUSED, p.pending(a.ID()).GetState())
	p.unpause(a.ID(), "Step")
	require.Equal(t, counted, said(t, a, id).Text)
	idle(t, a)
	requireNothingDoubled(t, p.records(a.ID()), "count to 10")
}

func TestAWorkerIsLostWhileItsActivityIsPaused(t *testing.T) { // A3.6, A3.15
	p := here(t)
	first := p.worker()
	a := p.create("a")
	id := send(t, a, "count to 10")
	streams(t, a, 2)
	first.kill()
	p.pause(a.ID(), "Step")
	require.NotEqual(t, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, p.pending(a.ID()).GetState())
	p.worker()
	p.unpause(a.ID(), "Step")
	require.Equal(t, counted, said(t, a, id).Text)
	idle(t, a)
	requireNothingDoubled(t, p.records(a.ID()), "count to 10")
}

func TestACancelOfAPausedStep(t *testing.T) { // A3.9, A3.15
	p := here(t)
	p.worker()
	a := p.create("a")
	id := send(t, a, "count to 500")
	streams(t, a, 2)
	p.pause(a.ID(), "Step")
	p.stands(a.ID())
	p.cancelNatively(a.ID(), "enough")
	require.Equal(t, session.TurnAborted, said(t, a, id).Outcome.Kind, "a cancel does not wait for the end of the pause")
	idle(t, a)
	goesOn(t, p, a)
}

func TestAPausedWorkflow(t *testing.T) { // server 1.32, with frontend.WorkflowPauseEnabled
	p := here(t)
	p.worker()
	a := p.create("a")
	goesOn(t, p, a)
	run, _ := p.runOf(a.ID())
	_, err := p.sdk.WorkflowService().PauseWorkflowExecution(t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: "default", WorkflowId: a.ID(), RunId: run, Reason: "by hand"})
	require.NoError(t, err)
	until(t, "it is paused", func() bool {
		_, s := p.runOf(a.ID())
		return s == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED
	})
	require.NoError(t, p.sdk.SignalWorkflow(t.Context(), a.ID(), "", "followup", map[string]string{"id": "m", "text": "please echo late"}))
	before := p.taskBefore(a.ID(), nil)
	other := p.create("b")
	goesOn(t, p, other)
	require.Equal(t, before, p.taskBefore(a.ID(), nil), "nothing is worked on")

	_, err = p.sdk.WorkflowService().UnpauseWorkflowExecution(t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
		Namespace: "default", WorkflowId: a.ID(), RunId: run, Reason: "by hand"})
	require.NoError(t, err)
	require.Equal(t, "The echo tool says: late", said(t, a, "m").Text)
	idle(t, a)
	p.records(a.ID())
}
