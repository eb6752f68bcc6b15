package main

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/agents"
	"github.com/spf13/cobra"
)

func (a *app) planCmd() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "plan ID on|off",
		Short: "Let an agent plan first, or do again",
		Long: "In plan mode the model is told to change nothing and to present a plan, which `starter answer` approves or sends back. An\n" +
			"approval ends plan mode. It takes effect from the next step on, for agents whose definition has it.",
		Example:   "  starter plan my-agent on --by alice",
		Args:      cobra.MatchAll(cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error { return onOff(args[1]) }),
		ValidArgs: []string{"on", "off"},
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, args []string) error {
			if err := s.needWorker(ctx, a.queue, "plan mode was not switched"); err != nil {
				return err
			}
			if err := agent.Plan(ctx, args[0] == "on", by); err != nil {
				return err
			}
			return a.print(map[string]bool{"plan": args[0] == "on"}, "plan mode is "+args[0])
		}),
	}
	cmd.Flags().StringVar(&by, "by", "", "who switches, for the record")
	return cmd
}

// plan carries out `/plan`, `/plan off` and `/plan TEXT`: the text is a turn that plans.
func (a *app) plan(ctx context.Context, agent *agents.Agent, text string) error {
	on := text != "off"
	if err := agent.Plan(ctx, on, ""); err != nil {
		return err
	}
	if !on || text == "" || text == "on" {
		a.note("plan mode is %s", map[bool]string{true: "on", false: "off"}[on])
		return nil
	}
	_, err := agent.Followup(ctx, agents.Text(text))
	return err
}

func onOff(word string) error {
	if word != "on" && word != "off" {
		return fail(exitUsage, fmt.Errorf("%q is neither on nor off", word))
	}
	return nil
}
