package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

const statusTerminated = "terminated"

// errTerminated ends what a run that is gone still has running: nobody awaits it, and it is no cancel.
var errTerminated = errors.New("local: the run was terminated")

// Terminate makes the agent's run vanish, as the Temporal UI, command line and client do: nothing is closed, written or
// told, what was accepted stays in the run's history, and what runs answers nobody. See architecture A3.12.
func (e *Engine) Terminate(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.live(id)
	if err != nil {
		return err
	}
	a.End = &ending{Status: statusTerminated}
	e.ended(a)
	if t := a.task; t != nil {
		t.dead, a.task, a.driver = errTerminated, nil, nil
		t.cancel(errTerminated)
		e.free(t, true)
	}
	for _, fx := range a.Effects {
		if t := fx.thread; t != nil {
			t.dead = errTerminated
			t.cancel(errTerminated)
			e.free(t, false)
		}
	}
	e.unanswered(a)
	e.announce()
	e.settle()
	return nil
}

// unanswered tells callers that their run is gone. The caller holds the lock.
func (e *Engine) unanswered(a *agent) {
	for _, i := range a.Queue {
		switch {
		case i.query != nil:
			i.query(a.state(), nil)
		case i.Ref != "":
			e.reply(i.Ref, answer{err: a.closedError()})
		}
	}
	a.forget()
}

// forget drops what a run that is gone waits for; what still runs answers nobody.
func (a *agent) forget() {
	for _, fx := range a.Effects {
		fx.thread = nil
	}
	a.Queue, a.Effects, a.Timers = nil, nil, nil
}

// SignalRun is [Engine.Signal] to one run of an agent: a run that has ended takes nothing, whoever has its id now.
func (e *Engine) SignalRun(ctx context.Context, id, run, act string, payload any) error {
	e.mu.Lock()
	a := e.agents[id]
	e.mu.Unlock()
	if a == nil || a.runID() != run {
		return fmt.Errorf("run %s of agent %s: %w", run, id, agents.ErrClosed)
	}
	return e.Signal(ctx, id, act, payload)
}

// accepted notes an act for the history of the run. The caller holds the lock.
func (a *agent) accepted(i item) {
	if slices.Contains(signals.Acts, i.Name) {
		a.Accepted = append(a.Accepted, activities.AcceptedAct{Name: i.Name, Raw: i.Raw})
	}
}

// follow goes on counting where an earlier life of the id ended: no run and no message is named like an earlier one.
func (a *agent) follow(before *agent) {
	if before != nil {
		a.Run, a.Made, a.MadeBefore = before.Run+1, before.Made, before.Made
	}
}

// Inputs implements [activities.InputReader]: the history of a closed run holds what it accepted.
func (w *Worker) Inputs(_ context.Context, workflowID, runID string) (activities.LastInputs, error) {
	e := w.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range slices.Backward(e.runs) {
		if a.ID == workflowID && a.runID() == runID {
			id := func(n int) string { return madeID(a.ID, a.MadeBefore+n) }
			out, l := activities.InputsOf(a.Create, a.Accepted, id), workflows.LogView(a.state())
			out.Known, out.Head, out.Tail = true, work.Head{Hash: l.Head.Hash, Count: l.Head.Count}, l.Tail
			return out, nil
		}
	}
	return activities.LastInputs{}, fmt.Errorf("agent %s has no run %s", workflowID, runID)
}

func madeID(session string, n int) string { return fmt.Sprintf("in-%s-%d", session, n) }
