package main

import (
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/plugin"
	"github.com/spf13/cobra"
	sdkworker "go.temporal.io/sdk/worker"
)

// devDrain is how long the programs that bring their own worker wait for it at the end.
const devDrain = 3 * time.Second

func (a *app) devCmd() *cobra.Command {
	var noChat bool
	cmd := &cobra.Command{
		Use:   "dev [ID]",
		Short: "Start a server, its UI, a worker and a chat, from nothing",
		Long: "Starts a Temporal development server with its UI (or uses the one that runs), a worker, and a chat with a new agent,\n" +
			"or with agent ID. If stdin is not a terminal, each line is a followup and answers go to stdout.",
		Example: "  starter dev\n  echo \"please echo hello\" | starter dev\n  starter dev --no-chat",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&noChat, "no-chat", false, "only run server and worker, until SIGTERM or Ctrl-C")
	return a.onSite(cmd, func(ctx context.Context, s *site, args []string) error {
		if !noChat {
			return a.chatWith(ctx, s, first(args))
		}
		a.note("Temporal: %s", s.ui)
		ctx, stop := untilInterrupt(ctx)
		defer stop()
		<-ctx.Done()
		return nil
	})
}

// onSite lets a command run with a server and a worker, which it brings along if there are none.
func (a *app) onSite(cmd *cobra.Command, run func(ctx context.Context, s *site, args []string) error) *cobra.Command {
	l := launch{worker: true, drain: devDrain}
	serverFlags(cmd, &l.server)
	a.webhooks.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.site(cmd.Context(), l)
		if err != nil {
			return err
		}
		return run(cmd.Context(), s, args)
	}
	return cmd
}

func (a *app) chatCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chat [ID]",
		Short: "Talk to an agent while it works",
		Long: "Talks to agent ID, or to a new one. A line typed while the agent works steers it. Commands: /followup TEXT, /inject TEXT,\n" +
			"/plan [TEXT|off], /cancel, /state, /quit. Ctrl-C cancels the turn; twice leaves. When the agent asks something, or a call\n" +
			"waits for a decision, a line answers it. If stdin is not a terminal, each line is a followup; with --wait the next line is\n" +
			"read when the agent has answered, or asks something: then it is the answer.",
		Example: "  starter chat\n  starter chat my-agent\n  printf 'one\\ntwo\\n' | starter chat my-agent\n  printf 'ask me which one: a, b\\n2\\n' | starter chat --wait",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&a.oneByOne, "wait", false, "one line at a time; a line answers what the agent asks")
	return a.onSite(cmd, func(ctx context.Context, s *site, args []string) error { return a.chatWith(ctx, s, first(args)) })
}

// chatWith opens agent id, or makes one, and talks to it.
func (a *app) chatWith(ctx context.Context, s *site, id string) error {
	agent, err := a.openAgent(ctx, s, id)
	if err != nil {
		return err
	}
	a.note("agent %s", agent.ID())
	if link := s.link(agent.ID()); link != "" {
		a.note("Temporal UI: %s", link)
	}
	if isTerminal(a.in) {
		return a.talk(ctx, agent)
	}
	ctx, stop := s.guarded(ctx, a.queue, "what was sent was accepted and waits")
	defer stop()
	if a.oneByOne {
		return because(ctx, a.converse(ctx, agent))
	}
	return because(ctx, a.pipe(ctx, agent))
}

// openAgent finds agent id; without an id, or for a new one, it creates it.
func (a *app) openAgent(ctx context.Context, s *site, id string) (*agents.Agent, error) {
	if id != "" {
		agent, err := s.agents.Get(ctx, id)
		if err == nil {
			return agent, nil
		}
		if code, _ := explain(err); code != exitUnknown {
			return nil, err
		}
	}
	return s.newAgent(ctx, agents.CreateOptions{ID: id})
}

func (a *app) askCmd() *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:     "ask TEXT",
		Short:   "Ask for one answer and exit",
		Example: "  starter ask \"please echo hello\"\n  starter ask --agent my-agent \"what did I just say?\" --json",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&id, "agent", "", "ask this agent; a new one otherwise")
	return a.onSite(cmd, func(ctx context.Context, s *site, args []string) error {
		agent, err := a.openAgent(ctx, s, id)
		if err != nil {
			return err
		}
		ctx, stop := s.guarded(ctx, a.queue, "the message was accepted and waits")
		defer stop()
		go a.tellWaits(ctx, agent)
		answer, err := agent.Ask(ctx, args[0])
		if err != nil {
			return because(ctx, err)
		}
		return a.showAnswer(agent.ID(), answer)
	})
}

// answerJSON is what `ask --json` prints.
type answerJSON struct {
	Agent   string `json:"agent"`
	Turn    int    `json:"turn"`
	Outcome any    `json:"outcome"`
	Text    string `json:"text"`
}

func (a *app) showAnswer(id string, answer agents.Answer) error {
	if a.json || answer.Text != "" {
		if err := a.print(answerJSON{id, answer.Turn, answer.Outcome, answer.Text}, answer.Text); err != nil {
			return err
		}
	}
	return fail(exitTurn, answer.Err())
}

func (a *app) workerCmd() *cobra.Command {
	var drain time.Duration
	var parallel int
	var version sdkworker.WorkerDeploymentVersion
	cmd := &cobra.Command{
		Use:     "worker",
		Short:   "Run a worker until SIGTERM or Ctrl-C, then drain",
		Example: "  starter worker --address temporal.internal:7233 --store /srv/everturn/sessions",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("max-parallel-tools") {
				a.parallel = &parallel
			}
			if (version.DeploymentName == "") != (version.BuildID == "") {
				return fail(exitUsage, errors.New("--deployment and --build-id go together"))
			}
			a.version = version
			s, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := a.startWorker(cmd.Context(), s, drain); err != nil {
				return err
			}
			s.polled(cmd.Context())
			if err := a.print(map[string]string{"taskQueue": a.queue, "store": s.store.ID()}, "worker polls "+a.queue); err != nil {
				return err
			}
			ctx, stop := untilInterrupt(cmd.Context())
			defer stop()
			<-ctx.Done()
			return nil
		},
	}
	a.webhooks.flags(cmd.Flags())
	cmd.Flags().DurationVar(&drain, "drain", 10*time.Minute, "how long running work may take to finish after SIGTERM")
	cmd.Flags().StringVar(&version.DeploymentName, "deployment", "", "name of the Temporal worker deployment that this worker is of; agents are pinned to its version")
	cmd.Flags().StringVar(&version.BuildID, "build-id", "", "the worker's version within the deployment")
	cmd.Flags().IntVar(&parallel, "max-parallel-tools", plugin.DefaultMaxParallelTools, "tool calls of one step in flight")
	return cmd
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
