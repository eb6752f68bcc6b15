package plugin_test

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

func ExampleDefinition_Assemble() {
	d := plugin.Definition{
		Name: "clerk",
		Sections: []plugin.Section{
			{Name: "manners", Order: 100, Text: "Answer in one sentence."},
			{Name: "identity", Order: -100, Text: "You are {{name}}, running on {{model}}."},
		},
		Variables: map[string]plugin.Variable{
			"name": func(context.Context, plugin.View) (string, error) { return "a clerk", nil },
		},
	}
	out, err := d.Assemble(context.Background(), plugin.View{Model: "some-model"})
	fmt.Println(out.System, err)
	// Output:
	// You are a clerk, running on some-model.
	//
	// Answer in one sentence. <nil>
}

// A gate that keeps secrets out of the conversation.
func ExamplePreStepGate() {
	gate := func(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
		for _, m := range in.Messages {
			if m.Text() == "the password is swordfish" {
				return plugin.Decision{Reject: true, Reason: "no secrets, please"}, nil
			}
		}
		return next(ctx, in)
	}
	d := plugin.Definition{Name: "clerk", PreStep: []plugin.PreStepGate{gate}}
	for _, text := range []string{"hello", "the password is swordfish"} {
		out, err := d.DecidePreStep(context.Background(), plugin.PreStep{
			Messages: []session.Message{{ID: "m", Role: session.RoleUser, Content: session.TextContent(text)}},
		}, nil)
		fmt.Println(len(out.Messages), out.Reject, out.Reason, err)
	}
	// Output:
	// 1 false  <nil>
	// 0 true no secrets, please <nil>
}
