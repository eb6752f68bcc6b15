package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	batchpb "go.temporal.io/api/batch/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// batch runs a batch operation over what a visibility query finds, once it finds n agents, as the Temporal UI and CLI do.
func (p *place) batch(n int, query string, set func(*workflowservice.StartBatchOperationRequest)) {
	p.t.Helper()
	query = fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = \"Running\" AND WorkflowId STARTS_WITH %q AND %s", signals.WorkflowType, p.id(""), query)
	until(p.t, "visibility finds them: "+query, func() bool {
		found, err := p.sdk.CountWorkflow(p.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: query})
		require.NoError(p.t, err)
		return found.GetCount() == int64(n)
	})
	job := uuid.NewString()
	request := &workflowservice.StartBatchOperationRequest{Namespace: "default", VisibilityQuery: query, JobId: job, Reason: "all of them"}
	set(request)
	until(p.t, "the batch begins", func() bool { // a server does one at a time
		_, err := p.sdk.WorkflowService().StartBatchOperation(p.t.Context(), request)
		return err == nil
	})
	until(p.t, "the batch is done", func() bool {
		d, err := p.sdk.WorkflowService().DescribeBatchOperation(p.t.Context(), &workflowservice.DescribeBatchOperationRequest{Namespace: "default", JobId: job})
		require.NoError(p.t, err)
		require.NotEqual(p.t, enumspb.BATCH_OPERATION_STATE_FAILED, d.GetState())
		return d.GetState() == enumspb.BATCH_OPERATION_STATE_COMPLETED
	})
}

// three makes three agents; the last one is left out of what is done to the others.
func (p *place) three(text string) (all []*agents.Agent) {
	p.t.Helper()
	p.worker()
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, p.create(name))
	}
	for _, a := range all[:2] {
		if id := send(p.t, a, text); strings.HasPrefix(text, "please echo ") {
			said(p.t, a, id)
			continue
		}
		streams(p.t, a, 1)
	}
	return all
}

func TestABatchCancelByWhatAgentsDo(t *testing.T) { // A3.9, A5
	p := here(t)
	three := p.three("count to 500")
	p.batch(2, `AgentStatus = "running"`, func(r *workflowservice.StartBatchOperationRequest) {
		r.Operation = &workflowservice.StartBatchOperationRequest_CancellationOperation{CancellationOperation: &batchpb.BatchOperationCancellation{Identity: "operator"}}
	})
	for _, a := range three[:2] {
		idle(t, a)
		until(t, "its turn is over", func() bool { return has[session.TurnEnd](t, a) })
		records := p.records(a.ID())
		require.Equal(t, "native", all[session.CancelRequested](records)[0].Via)
		require.Equal(t, session.TurnAborted, all[session.TurnEnd](records)[0].Reason.Kind)
		goesOn(t, p, a)
	}
	goesOn(t, p, three[2])
	require.Empty(t, all[session.CancelRequested](p.records(three[2].ID())))
}

func TestABatchSignalByDefinition(t *testing.T) { // A5
	p := here(t)
	three := p.three("please echo first")
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(signals.Send{ID: "all", Text: "please echo everybody"})
	require.NoError(t, err)
	p.batch(3, `AgentDefinition = "assistant"`, func(r *workflowservice.StartBatchOperationRequest) {
		r.Operation = &workflowservice.StartBatchOperationRequest_SignalOperation{SignalOperation: &batchpb.BatchOperationSignal{Signal: signals.Followup, Input: payloads, Identity: "operator"}}
	})
	for _, a := range three {
		require.Equal(t, "The echo tool says: everybody", said(t, a, "all").Text)
	}
}

func TestABatchTerminate(t *testing.T) {
	p := here(t)
	three := p.three("count to 500")
	p.batch(2, `AgentStatus = "running"`, func(r *workflowservice.StartBatchOperationRequest) {
		r.Operation = &workflowservice.StartBatchOperationRequest_TerminationOperation{TerminationOperation: &batchpb.BatchOperationTermination{Identity: "operator"}}
	})
	for _, a := range three[:2] {
		_, status := p.runOf(a.ID())
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, status)
		require.Contains(t, p.fails(9, "followup", a.ID(), "x"), "has ended")
	}
	p.ok("resume", three[0].ID())
	goesOn(t, p, p.agent(three[0].ID()))
	goesOn(t, p, three[2])
}

func TestABatchReset(t *testing.T) { // A3.12
	p := here(t)
	three := p.three("please echo first")
	for _, a := range three {
		idle(t, a)
	}
	p.batch(2, `AgentTurn = 1`, func(r *workflowservice.StartBatchOperationRequest) {
		r.Operation = &workflowservice.StartBatchOperationRequest_ResetOperation{ResetOperation: &batchpb.BatchOperationReset{Identity: "operator",
			Options: &commonpb.ResetOptions{Target: &commonpb.ResetOptions_LastWorkflowTask{}}}}
	})
	for _, a := range three[:2] {
		until(t, "the run took over", func() bool { s, err := a.State(t.Context()); return err == nil && s.Log.Epoch == 2 })
		idle(t, a)
		require.EqualValues(t, 2, p.epoch(a))
		goesOn(t, p, a)
	}
}

func TestAnAgentIsMadeByItsFirstMessage(t *testing.T) { // signal-with-start, update-with-start
	p := here(t)
	p.worker()
	options := func(id string) client.StartWorkflowOptions {
		return client.StartWorkflowOptions{ID: id, TaskQueue: p.queue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}
	}
	create := signals.Create{Definition: "assistant"}
	for n, text := range []string{"one", "two"} { // it is there the second time
		id := fmt.Sprintf("m%d", n)
		_, err := p.sdk.SignalWithStartWorkflow(t.Context(), p.id("s"), signals.Followup, signals.Send{ID: id, Text: "please echo " + text},
			options(p.id("s")), signals.WorkflowType, create)
		require.NoError(t, err)
		until(t, "it is born", func() bool { return p.exists("store") })
		require.Equal(t, "The echo tool says: "+text, said(t, p.agent(p.id("s")), id).Text)

		start := p.sdk.NewWithStartWorkflowOperation(options(p.id("u")), signals.WorkflowType, create)
		h, err := p.sdk.UpdateWithStartWorkflow(t.Context(), client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{UpdateName: signals.Followup, WaitForStage: client.WorkflowUpdateStageCompleted,
				Args: []any{signals.Send{ID: id, Text: "please echo " + text}}}})
		require.NoError(t, err)
		var receipt signals.Receipt
		require.NoError(t, h.Get(t.Context(), &receipt))
		require.Equal(t, id, receipt.ID)
		require.Equal(t, "The echo tool says: "+text, said(t, p.agent(p.id("u")), id).Text)
	}
}
