package e2e

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

// reset sets the latest run of an agent back to a workflow task, as the Temporal UI and CLI do. Signals that came later
// are applied again unless they are excluded.
func (p *place) reset(id string, task int64, exclude ...enumspb.ResetReapplyExcludeType) (run string) {
	p.t.Helper()
	before, _ := p.runOf(id)
	out, err := p.sdk.WorkflowService().ResetWorkflowExecution(p.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: before}, Reason: "by hand",
		WorkflowTaskFinishEventId: task, RequestId: uuid.NewString(), ResetReapplyExcludeTypes: exclude})
	require.NoError(p.t, err)
	return out.GetRunId()
}

// taskBefore is the last workflow task completed before the first event that what describes; taskAfter the first one
// after it. Nothing stands for the end.
func (p *place) taskBefore(id string, what func(*historypb.HistoryEvent) bool) (task int64) {
	p.t.Helper()
	for _, e := range p.history(id).GetEvents() {
		if what != nil && what(e) {
			break
		}
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			task = e.GetEventId()
		}
	}
	require.NotZero(p.t, task)
	return task
}

func (p *place) taskAfter(id string, what func(*historypb.HistoryEvent) bool) int64 {
	p.t.Helper()
	found := false
	for _, e := range p.history(id).GetEvents() {
		found = found || what(e)
		if found && e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return e.GetEventId()
		}
	}
	require.Fail(p.t, "no such workflow task")
	return 0
}

// signalled describes the n-th signal of a run.
func signalled(n int) func(*historypb.HistoryEvent) bool {
	return func(e *historypb.HistoryEvent) bool {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			n--
		}
		return n == 0
	}
}

// epoch is the epoch that an agent's log is in; whoever works for an older one is fenced.
func (p *place) epoch(a *agents.Agent) int64 {
	p.t.Helper()
	s, err := a.State(p.t.Context())
	require.NoError(p.t, err)
	require.ErrorIs(p.t, p.store().CheckEpoch(p.t.Context(), a.ID(), s.Log.Epoch-1), store.ErrFenced)
	require.NoError(p.t, p.store().CheckEpoch(p.t.Context(), a.ID(), s.Log.Epoch))
	return s.Log.Epoch
}

// published is how the log reads when no worker answers.
func (p *place) published(id string) string {
	p.t.Helper()
	s := p.store()
	_, head, err := s.LatestHead(p.t.Context(), id)
	require.NoError(p.t, err)
	var records []session.Record
	for r, err := range s.Records(p.t.Context(), id, head, 0) {
		require.NoError(p.t, err)
		records = append(records, r)
	}
	return trace(records)
}

func TestAResetOfAnIdleAgentAppliesWhatCameLaterAgain(t *testing.T) { // A3.12
	p := here(t)
	p.worker()
	a := p.create("a")
	require.Equal(t, "The echo tool says: one", ask(t, a, "please echo one").Text)
	idle(t, a)
	point := p.taskBefore(a.ID(), nil)
	require.NoError(t, p.sdk.SignalWorkflow(t.Context(), a.ID(), "", "followup", "please echo two")) // its id is made up
	until(t, "it is answered", func() bool { return len(all[session.TurnEnd](p.records(a.ID()))) == 2 })
	idle(t, a)

	p.reset(a.ID(), point)
	until(t, "the run took over", func() bool { s, err := a.State(t.Context()); return err == nil && s.Log.Epoch == 2 && s.Turn == 2 })
	idle(t, a)
	require.EqualValues(t, 2, p.epoch(a))
	records := p.records(a.ID())
	require.Len(t, all[session.UserMessage](records), 2)
	require.Equal(t, "The echo tool says: two", all[session.AssistantMessage](records)[3].Message.Text(), "it is answered again")
	require.Len(t, all[session.TurnEnd](records), 2)
	goesOn(t, p, a)
}

func TestAResetOfAnIdleAgentWithoutWhatCameLater(t *testing.T) { // A3.12
	p := here(t)
	p.worker()
	a := p.create("a")
	require.Equal(t, "The echo tool says: one", ask(t, a, "please echo one").Text)
	idle(t, a)
	point, before := p.taskBefore(a.ID(), nil), trace(p.records(a.ID()))
	require.Equal(t, "The echo tool says: two", ask(t, a, "please echo two").Text)
	idle(t, a)
	require.NotEqual(t, before, p.published(a.ID()))

	p.reset(a.ID(), point, enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL)
	until(t, "the run took over", func() bool { s, err := a.State(t.Context()); return err == nil && s.Log.Epoch == 2 })
	idle(t, a)
	require.Equal(t, before, trace(p.records(a.ID())))
	require.Equal(t, before, p.published(a.ID()), "the store alone says the same")
	require.Equal(t, "The echo tool says: three", ask(t, a, "please echo three").Text)
	idle(t, a)
	require.NotContains(t, trace(p.records(a.ID())), "two")
	for n := range 2 { // a reset run can be reset too, to the same point or to a later one
		p.reset(a.ID(), map[int]int64{0: point, 1: p.taskBefore(a.ID(), nil)}[n], enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL)
		until(t, "the run took over", func() bool { s, err := a.State(t.Context()); return err == nil && s.Log.Epoch == int64(3+n) })
		idle(t, a)
		goesOn(t, p, a)
	}
}

func TestAResetWhileTheModelAnswers(t *testing.T) { // A3.12: the zombie still streams
	for name, asked := range map[string]bool{"before it was asked": false, "after it was asked": true} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			p.worker()
			a := p.create("a")
			id := send(t, a, "count to 10")
			streams(t, a, 2)
			point := p.taskBefore(a.ID(), nil)
			if asked {
				require.NoError(t, p.sdk.SignalWorkflow(t.Context(), a.ID(), "", "inbox.clear", nil))
				until(t, "a task saw it", func() bool { return p.taskBefore(a.ID(), nil) > point })
				point = p.taskBefore(a.ID(), nil)
			}
			p.reset(a.ID(), point)
			require.Equal(t, counted, said(t, a, id).Text)
			idle(t, a)
			require.EqualValues(t, 2, p.epoch(a))
			records := p.records(a.ID())
			requireNothingDoubled(t, records, "count to 10")
			require.Empty(t, all[session.AssistantAttempt](records), "the new epoch knows nothing of the abandoned answer")
			goesOn(t, p, a)
		})
	}
}

// acted makes an agent that has just called the tool once.
func (p *place) acted(script string) (a *agents.Agent, id string) {
	p.t.Helper()
	p.helperWorker(script)
	a, err := p.agents.Create(p.t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper})
	require.NoError(p.t, err)
	id = send(p.t, a, "act")
	until(p.t, "the tool runs", func() bool { return p.exists("started-c1-1") })
	return a, id
}

// tooled describes the start of a tool.
func tooled(e *historypb.HistoryEvent) bool {
	return e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "Tool"
}

func TestAResetDoesNotRepeatARunningTool(t *testing.T) { // A3.12, A3.7
	for name, point := range map[string]func(p *place, id string) int64{
		"to before its start": func(p *place, id string) int64 { return p.taskBefore(id, tooled) },
		"to after its start": func(p *place, id string) int64 {
			before := p.taskBefore(id, nil)
			require.NoError(p.t, p.sdk.SignalWorkflow(p.t.Context(), id, "", "inbox.clear", nil))
			until(p.t, "a task saw it", func() bool { return p.taskBefore(id, nil) > before })
			return p.taskBefore(id, nil)
		},
		"to before the model asked for it": func(p *place, id string) int64 { return p.taskAfter(id, signalled(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			a, id := p.acted("tool c1 once {}\ntext \"I see.\"\n")
			until(t, "there is a point to go back to", func() bool { return len(p.tasks(a.ID())) >= 3 })
			p.reset(a.ID(), point(p, a.ID()))
			require.Equal(t, "I see.", said(t, a, id).Text)
			p.write("go", "")
			idle(t, a)
			records := p.records(a.ID())
			require.EqualValues(t, 2, p.epoch(a))
			require.Contains(t, trace(records), "TR!(c1,TOOL_OUTCOME_UNKNOWN)")
			require.Equal(t, []string{"started-c1-1"}, p.marks(), "its body ran once")
		})
	}
}

// tasks are the completed workflow tasks of the latest run.
func (p *place) tasks(id string) (tasks []int64) {
	p.t.Helper()
	for _, e := range p.history(id).GetEvents() {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks = append(tasks, e.GetEventId())
		}
	}
	return tasks
}

func TestAResetTellsTheModelWhatWasDone(t *testing.T) { // A3.12
	p := here(t)
	p.write("go", "")
	a, id := p.acted("tool c1 once {}\ntext \"I see.\"\ntext \"Again.\"\n")
	require.Equal(t, "I see.", said(t, a, id).Text)
	idle(t, a)
	p.reset(a.ID(), p.taskBefore(a.ID(), signalled(1)), enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL)
	until(t, "the run took over", func() bool { s, err := a.State(t.Context()); return err == nil && s.Log.Epoch == 2 })
	id = send(t, a, "what did you do?")
	require.Equal(t, "I see.", said(t, a, id).Text)
	idle(t, a)
	records := p.records(a.ID())
	users := all[session.UserMessage](records)
	require.Len(t, users, 2)
	require.Equal(t, "reset-2", users[0].Message.ID)
	require.Contains(t, users[0].Text(), `- once {}, turn 1 step 1: it ended with: done in try 1`)
	require.Equal(t, "done in try 1", resultText(all[session.ToolResult](records)[0]), "the very same call is answered from the ledger")
	require.Equal(t, []string{"started-c1-1"}, p.marks())
}

func TestAResetToTheBeginning(t *testing.T) { // A3.12
	p := here(t)
	p.worker()
	a := p.create("a")
	require.Equal(t, "The echo tool says: one", ask(t, a, "please echo one").Text)
	idle(t, a)
	before := trace(p.records(a.ID()))
	p.reset(a.ID(), p.tasks(a.ID())[0])
	until(t, "the run took over", func() bool {
		s, err := a.State(t.Context())
		return err == nil && s.Log.Epoch == 2 && s.Turn == 1 && s.Status == "idle"
	})
	idle(t, a)
	require.Equal(t, withoutCounts(before), withoutCounts(trace(p.records(a.ID()))))
	goesOn(t, p, a)
}

func TestAResetBringsADisposedAgentBack(t *testing.T) { // A3.12: without the dispose that would be applied again
	p := here(t)
	p.worker()
	a := p.create("a")
	goesOn(t, p, a)
	point := p.taskBefore(a.ID(), nil)
	p.ok("dispose", a.ID())
	p.reset(a.ID(), point, enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL, enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE)
	until(t, "the run took over", func() bool { s, err := a.State(t.Context()); return err == nil && s.Log.Epoch == 2 })
	require.Equal(t, "The echo tool says: back", ask(t, a, "please echo back").Text)
}

// marks are the files that tools left when they started.
func (p *place) marks() (names []string) {
	p.t.Helper()
	for _, name := range []string{"started-c1-1", "started-c1-2", "started-c2-1"} {
		if p.exists(name) {
			names = append(names, name)
		}
	}
	return names
}
