package plugin_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/tools/builtin"
)

// A definition is one kind of agent; prompt sections are ordered and may compute or refer to variables.
func ExampleDefinition() {
	reviewer := &plugin.Definition{
		Name: "reviewer", Provider: "anthropic", Model: "claude-sonnet-4-5",
		Sections: []plugin.Section{
			{Name: "style", Order: 100, Text: "Answer in {{language}}."},
			{Name: "identity", Order: -100, Text: "You review Go code. You are {{model}}."},
		},
		Variables: map[string]plugin.Variable{
			"language": func(context.Context, plugin.View) (string, error) { return "English", nil },
		},
		Tools: []*tools.Tool{builtin.Echo(), builtin.Now(nil)},
	}
	if err := reviewer.Validate(); err != nil {
		panic(err)
	}
	assembled, err := reviewer.Assemble(context.Background(), plugin.View{Provider: "anthropic", Model: "claude-sonnet-4-5"})
	if err != nil {
		panic(err)
	}
	fmt.Println(assembled.System)
	for _, t := range assembled.Tools {
		fmt.Println("tool:", t.Name)
	}
	// Output:
	// You review Go code. You are claude-sonnet-4-5.
	//
	// Answer in English.
	// tool: echo
	// tool: now
}

// A pre-step gate sees what is about to enter a step and may rewrite it, add to it or reject it.
func ExamplePreStepGate() {
	noSecrets := func(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
		for _, m := range in.Messages {
			if strings.Contains(m.Text(), "password") {
				return plugin.Decision{Reject: true, Reason: "no passwords, please"}, nil
			}
		}
		return next(ctx, in)
	}
	d := &plugin.Definition{Name: "careful", PreStep: []plugin.PreStepGate{noSecrets}}
	for _, text := range []string{"hello", "my password is 1234"} {
		message := session.Message{ID: "m", Role: session.RoleUser, Content: session.TextContent(text), Source: session.Source{Kind: session.SourceUser}}
		decision, err := d.DecidePreStep(context.Background(), plugin.PreStep{Messages: []session.Message{message}}, nil)
		fmt.Println(len(decision.Messages), decision.Reject, decision.Reason, err)
	}
	// Output:
	// 1 false  <nil>
	// 0 true no passwords, please <nil>
}

// A request gate may switch the model; here short conversations go to a small one.
func ExampleRequestGate() {
	cheap := func(ctx context.Context, in plugin.RequestProposal, next func(context.Context, plugin.RequestProposal) (session.CallConfig, error)) (session.CallConfig, error) {
		config, err := next(ctx, in)
		if in.View.Turn < 3 {
			config.Model = "small"
		}
		return config, err
	}
	d := &plugin.Definition{Name: "thrifty", Request: []plugin.RequestGate{cheap}}
	for _, turn := range []int{1, 3} {
		config, err := d.DecideRequest(context.Background(), plugin.RequestProposal{
			View: plugin.View{Turn: turn}, Config: session.CallConfig{Provider: "lab", Model: "large"}})
		fmt.Println(turn, config.Model, err)
	}
	// Output:
	// 1 small <nil>
	// 3 large <nil>
}
