package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The floor is what somebody would write by hand: a long-lived workflow that takes a signal, runs three activities with
// trivial payloads, and tells whoever waits. Nothing on Temporal that makes a turn of three activities can be much faster.
const (
	floorQueue = "floor"
	floorSay   = "say"
	floorWait  = "wait"
)

// A trifle is the argument and the result of the floor's activities.
type trifle struct {
	N int `json:"n"`
}

// floorWorkflow has made turns turns in earlier runs.
func floorWorkflow(ctx workflow.Context, turns int) error {
	waiting := 0
	err := workflow.SetUpdateHandler(ctx, floorWait, func(ctx workflow.Context, after int) (int, error) {
		waiting++
		defer func() { waiting-- }()
		err := workflow.Await(ctx, func() bool { return turns > after })
		return turns, err
	})
	if err != nil {
		return err
	}
	said := workflow.GetSignalChannel(ctx, floorSay)
	for !workflow.GetInfo(ctx).GetContinueAsNewSuggested() || waiting > 0 || said.Len() > 0 {
		said.Receive(ctx, nil)
		for n := range 3 {
			if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, floorOptions()), floorActivity, trifle{n}).Get(ctx, nil); err != nil {
				return err
			}
		}
		turns++
		// whoever waits is told in this task: the answer is taken before the next signal is
		if err := workflow.Await(ctx, func() bool { return waiting == 0 || said.Len() > 0 }); err != nil {
			return err
		}
	}
	return workflow.NewContinueAsNewError(ctx, floorWorkflow, turns)
}

func floorActivity(_ context.Context, in trifle) (trifle, error) { return in, nil }

// floorOptions are those of a stock step, as far as they cost something.
func floorOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: 30 * time.Second}
}

// floorWorker runs floors beside the agents, with the same settings.
func (s *site) floorWorker() error {
	w := sdk.New(s.sdk, floorQueue, pollsOf())
	w.RegisterWorkflowWithOptions(floorWorkflow, workflow.RegisterOptions{Name: "floorWorkflow"})
	w.RegisterActivityWithOptions(floorActivity, activity.RegisterOptions{Name: "floorActivity"})
	if err := w.Start(); err != nil {
		return err
	}
	s.closing(w.Stop)
	return nil
}

// A floor is a client of one floor workflow.
type floor struct {
	sdk   client.Client
	id    string
	turns int // so far
}

func (s *site) newFloor(ctx context.Context, id string) (*floor, error) {
	_, err := s.sdk.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: floorQueue}, floorWorkflow, 0)
	return &floor{sdk: s.sdk, id: id}, err
}

// turn makes one turn and checks that it was made.
func (f *floor) turn(ctx context.Context) error {
	if err := f.sdk.SignalWorkflow(ctx, f.id, "", floorSay, "hello"); err != nil {
		return err
	}
	var turns int
	if err := update(ctx, f.sdk, f.id, floorWait, f.turns, &turns); err != nil {
		return err
	}
	if f.turns++; turns != f.turns {
		return fmt.Errorf("floor %s made %d turns, want %d", f.id, turns, f.turns)
	}
	return nil
}

// update sends an update and waits for its result. If it fell into a change of runs, it is sent again.
func update(ctx context.Context, c client.Client, id, name string, in, out any) error {
	for {
		handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: name, Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted})
		if err == nil {
			err = handle.Get(ctx, out)
		}
		var app *temporal.ApplicationError
		if !errors.As(err, &app) {
			return err
		}
	}
}
