package workflows_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// A play is an agent's workflow in the SDK's test environment. The test plays the activities; what it does not say is
// answered as a worker would that has nothing to add.
type play struct {
	t   *testing.T
	env *testsuite.TestWorkflowEnvironment

	setup   func(context.Context, work.SetupIn) (work.SetupOut, error)
	step    func(context.Context, work.StepIn) (work.StepOut, error)
	tool    func(context.Context, work.ToolIn) (work.ToolOut, error)
	spill   func(work.SpillIn) (work.SpillOut, error)
	persist func(work.PersistIn) error
	reason  func(work.CancelReasonIn) (work.CancelReasonOut, error)

	gone chan struct{} // an activity was cancelled: the test environment ends none by itself

	mu      sync.Mutex
	steps   []work.StepIn
	events  []session.Record // told to the tap
	notices []string         // their names
}

func newPlay(t *testing.T) *play {
	p := &play{t: t, gone: make(chan struct{}, 8)}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.Silent())
	p.env = suite.NewTestWorkflowEnvironment()
	p.env.SetTestTimeout(time.Minute) // it measures time, and a busy machine is no defect
	p.env.SetWorkerOptions(worker.Options{
		Interceptors:             []interceptor.WorkerInterceptor{workflows.Interceptor(workflows.Options{Tap: p.tap})},
		DeadlockDetectionTimeout: time.Minute,
	})
	p.env.SetOnActivityCanceledListener(func(*activity.Info) { p.gone <- struct{}{} })
	workflows.Register(p.env)
	act := func(name string, f any) {
		p.env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	act(work.Setup, p.onSetup)
	act(work.Step, p.onStep)
	act(work.Tool, p.onTool)
	act(work.Persist, p.onPersist)
	act(work.Spill, p.onSpill)
	act(work.CancelReason, p.onReason)
	return p
}

func (p *play) tap(_, name string, data json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notices = append(p.notices, name)
	if name == "session/event" {
		var r session.Record
		require.NoError(p.t, json.Unmarshal(data, &r))
		p.events = append(p.events, r)
	}
}

func (p *play) onSetup(ctx context.Context, in work.SetupIn) (work.SetupOut, error) {
	if p.setup != nil {
		return p.setup(ctx, in)
	}
	return work.SetupOut{Store: "store"}, nil
}

func (p *play) onStep(ctx context.Context, in work.StepIn) (work.StepOut, error) {
	p.mu.Lock()
	p.steps = append(p.steps, in)
	p.mu.Unlock()
	if p.step != nil {
		return p.step(ctx, in)
	}
	return said(in), nil
}

// said is the answer of a step in which the model said something and called nothing.
func said(in work.StepIn) work.StepOut {
	end := in.Head.Count + int64(len(in.Tail))
	return work.StepOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: work.Head{Hash: "step", Count: end + 4}, Outcome: work.StepMessage,
		Finish: session.FinishStop, Entered: true, Committed: true, Users: in.Batch}
}

// settled is the answer of a step that settles a lost one and found nothing.
func settled(in work.StepIn, outcome string) work.StepOut {
	return work.StepOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: in.Head, Outcome: outcome}
}

func (p *play) onTool(ctx context.Context, in work.ToolIn) (work.ToolOut, error) {
	if p.tool != nil {
		return p.tool(ctx, in)
	}
	return work.ToolOut{Content: session.TextContent("done")}, nil
}

func (p *play) onPersist(_ context.Context, in work.PersistIn) (work.PersistOut, error) {
	if p.persist != nil {
		if err := p.persist(in); err != nil {
			return work.PersistOut{}, err
		}
	}
	return work.PersistOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: work.Head{Hash: "tail", Count: in.Head.Count + int64(len(in.Tail))}}, nil
}

func (p *play) onSpill(_ context.Context, in work.SpillIn) (work.SpillOut, error) { return p.spill(in) }

func (p *play) onReason(_ context.Context, in work.CancelReasonIn) (work.CancelReasonOut, error) {
	if p.reason != nil {
		return p.reason(in)
	}
	return work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseUser}}, nil
}

// after does something when the virtual clock has come that far.
func (p *play) after(d time.Duration, f func()) { p.env.RegisterDelayedCallback(f, d) }

// signal sends an act as a signal.
func (p *play) signal(act, payload string) { p.env.SignalWorkflow(act, json.RawMessage(payload)) }

// run runs the agent until its run ends.
func (p *play) run() { p.env.ExecuteWorkflow(workflows.WorkflowType, p.start()) }

func (p *play) start() workflows.Start {
	return workflows.Start{Create: signals.Create{Definition: "tester"}}
}

// renewed is the state that the run handed to the next one.
func (p *play) renewed() *driver.State {
	p.t.Helper()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(p.t, p.env.GetWorkflowError(), &next)
	return p.handed(next)
}

// log is what the workflow logged, in the notation of spec §2.4.4.
func (p *play) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return session.Trace(p.events, nil)
}

// An update is what became of one: its receipt, or its error.
type update struct {
	rejected, err error
	done          bool
	receipt       signals.Receipt
	idle          signals.Idle
}

// update sends an act, or whenIdle, as an update.
func (p *play) update(name string, payload any) *update {
	u := new(update)
	p.env.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { u.rejected = err },
		OnComplete: func(result any, err error) {
			u.err, u.done = err, true
			switch r := result.(type) {
			case signals.Receipt:
				u.receipt = r
			case signals.Idle:
				u.idle = r
			}
		},
	}, payload)
	return u
}
