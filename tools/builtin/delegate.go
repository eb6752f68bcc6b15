package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everturn/everturn/tools"
)

// A Kind is a kind of agent that [Delegate] offers.
type Kind struct {
	Definition  string // name of a definition that the worker knows; it is also what the model calls the kind
	Description string // what it is good at, for the model
}

// DelegateOptions refine [Delegate].
type DelegateOptions struct {
	Name     string        // of the tool; "delegate" if empty
	Deadline time.Duration // how long an answer is waited for; 0 means without end
	Keep     bool          // the child stays when it has answered; otherwise it is disposed of
}

// MaxPrompt bounds what a child is asked, in characters.
const MaxPrompt = 100_000

type delegateArgs struct {
	Kind   string `json:"kind"`
	Prompt string `json:"prompt"`
	Title  string `json:"title,omitempty"`
}

// Delegate hands a task to a child agent of a kind that the model chooses; the child's last answer is the result. The call
// waits for it without a worker. A kind that may delegate itself can go on without end: leave the tool out of its
// definition. It is pure, since a call that is repeated means the same child, and parallel. See spec §6.4.
func Delegate(kinds []Kind, o DelegateOptions) (*tools.Tool, error) {
	if o.Name == "" {
		o.Name = "delegate"
	}
	if err := checkKinds(kinds); err != nil {
		return nil, fmt.Errorf("tool %q: %w", o.Name, err)
	}
	if o.Deadline < 0 {
		return nil, fmt.Errorf("tool %q: the deadline is %s: use a positive one, or none", o.Name, o.Deadline)
	}
	delegate := func(_ context.Context, in delegateArgs) (tools.Result, error) {
		return tools.Result{Delegate: &tools.Child{Definition: in.Kind, Prompt: in.Prompt, Title: in.Title, Deadline: o.Deadline, Keep: o.Keep}}, nil
	}
	schema, err := delegateSchema(kinds)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", o.Name, err)
	}
	return tools.New(o.Name, "Gives a task to another agent, which works on it alone and answers once. It knows nothing of this conversation.",
		delegate, tools.WithParameters(schema), tools.ParallelSafe(), tools.WithEffect(tools.Pure))
}

func checkKinds(kinds []Kind) error {
	if len(kinds) == 0 {
		return errors.New("no kind of agent is offered")
	}
	seen := map[string]bool{}
	for _, k := range kinds {
		if k.Definition == "" || seen[k.Definition] {
			return fmt.Errorf("kind %q has no name, or is offered twice", k.Definition)
		}
		seen[k.Definition] = true
	}
	return nil
}

// delegateSchema lets the model choose among the kinds and nothing else.
func delegateSchema(kinds []Kind) (json.RawMessage, error) {
	names, about := []string{}, []string{}
	for _, k := range kinds {
		names = append(names, k.Definition)
		about = append(about, k.Definition+": "+k.Description)
	}
	return json.Marshal(map[string]any{
		"type": "object", "required": []string{"kind", "prompt"}, "additionalProperties": false,
		"properties": map[string]any{
			"kind":   map[string]any{"type": "string", "enum": names, "description": "the kind of agent. " + strings.Join(about, "; ")},
			"prompt": map[string]any{"type": "string", "minLength": 1, "maxLength": MaxPrompt, "description": "the task, with all that the agent has to know"},
			"title":  map[string]any{"type": "string", "maxLength": 80, "description": "a few words for people who look at a list of agents"},
		},
	})
}
