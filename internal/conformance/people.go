package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
	"github.com/google/uuid"
)

// planFirst reads `plan: first`: the agent can be told to plan before it acts.
func (s *setup) planFirst(args []string, value string) error {
	if len(args) > 0 || value != "first" {
		return errors.New("want `plan: first`")
	}
	s.pipeline.plans = true
	return nil
}

// ask hands the call of a tool to people: `question [QUESTION, …] [DURATION]`.
func ask(out *tools.Result, d deed) (err error) {
	q := tools.Questions{}
	if err := json.Unmarshal([]byte(d.args[0]), &q.Questions); err != nil {
		return err
	}
	if len(d.args) > 1 {
		q.Deadline, err = time.ParseDuration(d.args[1])
	}
	out.Ask = &q
	return err
}

// parseAnswer reads `answer CALL JSON`: people answer what the call asks.
func parseAnswer(_ *setup, w *words) (act, error) {
	call, err := w.bare("the id of a call")
	if err != nil {
		return nil, err
	}
	raw, err := w.value("the answers")
	if err != nil {
		return nil, err
	}
	var answers []signals.AnswerTo
	if err := json.Unmarshal(raw, &answers); err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *run) outcome {
		return r.tell(ctx, call, ".answer", signals.AnswerAsked, func(id string) any {
			return signals.Answers{RequestID: uuid.NewString(), ID: id, Answers: answers, By: "somebody"}
		})
	}, nil
}

// parseGive reads `give CALL text "…"|long N|value JSON|content JSON|error "…"`: a program gives the result of the call.
func parseGive(_ *setup, w *words) (act, error) {
	call, err := w.bare("the id of a call")
	if err != nil {
		return nil, err
	}
	given := signals.CallResult{By: "somebody"}
	switch {
	case w.take("text"):
		given.Text, err = w.text("the text")
	case w.take("error"):
		given.IsError = true
		given.Text, err = w.text("what went wrong")
	case w.take("long"):
		var n int
		n, err = w.number("the number of bytes")
		given.Text = strings.Repeat("x", n)
	case w.take("value"):
		given.Value, err = w.value("the value")
	case w.take("content"):
		var raw json.RawMessage
		if raw, err = w.value("the content"); err == nil {
			err = json.Unmarshal(raw, &given.Content)
		}
	default:
		err = errors.New("want text, long, value, content or error")
	}
	return func(ctx context.Context, r *run) outcome {
		return r.tell(ctx, call, ".result", signals.GiveResult, func(id string) any {
			given.RequestID, given.ID = uuid.NewString(), id
			return given
		})
	}, err
}

// tell says something to a call of the step that waits; one that does not wait any more is tried nevertheless.
func (r *run) tell(ctx context.Context, call, suffix, name string, payload func(id string) any) outcome {
	state, err := r.agent.State(ctx)
	if err != nil {
		return outcome{err: err}
	}
	receipt, err := r.agent.Act(ctx, name, payload(fmt.Sprintf("%d.%d.%s%s", state.Turn, state.Step, call, suffix)))
	return outcome{receipt: &receipt, err: err}
}

// parseDeferred reads `deferred: c1(question) c2(client)`: the calls that wait for somebody outside, and for what.
func parseDeferred(_ []string, rest string) (*watch, error) {
	return arriving(named("deferred:", rest, func(ctx context.Context, r *run) (string, error) {
		s, err := r.agent.State(ctx)
		if err != nil {
			return "", err
		}
		var out []string
		for _, d := range s.Deferred {
			out = append(out, fmt.Sprintf("%s(%s)", d.CallID, d.Kind))
		}
		return listed(out), nil
	}))
}
