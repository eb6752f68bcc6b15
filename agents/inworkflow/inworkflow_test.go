package inworkflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/agents/inworkflow"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// A world is a workflow environment with an agent "a" that has answered what settled says.
type world struct {
	*testsuite.TestWorkflowEnvironment
	order   func(workflow.Context) error
	settled map[string]string // by message id
	looks   int
	created signals.Create
	sent    []string // act and payload, to whom
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	w := &world{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), settled: map[string]string{"": ""}}
	w.SetTestTimeout(time.Minute)
	w.SetWorkflowRunTimeout(30 * 24 * time.Hour)
	w.RegisterActivityWithOptions(w.look, activity.RegisterOptions{Name: signals.AwaitActivity})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, c signals.Create) error {
		w.created = c
		if ok, _ := workflow.GetSignalChannel(ctx, signals.DisposeAgent).ReceiveWithTimeout(ctx, 24*time.Hour, nil); ok {
			w.sent = append(w.sent, "a dispose") // the environment brings it to a child that it knows
		}
		return nil
	}, workflow.RegisterOptions{Name: signals.WorkflowType})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error { return w.order(ctx) }, workflow.RegisterOptions{Name: "Order"})
	w.OnSignalExternalWorkflow(mock.Anything, mock.Anything, "", mock.Anything, mock.Anything).Return(
		func(_, id, _, act string, payload any) error {
			raw, err := json.Marshal(payload)
			w.sent = append(w.sent, id+" "+act+" "+string(raw))
			if id == "gone" {
				return &temporal.UnknownExternalWorkflowExecutionError{}
			}
			return err
		})
	return w
}

func (w *world) look(_ context.Context, in signals.Await) (signals.Answer, error) {
	w.looks++
	text, ok := w.settled[in.Message]
	if !ok {
		return signals.Answer{}, temporal.NewApplicationError("not yet", signals.ErrPending)
	}
	return signals.Answer{Turn: 1, Outcome: session.TurnReason{Kind: session.TurnCompleted}, Text: text}, nil
}

// runs plays a workflow.
func (w *world) runs(t *testing.T, f func(workflow.Context) error) error {
	t.Helper()
	w.order = func(ctx workflow.Context) error { return f(inworkflow.Listen(ctx)) }
	w.ExecuteWorkflow("Order")
	require.True(t, w.IsWorkflowCompleted())
	return w.GetWorkflowError()
}

var a = inworkflow.Agent{ID: "a", TaskQueue: "q"}

func TestAnAgentIsAChildThatReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.runs(t, func(ctx workflow.Context) error {
		got, err := inworkflow.Start(ctx, inworkflow.Options{ID: "a", WhenCancelled: inworkflow.EndIt, Create: signals.Create{Definition: "clerk"}})
		require.Equal(t, inworkflow.Agent{ID: "a", TaskQueue: signals.DefaultTaskQueue, WhenCancelled: inworkflow.EndIt}, got)
		return err
	}))
	require.Equal(t, signals.Create{Definition: "clerk", Parent: "default-test-workflow-id", Owned: true, Reports: true}, w.created)
}

func TestAStartThatIsCancelledLeavesNoAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	delete(w.settled, "") // it is not born yet
	w.RegisterDelayedCallback(w.CancelWorkflow, time.Hour)
	err := w.runs(t, func(ctx workflow.Context) error {
		_, err := inworkflow.Start(ctx, inworkflow.Options{ID: "a", Create: signals.Create{Definition: "clerk"}})
		return err
	})
	require.True(t, temporal.IsCanceledError(errors.Unwrap(err)), "%v", err)
	require.Equal(t, []string{"a dispose"}, w.sent)
}

// While nobody says anything the pauses grow to a minute: a week is a matter of ten thousand looks, not of half a million.
func TestAWaitOfAWeek(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.RegisterDelayedCallback(func() { w.settled["m1"] = "at last" }, 7*24*time.Hour)
	require.NoError(t, w.runs(t, func(ctx workflow.Context) error {
		answer, err := a.Await(ctx, "m1")
		require.Equal(t, "at last", answer.Text)
		require.Less(t, workflow.Now(ctx).Sub(workflow.GetInfo(ctx).WorkflowStartTime), 7*24*time.Hour+2*time.Minute)
		return err
	}))
	require.Less(t, w.looks, 10100)
}

// Each wait hears its own agent: what others say does not make it look.
func TestWhatAnAgentSaysEndsThePause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	told := false
	w.RegisterDelayedCallback(func() {
		w.settled["m1"] = "done"
		w.SignalWorkflow(signals.ChildSays, signals.ChildNews{ID: "b"})
		w.RegisterDelayedCallback(func() {
			told = true
			w.SignalWorkflow(signals.ChildSays, signals.ChildNews{ID: "a"})
		}, time.Second)
	}, time.Hour+10*time.Second)
	require.NoError(t, w.runs(t, func(ctx workflow.Context) error {
		answer, err := a.Await(ctx, "m1")
		require.Equal(t, "done", answer.Text)
		require.True(t, told, "what another one says is no reason to look")
		require.Less(t, workflow.Now(ctx).Sub(workflow.GetInfo(ctx).WorkflowStartTime), time.Hour+12*time.Second, "not only at the next look")
		return err
	}))
}

func TestIdsAreMadeUpOnceInARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.runs(t, func(ctx workflow.Context) error {
		run := workflow.GetInfo(ctx).OriginalRunID
		for n, same := range []inworkflow.Agent{a, a, {ID: "b"}} { // whoever sends, and with another handle
			id, err := same.Followup(ctx, signals.Send{Text: "hello"})
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("wf-%s-%d", run, n+1), id)
			require.Contains(t, w.sent[n], fmt.Sprintf(`"requestId":%q`, id))
		}
		id, err := a.Steer(ctx, signals.Send{ID: "mine", Text: "hello"})
		require.Equal(t, "mine", id)
		return err
	}))
}

func TestWhatIsWrongIsNotSent(t *testing.T) {
	t.Parallel()
	start := func(o inworkflow.Options) func(workflow.Context) error {
		return func(ctx workflow.Context) error { _, err := inworkflow.Start(ctx, o); return err }
	}
	clerk := signals.Create{Definition: "clerk"}
	for name, tt := range map[string]struct {
		do   func(workflow.Context) error
		says string
	}{
		"no definition":       {start(inworkflow.Options{}), "set Create.Definition"},
		"a bad id":            {start(inworkflow.Options{ID: "a\n", Create: clerk}), "1–200 characters"},
		"an act nobody knows": {start(inworkflow.Options{Create: clerk, WhenCancelled: "x"}), "LeaveIt, StopIt or EndIt"},
		"somebody else's":     {start(inworkflow.Options{Create: signals.Create{Definition: "clerk", Parent: "p"}}), "leave them out"},
		"a fork":              {start(inworkflow.Options{Create: signals.Create{Definition: "clerk", Fork: &signals.Fork{}}}), "no part of Start"},
		"too much":            {start(inworkflow.Options{Create: signals.Create{Definition: "clerk", Title: strings.Repeat("x", signals.MaxRecorded)}}), "at most"},
		"no id to get":        {func(ctx workflow.Context) error { _, err := inworkflow.Get(ctx, inworkflow.Options{}); return err }, "1–200 characters"},
		"an empty message":    {func(ctx workflow.Context) error { _, err := a.Ask(ctx, ""); return err }, "exactly one of text, content and body"},
		"a condition": {func(ctx workflow.Context) error {
			_, err := a.Followup(ctx, signals.Send{Text: "x", OnlyIfIdle: true})
			return err
		}, "need a receipt"},
		"a message without id": {func(ctx workflow.Context) error { _, err := a.Await(ctx, ""); return err }, "no id"},
		"no agent to send to": {func(ctx workflow.Context) error {
			return inworkflow.Agent{}.Dispose(ctx)
		}, "1–200 characters"},
		"no agent to wait for": {func(ctx workflow.Context) error {
			_, err := inworkflow.Agent{}.Await(ctx, "m1")
			return err
		}, "1–200 characters"},
		"a cause": {func(ctx workflow.Context) error {
			return a.Cancel(ctx, signals.Cancel{Cause: &session.Cause{Kind: "disposed"}})
		}, "use user, parent or hook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.NoError(t, w.runs(t, func(ctx workflow.Context) error {
				var refused *inworkflow.Error
				require.ErrorAs(t, tt.do(ctx), &refused)
				require.Contains(t, []string{signals.ErrInvalid, signals.ErrInvalidSpec}, refused.Code)
				require.Contains(t, refused.Message, tt.says)
				return nil
			}))
			require.Empty(t, w.sent)
			require.Zero(t, w.looks)
			require.Zero(t, w.created)
		})
	}
}

func TestAnAgentThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.runs(t, func(ctx workflow.Context) error {
		var refused *inworkflow.Error
		_, err := inworkflow.Agent{ID: "gone"}.Ask(ctx, "hello")
		require.ErrorAs(t, err, &refused)
		require.Equal(t, signals.ErrGone, refused.Code)
		return nil
	}))
}

func TestReleaseDoesWhatWasSaid(t *testing.T) {
	t.Parallel()
	for when, sent := range map[inworkflow.Act][]string{
		inworkflow.LeaveIt: nil,
		inworkflow.StopIt:  {`a cancel {"cause":{"kind":"parent"}}`},
		inworkflow.EndIt:   {`a dispose {}`},
	} {
		for _, cancelled := range []bool{true, false} {
			w := newWorld(t)
			if cancelled {
				w.RegisterDelayedCallback(w.CancelWorkflow, time.Hour)
			}
			err := w.runs(t, func(ctx workflow.Context) error {
				a := inworkflow.Agent{ID: "a", WhenCancelled: when}
				defer a.Release(ctx)
				return workflow.Sleep(ctx, 2*time.Hour) // any wait, not one of ours
			})
			if !cancelled {
				require.NoError(t, err)
				require.Empty(t, w.sent, when)
				continue
			}
			require.True(t, temporal.IsCanceledError(errors.Unwrap(err)), "%v", err)
			require.Equal(t, sent, w.sent, when)
		}
	}
}

func TestAContextOfAnotherOriginIsADefect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.order = func(ctx workflow.Context) error {
		_, err := a.Ask(ctx, "hello")
		return err
	}
	w.ExecuteWorkflow("Order")
	require.ErrorContains(t, w.GetWorkflowError(), "begin the workflow with ctx = inworkflow.Listen(ctx)")
}

// What another run is handed is this.
func TestAnAgentIsPlainData(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(inworkflow.Agent{ID: "a", TaskQueue: "q", WhenCancelled: inworkflow.StopIt})
	require.NoError(t, err)
	require.Equal(t, `{"id":"a","taskQueue":"q","whenCancelled":"cancel"}`, string(raw))
}
