package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// whileNobodyWorks sends things to an agent that has no worker, checks that one workflow task takes them all, and returns
// the log.
func whileNobodyWorks(t *testing.T, send func(p *place, a *agents.Agent)) []session.Record {
	t.Helper()
	p := here(t)
	first := p.worker()
	a := p.create("a")
	require.Zero(t, first.stop())
	from := len(p.history(a.ID()).GetEvents())
	send(p, a)
	p.worker()
	idle(t, a)
	requireOneTask(t, p, a.ID(), from)
	return p.records(a.ID())
}

// requireOneTask checks that no workflow task was completed between the signals that came after an event.
func requireOneTask(t *testing.T, p *place, id string, from int) {
	t.Helper()
	started, signalled := false, 0
	for _, e := range p.history(id).GetEvents()[from:] {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
			require.False(t, started, "a task took some of the signals only")
			signalled++
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			started = true
		}
	}
	require.NotZero(t, signalled)
}

func TestCancelThenFollowupArriveInThatOrder(t *testing.T) { // A3.1, C-200
	records := whileNobodyWorks(t, func(_ *place, a *agents.Agent) {
		require.NoError(t, a.Cancel(t.Context(), agents.CancelOptions{}))
		send(t, a, "please echo b")
	})
	require.Equal(t, "IS+(next-turn:please echo b) TS1 IS-(next-turn:1)", firstWords(trace(records), 3), "the cancel found the agent idle")
	require.True(t, strings.HasSuffix(trace(records), "TE(completed)"), trace(records))
}

func TestFollowupThenCancelArriveInThatOrder(t *testing.T) { // A3.1, X2, X3
	records := whileNobodyWorks(t, func(_ *place, a *agents.Agent) {
		send(t, a, "please echo a")
		require.NoError(t, a.Cancel(t.Context(), agents.CancelOptions{}))
	})
	require.Empty(t, all[session.UserMessage](records), "the message never reached the model: %s", trace(records))
	require.Empty(t, all[session.StepStart](records))
	require.Len(t, all[session.CancelRequested](records), 1)
	for _, end := range all[session.TurnEnd](records) {
		require.Equal(t, session.TurnAborted, end.Reason.Kind)
	}
}

func TestManySignalsAndAnUpdateArriveInTheirOrder(t *testing.T) { // A3.1: five signals of three names and an update
	records := whileNobodyWorks(t, func(p *place, a *agents.Agent) {
		for _, m := range []struct{ act, id string }{
			{signals.Inject, "1"}, {signals.Followup, "2"}, {signals.Steer, "3"}, {signals.Inject, "4"}, {signals.Followup, "5"},
		} {
			require.NoError(t, p.sdk.SignalWorkflow(t.Context(), a.ID(), "", m.act, signals.Send{ID: m.id, Text: "echo"}))
		}
		updated := make(chan error, 1)
		go func() {
			_, err := a.Receipt(t.Context(), signals.Followup, agents.Message{ID: "6", Text: "echo"}, "", false)
			updated <- err
		}()
		t.Cleanup(func() { require.NoError(t, <-updated) })
	})
	var order []string
	for _, e := range all[session.InboxSpliced](records) {
		for _, m := range e.Inserted {
			order = append(order, m.ID)
		}
	}
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6"}, order)
	require.Len(t, all[session.UserMessage](records), 6)
}

func firstWords(trace string, n int) string {
	// An entry may hold blanks inside its parentheses.
	depth, seen := 0, 0
	for i, r := range trace {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ' ':
			if depth == 0 {
				if seen++; seen == n {
					return trace[:i]
				}
			}
		}
	}
	return trace
}

// Whoever waits before the first worker comes is answered: the update is part of the run's first workflow task, and its
// handler runs as soon as it is set.
func TestWhoWaitsFromTheVeryBeginningIsAnswered(t *testing.T) { // A3.10
	p := here(t)
	id := p.id("a")
	_, err := p.sdk.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: p.queue}, signals.WorkflowType, signals.Create{Definition: "assistant"})
	require.NoError(t, err)
	answered := make(chan error, 1)
	var idle signals.Idle
	go func() {
		handle, err := p.sdk.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: id, UpdateID: "early",
			UpdateName: signals.QueryWhenIdle, Args: []any{signals.WhenIdle{}}, WaitForStage: client.WorkflowUpdateStageCompleted})
		if err == nil {
			err = handle.Get(t.Context(), &idle)
		}
		answered <- err
	}()
	until(t, "the server holds the update", func() bool {
		_, err := p.sdk.WorkflowService().PollWorkflowExecutionUpdate(t.Context(), &workflowservice.PollWorkflowExecutionUpdateRequest{
			Namespace: client.DefaultNamespace,
			UpdateRef: &updatepb.UpdateRef{WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}, UpdateId: "early"}})
		return err == nil
	})
	p.worker()
	require.NoError(t, <-answered)
	require.True(t, idle.Idle)
}
