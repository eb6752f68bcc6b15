package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
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

// A gate that asks a person about large payments, and a guard that nobody can overrule.
func ExampleToolPreGate() {
	ask := func(ctx context.Context, in plugin.ToolCall, next func(context.Context) (plugin.Verdict, error)) (plugin.Verdict, error) {
		var payment struct{ Amount int }
		if err := json.Unmarshal(in.Arguments, &payment); err == nil && payment.Amount > 100 {
			return plugin.Verdict{Kind: plugin.Ask, Reason: fmt.Sprintf("pay %d?", payment.Amount)}, nil
		}
		return next(ctx)
	}
	never := func(in plugin.ToolCall) string {
		if in.Name == "delete_account" {
			return "accounts are never deleted by an agent"
		}
		return ""
	}
	d := plugin.Definition{
		Name: "clerk", ToolPreExecute: []plugin.ToolPreGate{ask}, Guards: []plugin.Guard{never},
		Approval: &plugin.Approval{Deadline: 24 * time.Hour},
	}
	for _, call := range []plugin.ToolCall{
		{Name: "pay", Arguments: json.RawMessage(`{"amount":20}`)},
		{Name: "pay", Arguments: json.RawMessage(`{"amount":2000}`)},
		{Name: "delete_account", Arguments: json.RawMessage(`{}`)},
	} {
		verdict, err := d.DecideCall(context.Background(), call)
		fmt.Println(verdict.Kind, verdict.Reason, err)
	}
	// Output:
	// allow  <nil>
	// ask pay 2000? <nil>
	// deny accounts are never deleted by an agent <nil>
}

// An approval service: nobody is asked about what the definition's rules let run.
func ExampleApproval() {
	deploy := func(_ context.Context, in struct{ To string }) (string, error) { return "deployed to " + in.To, nil }
	d := plugin.Definition{
		Name:  "clerk",
		Tools: []*tools.Tool{tools.Must(tools.New("deploy", "Deploys a build.", deploy, tools.NeedsApproval("it changes what people see")))},
		Approval: &plugin.Approval{
			Deadline: 24 * time.Hour, // then it is denied
			Policy:   plugin.PolicyAllowList,
			Allow:    []plugin.Rule{{Tool: "deploy", Args: map[string]string{"To": "test-*"}}},
		},
	}
	fmt.Println(d.Validate())
	d.Approval.Policy = "sometimes"
	fmt.Println(d.Validate())
	// Output:
	// <nil>
	// definition clerk: approval: policy is "sometimes": use ask, allow-list, never or always
}

// A wrapper that tries a tool once more, and a gate that makes the model try harder.
func ExampleDefinition_Executed() {
	again := func(ctx context.Context, _ plugin.ToolCall, next func(context.Context) (tools.Result, error)) (tools.Result, error) {
		out, err := next(ctx)
		if err != nil {
			out, err = next(ctx)
		}
		return out, err
	}
	harder := func(ctx context.Context, in plugin.ToolOutcome, next func(context.Context) (plugin.PostDecision, error)) (plugin.PostDecision, error) {
		if in.Content.Text() == "" {
			return plugin.PostDecision{Block: true, Feedback: "nothing was found: search for something else"}, nil
		}
		return next(ctx)
	}
	d := plugin.Definition{Name: "clerk", ToolExecute: []plugin.ToolExecuteGate{again}, ToolPostExecute: []plugin.ToolPostGate{harder}}
	tries := 0
	out, err := d.Executed(context.Background(), plugin.ToolCall{Name: "search"}, func(context.Context) (tools.Result, error) {
		if tries++; tries == 1 {
			return tools.Result{}, errors.New("connection lost")
		}
		return tools.TextResult(""), nil
	})
	fmt.Println(tries, err)
	decision, err := d.DecideResult(context.Background(), plugin.ToolOutcome{Content: out.Content})
	fmt.Println(decision.Block, decision.Feedback, err)
	// Output:
	// 2 <nil>
	// true nothing was found: search for something else <nil>
}
