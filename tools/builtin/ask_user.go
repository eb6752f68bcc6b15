package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/everturn/everturn/tools"
)

// AskUserOptions refine [AskUser].
type AskUserOptions struct {
	Name string // of the tool; "ask_user" if empty
	// Deadline bounds how long answers are waited for; the model may choose a shorter time. 0 means without end.
	Deadline time.Duration
}

type askUserArgs struct {
	Questions   []tools.Question `json:"questions"`
	WaitMinutes int64            `json:"wait_minutes,omitempty"`
}

// AskUser lets the model ask people questions with options, free text or both. The call waits for the answers without a
// worker, over restarts; they come from any process that knows the agent, as act `answer`. What the model reads is JSON:
//
//	{"answers":[{"id":"target","question":"Where to?","selected":["test"]},{"id":"when","question":"When?","skipped":true}]}
//
// Nobody answers in time: the result is an error with code NO_ANSWER. The tool is pure, since a call that is repeated
// before it waits asks nobody twice, and parallel.
func AskUser(o AskUserOptions) (*tools.Tool, error) {
	if o.Name == "" {
		o.Name = "ask_user"
	}
	if o.Deadline < 0 {
		return nil, fmt.Errorf("tool %q: the deadline is %s: use a positive one, or none", o.Name, o.Deadline)
	}
	ask := func(_ context.Context, in askUserArgs) (tools.Result, error) {
		q := tools.Questions{Questions: in.Questions, Deadline: o.wait(in.WaitMinutes)}
		if err := q.Check(); err != nil {
			return tools.Result{}, tools.Coded("InvalidArgsError", tools.InvalidArgs, fmt.Sprintf("invalid arguments for tool %q: %s", o.Name, err))
		}
		return tools.Result{Ask: &q}, nil
	}
	schema, err := askUserSchema()
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", o.Name, err)
	}
	return tools.New(o.Name, "Asks the people you work for, and waits for their answers. Ask only what you cannot find out yourself, all of it in one call.",
		ask, tools.WithParameters(schema), tools.ParallelSafe(), tools.WithEffect(tools.Pure))
}

// wait is the shorter of what the program and the model say.
func (o AskUserOptions) wait(minutes int64) time.Duration {
	asked := time.Duration(minutes) * time.Minute
	if asked > 0 && (o.Deadline == 0 || asked < o.Deadline) {
		return asked
	}
	return o.Deadline
}

// maxWaitMinutes is a year.
const maxWaitMinutes = 366 * 24 * 60

func askUserSchema() (json.RawMessage, error) {
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	yes := func(about string) map[string]any { return map[string]any{"type": "boolean", "description": about} }
	option := object([]string{"label"}, map[string]any{
		"label":  text("what is chosen, a few words"),
		"detail": text("what choosing it means"),
	})
	question := object([]string{"id", "text"}, map[string]any{
		"id":      text("short name by which you find the answer, such as \"target\""),
		"text":    text("the question"),
		"header":  text("one or two words above it"),
		"detail":  text("what one should know to answer"),
		"options": map[string]any{"type": "array", "items": option, "description": "answers to choose from; without them a text is the answer"},
		"multi":   yes("more than one option may be chosen"),
		"free":    yes("a text is taken besides the options"),
		"must":    yes("it must not be skipped"),
	})
	return json.Marshal(object([]string{"questions"}, map[string]any{
		"questions":    map[string]any{"type": "array", "items": question, "description": fmt.Sprintf("1 to %d questions", tools.MaxQuestions)},
		"wait_minutes": map[string]any{"type": "integer", "minimum": 1, "maximum": maxWaitMinutes, "description": "how long to wait at most"},
	}))
}

func object(required []string, properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "required": required, "additionalProperties": false, "properties": properties}
}
