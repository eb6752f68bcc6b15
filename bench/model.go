package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// done is the model's last word in every turn.
const done = "Done."

// A job is what a user asks for: the model calls the tool produce in so many steps, several times in each.
type job struct {
	Steps int `json:"steps"`
	Calls int `json:"calls"` // in a step
	Bytes int `json:"bytes"` // of output, of a call
}

// modelCalls is how many requests a job takes: the last one gives the answer.
func (j job) modelCalls() int { return j.Steps + 1 }

// asked is a job as the user says it.
func (j job) asked() string {
	raw, _ := json.Marshal(j) // numbers always marshal
	return string(raw)
}

// model does jobs, and says [done] to everything else.
func model() scripted.Model {
	return scripted.Model{Respond: respond, ContextWindow: 1 << 20, SystemPromptUpdate: true}
}

func respond(req llm.Request) scripted.Answer {
	var j job
	asked, steps := turnOf(req.Messages)
	if json.Unmarshal([]byte(asked), &j) != nil || steps >= j.Steps {
		return scripted.Text(done)
	}
	return calls(j, steps)
}

// turnOf is what the user said last, and how often the model has answered since.
func turnOf(messages []session.Message) (asked string, steps int) {
	for _, m := range slices.Backward(messages) {
		switch {
		case m.Role == session.RoleAssistant:
			steps++
		case m.Role == session.RoleUser && m.Source.Kind == session.SourceUser:
			return m.Text(), steps
		}
	}
	return "", steps
}

// calls is an answer of some tool calls.
func calls(j job, step int) scripted.Answer {
	var line strings.Builder
	for i := range j.Calls {
		fmt.Fprintf(&line, `tool call_%d_%d produce {"bytes":%d} `, step, i, j.Bytes)
	}
	answer, err := scripted.ParseAnswer(line.String())
	if err != nil {
		panic(err) // the line is well formed
	}
	return answer
}

// The definitions of the agents.
const (
	plain    = "plain"
	speaking = "speaking" // answers with the voice
)

func definitions() []*plugin.Definition {
	produce, err := tools.New("produce", "Produces text.", func(_ context.Context, in struct {
		Bytes int `json:"bytes"`
	}) (string, error) {
		return words(in.Bytes), nil
	}, tools.ParallelSafe(), tools.WithEffect(tools.Pure), tools.KeepWhole())
	if err != nil {
		panic(err) // the tool is a constant
	}
	return []*plugin.Definition{{Name: plain, Provider: scripted.Name, Model: "scripted", Sections: []plugin.Section{{Name: "who", Text: "You produce text."}},
		Tools: []*tools.Tool{produce}}, {Name: speaking, Provider: voiceName, Model: "voice"}}
}

// words is a text of n bytes, four to a token.
func words(n int) string {
	return strings.Repeat("abc ", (n+3)/4)[:n]
}
