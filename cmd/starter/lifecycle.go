package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/everturn/everturn/agents"
	"github.com/spf13/cobra"
)

func (a *app) maintainCmd() *cobra.Command {
	var args string
	cmd := &cobra.Command{
		Use:     "maintain ID TASK",
		Short:   "Run a maintenance task while an agent is idle",
		Example: "  starter maintain my-agent compact",
		Args:    cobra.ExactArgs(2),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, rest []string) error {
			if args != "" && !json.Valid([]byte(args)) {
				return fail(exitUsage, errors.New("--args is not JSON"))
			}
			if err := s.needWorker(ctx, a.queue, "the task was not begun"); err != nil {
				return err
			}
			result, err := agent.Maintain(ctx, rest[0], json.RawMessage(args))
			if err != nil {
				return err
			}
			text := "done"
			if len(result) > 0 {
				text = string(result)
			}
			return a.print(map[string]any{"done": true, "result": result}, text)
		}),
	}
	cmd.Flags().StringVar(&args, "args", "", "JSON for the task")
	return cmd
}

func (a *app) resumeCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "resume ID",
		Short:   "Bring back an agent whose workflow is gone",
		Long:    "Gives the session of a terminated, expired or imported agent a new workflow. Input that was accepted is pending again;\nnothing runs until a wake. A live agent is refused.",
		Example: "  starter resume my-agent",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rebirth(cmd.Context(), func(ctx context.Context, s *site) (*agents.Agent, error) { return s.agents.Resume(ctx, args[0]) })
		},
	}
}

func (a *app) forkCmd() *cobra.Command {
	var o agents.ForkOptions
	var at int64
	cmd := &cobra.Command{
		Use:     "fork ID",
		Short:   "Create an agent that begins with another one's log",
		Example: "  starter fork my-agent\n  starter fork my-agent --at 22 --as experiment",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("at") {
				o.At = &at
			}
			return a.rebirth(cmd.Context(), func(ctx context.Context, s *site) (*agents.Agent, error) { return s.agents.Fork(ctx, args[0], o) })
		},
	}
	cmd.Flags().Int64Var(&at, "at", 0, "last event inherited, outside an open turn (default: the last one)")
	cmd.Flags().StringVar(&o.ID, "as", "", "id of the new agent; made up if empty")
	cmd.Flags().StringVar(&o.Definition, "definition", "", "kind of agent; the parent's if empty")
	return cmd
}

// rebirth needs a worker: it is the worker that reads and repairs the log.
func (a *app) rebirth(ctx context.Context, begin func(context.Context, *site) (*agents.Agent, error)) error {
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	if err := s.needWorker(ctx, a.queue, "nothing was begun"); err != nil {
		return err
	}
	agent, err := begin(ctx, s)
	if err != nil {
		return err
	}
	return a.print(map[string]string{"id": agent.ID(), "link": s.link(agent.ID())}, agent.ID())
}

func (a *app) exportCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "export ID FILE",
		Short:   "Write a whole session to one file, with a checksum",
		Example: "  starter export my-agent my-agent.everturn",
		Args:    cobra.ExactArgs(2),
		RunE: a.withAgent(func(ctx context.Context, _ *site, agent *agents.Agent, args []string) error {
			f, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			events, err := agent.Export(ctx, f)
			if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
				return errors.Join(err, os.Remove(args[0]))
			}
			return a.print(map[string]any{"events": events, "file": args[0]}, fmt.Sprintf("%d events", events))
		}),
	}
}

func (a *app) importCmd() *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Put an exported session into the store; `starter resume` brings it to life",
		Example: "  starter import my-agent.everturn --as my-copy && starter resume my-copy",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			s, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			header, err := s.agents.Import(cmd.Context(), f, id)
			if err != nil {
				return err
			}
			return a.print(header, header.ID)
		},
	}
	cmd.Flags().StringVar(&id, "as", "", "another id for the session")
	return cmd
}
