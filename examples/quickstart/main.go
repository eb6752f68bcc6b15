// Quickstart is an agent in one program: a definition with one tool, a worker that runs it, and a question.
//
// It needs a Temporal server: `make run` in another terminal, or TEMPORAL_ADDRESS. The model is a script, so no key is
// needed; with OPENAI_API_KEY a real one answers.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/openai"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/worker"
)

func main() {
	ctx := context.Background()
	client := must(agents.Dial(ctx, agents.DialOptions{TaskQueue: "quickstart"}))
	defer client.Close()
	w := must(worker.New(ctx, worker.Config{Client: client.Temporal, Store: client.Store, TaskQueue: client.TaskQueue,
		Providers: []llm.Provider{model()}, Definitions: []*plugin.Definition{guide()}}))
	check(w.Start())
	defer w.Stop()
	agent := must(client.Create(ctx, agents.CreateOptions{Definition: "guide"}))
	answer := must(agent.Ask(ctx, "What is the weather in Lisbon?"))
	fmt.Println(answer.Text)
}

// guide is what the agent is: who it is told to be, which model answers, what it can do.
func guide() *plugin.Definition {
	return &plugin.Definition{
		Name: "guide", Provider: model().Name(), Model: "gpt-5-mini",
		Sections: []plugin.Section{{Name: "identity", Text: "You are a friendly travel guide."}},
		Tools:    []*tools.Tool{tools.Must(tools.New("weather", "Tells the weather of a city.", weather, tools.WithEffect(tools.Pure)))},
	}
}

type city struct {
	City string `json:"city" jsonschema:"name of the city"`
}

// weather is a tool: an ordinary function. The model sees the schema of its argument type.
func weather(_ context.Context, in city) (string, error) { return "sunny, 24 °C in " + in.City, nil }

// model is OpenAI if there is a key, else a script of two answers: a call of the tool, then words.
func model() llm.Provider {
	if key := llm.NewSecret(os.Getenv("OPENAI_API_KEY")); !key.IsZero() {
		return must(openai.New(openai.Config{APIKey: key}))
	}
	return scripted.New(scripted.Config{Default: scripted.Model{Position: scripted.ByHistory, Script: scripted.MustParse(`
		tool c1 weather {"city":"Lisbon"}
		text "Sunny, 24 °C: take your sunglasses."
	`)}})
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// check ends the program, not the agent: whatever the agent was doing goes on with the next worker.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
