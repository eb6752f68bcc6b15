package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// A taskSpec is a maintenance task of a scenario.
type taskSpec struct {
	name  string
	deeds []deed
}

// task reads `task NAME: deeds`.
func (s *setup) task(args []string, value string) error {
	if len(args) != 1 {
		return fmt.Errorf("want `task NAME: deeds`, such as `task tidy: hold t, answer 1`")
	}
	deeds, err := s.parseDeeds("task", &words{value})
	s.tasks = append(s.tasks, taskSpec{args[0], deeds})
	return err
}

func (w *world) maintenance(d *plugin.Definition) {
	for _, t := range w.tasks {
		if d.Maintenance == nil {
			d.Maintenance = map[string]plugin.MaintenanceTask{}
		}
		d.Maintenance[t.name] = func(ctx context.Context, in plugin.Maintenance) (any, error) { return w.runTask(ctx, in, t.deeds) }
	}
}

// runTask does what the task does. Without an answer of its own it answers with its arguments.
func (w *world) runTask(ctx context.Context, in plugin.Maintenance, deeds []deed) (result any, err error) {
	if len(in.Args) > 0 {
		result = in.Args
	}
	for _, d := range deeds {
		done, err := w.common(ctx, d)
		if !done {
			switch d.verb {
			case "answer":
				result = json.RawMessage(d.args[0])
			case "log":
				m := w.message(d.args[0])
				m.Source = session.Source{Kind: session.SourcePlugin, Plugin: definitionName}
				err = in.Log.Append(session.UserMessage{Message: m})
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return result, nil
}

// disposing asks for the end of the agent and does not wait for it.
func (r *run) disposing(ctx context.Context) error {
	return r.site.client.Backend.Signal(ctx, r.agent.ID(), signals.DisposeAgent, signals.Dispose{RequestID: uuid.NewString()})
}

// A maintained is what somebody's task came to.
type maintained struct {
	result json.RawMessage
	err    error
}

// parseMaintain reads `maintain TASK [JSON]`, which waits for the result, and `maintain TASK as NAME`: somebody waits for
// it while the scenario goes on.
func parseMaintain(_ *setup, w *words) (act, error) {
	task, err := w.bare("the name of a task")
	if err != nil {
		return nil, err
	}
	if w.take("as") {
		name, err := w.bare("the name of who waits")
		return quiet(func(r *run, ctx context.Context) error {
			done := make(chan maintained, 1)
			if r.tasksOf == nil {
				r.tasksOf = map[string]chan maintained{}
			}
			r.tasksOf[name] = done
			go func() { done <- r.maintain(ctx, task, nil) }()
			return nil
		}), err
	}
	var args json.RawMessage
	if !w.done() {
		args, err = w.value("the arguments")
	}
	return func(ctx context.Context, r *run) outcome { return r.maintain(ctx, task, args).outcome(r) }, err
}

func (r *run) maintain(ctx context.Context, task string, args json.RawMessage) maintained {
	short, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	result, err := r.agent.Maintain(short, task, args)
	return maintained{result, err}
}

func (m maintained) outcome(r *run) outcome {
	r.taskResult = m.result
	return outcome{err: m.err}
}

// parseMaintained reads `maintained NAME`: who waits for a task must learn of its end now.
func parseMaintained(_ *setup, w *words) (act, error) {
	name, err := w.bare("the name of who waits")
	return func(ctx context.Context, r *run) outcome {
		done := r.tasksOf[name]
		if done == nil {
			return outcome{err: fmt.Errorf("nobody waits as %s", name)}
		}
		select {
		case m := <-done:
			return m.outcome(r)
		case <-ctx.Done():
			return outcome{err: ctx.Err()}
		}
	}, err
}

// parseResult reads `result JSON`: what the maintenance task of the act returned.
func parseResult(args []string, rest string) (*watch, error) {
	return named("result", value(args, rest), func(_ context.Context, r *run) (string, error) {
		if r.taskResult == nil {
			return "none", nil
		}
		return strings.TrimSpace(string(r.taskResult)), nil
	})
}
