package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/everturn/everturn/agents"
)

// rollCmd moves agents to new runs, and with them to the workers that are current.
func (a *app) rollCmd() *cobra.Command {
	var from string
	var rate float64
	cmd := &cobra.Command{
		Use:   "roll [ID…]",
		Short: "Let agents go on in new runs, of the workers that are current",
		Long: "Agents that Temporal pinned to a version of the workers move to the current one at their next new run. A busy one does\n" +
			"when its turn ends; an idle one would only when it is woken, and its old workers could not be stopped until then. Without an\n" +
			"ID all agents are asked, or all whose run is of the version --from. Nobody notices: logs, waits and messages go on.",
		Example: "  starter roll my-agent\n  starter roll --from everturn:v41 --rate 50",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if rate <= 0 {
				return fail(exitUsage, fmt.Errorf("--rate %g: give a number of agents per second above 0", rate))
			}
			if from != "" && len(ids) > 0 {
				return fail(exitUsage, fmt.Errorf("give IDs or --from, not both"))
			}
			s, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				if ids, err = open(cmd.Context(), s.agents, from); err != nil {
					return err
				}
			}
			if err := roll(cmd.Context(), s.agents, ids, rate); err != nil {
				return err
			}
			return a.print(map[string]int{"asked": len(ids)}, fmt.Sprintf("asked %d agents to roll", len(ids)))
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "only agents whose run is of this version of the workers, as Temporal shows it: DEPLOYMENT:BUILD")
	cmd.Flags().Float64Var(&rate, "rate", 20, "agents per second")
	return cmd
}

// open are the ids of the agents that live, all or those of a version of the workers.
func open(ctx context.Context, c *agents.Client, version string) (ids []string, err error) {
	for l, err := range c.List(ctx) {
		if err != nil {
			return nil, err
		}
		if l.Open && (version == "" || l.Version == version) {
			ids = append(ids, l.ID)
		}
	}
	return ids, nil
}

// roll asks one agent after another, so many in a second.
func roll(ctx context.Context, c *agents.Client, ids []string, rate float64) error {
	pace := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer pace.Stop()
	for n, id := range ids {
		if n > 0 {
			select {
			case <-pace.C:
			case <-ctx.Done():
				return fmt.Errorf("%d of %d agents were asked: %w", n, len(ids), ctx.Err())
			}
		}
		agent, err := c.Get(ctx, id)
		if err == nil {
			err = agent.Roll(ctx)
		}
		if err != nil {
			return fmt.Errorf("%d of %d agents were asked: %w", n, len(ids), err)
		}
	}
	return nil
}
