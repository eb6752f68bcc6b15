package e2e

import (
	"errors"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/everturn/everturn/agents/inworkflow"
	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/signals"
)

// An errandState is a workflow of a user, which does with an agent what a test tells it: one act per signal "do". It has a worker
// of its own, without an interceptor.
type errandState struct {
	Agent inworkflow.Agent
	Waits string // for the answer to this message
	Told  []told
}

// A told is what the errand came to know: an answer, an id or a refusal.
type told struct {
	Text, ID, Code, Failure string
}

// A doing is one act.
type doing struct {
	Act     string // start, get, followup, steer, await, roll
	Options inworkflow.Options
	Text    string
}

// errandWorker runs errands, on a queue beside that of agents.
func errandWorker(c client.Client, queue string) sdkworker.Worker {
	w := sdkworker.New(c, queue+"-errands", sdkworker.Options{})
	w.RegisterWorkflow(runErrand)
	return w
}

func runErrand(ctx workflow.Context, e errandState) error {
	ctx = inworkflow.Listen(ctx)
	if err := workflow.SetQueryHandler(ctx, "told", func() ([]told, error) { return e.Told, nil }); err != nil {
		return err
	}
	defer func() { e.Agent.Release(ctx) }()
	acts, waiting := workflow.GetSignalChannel(ctx, "do"), false
	for {
		if e.Waits != "" && !waiting {
			waiting = true
			workflow.Go(ctx, func(ctx workflow.Context) {
				answer, err := e.Agent.Await(ctx, e.Waits)
				e.tell(told{Text: answer.Text, ID: e.Waits}, errors.Join(err, failureOf(answer)))
				e.Waits, waiting = "", false
			})
		}
		if err := workflow.Await(ctx, func() bool { return acts.Len() > 0 }); err != nil {
			return err
		}
		var do doing
		acts.Receive(ctx, &do)
		if do.Act == "roll" {
			return workflow.NewContinueAsNewError(ctx, runErrand, e)
		}
		e.act(ctx, do)
	}
}

func (e *errandState) act(ctx workflow.Context, do doing) {
	var id string
	var err error
	switch do.Act {
	case "start", "get":
		take := inworkflow.Start
		if do.Act == "get" {
			take = inworkflow.Get
		}
		var a inworkflow.Agent
		if a, err = take(ctx, do.Options); err == nil {
			e.Agent, id = a, a.ID
		}
	case "followup":
		id, err = e.Agent.Followup(ctx, signals.Send{Text: do.Text})
	case "steer":
		id, err = e.Agent.Steer(ctx, signals.Send{Text: do.Text})
	case "await":
		e.Waits = do.Text
		return
	}
	e.tell(told{ID: id}, err)
}

func (e *errandState) tell(t told, err error) {
	var refused *inworkflow.Error
	if errors.As(err, &refused) {
		t.Code = refused.Code
	}
	if err != nil {
		t.Failure = err.Error()
	}
	e.Told = append(e.Told, t)
}

// failureOf is why a turn has no proper answer.
func failureOf(answer inworkflow.Answer) error {
	if answer.Outcome.Kind == "" {
		return nil
	}
	return answer.Err()
}

// errand starts one.
func (p *place) errand(name string) (id string) {
	p.t.Helper()
	_, err := p.sdk.ExecuteWorkflow(p.t.Context(), client.StartWorkflowOptions{ID: p.id(name), TaskQueue: p.queue + "-errands"}, runErrand, errandState{})
	require.NoError(p.t, err)
	return p.id(name)
}

// does tells an errand what to do.
func (p *place) does(id string, do doing) {
	p.t.Helper()
	do.Options.TaskQueue = p.queue
	require.NoError(p.t, p.sdk.SignalWorkflow(p.t.Context(), id, "", "do", do))
}

// tells is does, and what it came to.
func (p *place) tells(id string, do doing) told {
	p.t.Helper()
	n := len(p.told(id))
	p.does(id, do)
	return p.hearsOf(id, n)
}

// hearsOf waits for the n-th thing, from 0, that an errand came to know.
func (p *place) hearsOf(id string, n int) told {
	p.t.Helper()
	until(p.t, id+" has something to tell", func() bool { return len(p.told(id)) > n })
	return p.told(id)[n]
}

func (p *place) told(id string) (all []told) {
	p.t.Helper()
	until(p.t, id+" answers", func() bool {
		value, err := p.sdk.QueryWorkflow(p.t.Context(), id, "", "told")
		return err == nil && value.Get(&all) == nil
	})
	return all
}

// replayErrand replays all runs of an errand.
func (p *place) replayErrand(id string) (runs int) {
	p.t.Helper()
	for _, h := range p.runs(id) {
		r := sdkworker.NewWorkflowReplayer()
		r.RegisterWorkflow(runErrand)
		require.NoError(p.t, r.ReplayWorkflowHistory(log.Silent(), h))
		runs++
	}
	return runs
}
