package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/spf13/cobra"
)

func (a *app) createCmd() *cobra.Command {
	o := agents.CreateOptions{Definition: assistant}
	var tokens int
	var r recorded
	cmd := &cobra.Command{
		Use:   "create [ID]",
		Short: "Create an agent",
		Example: "  starter create reviewer --title \"Code review\" --provider anthropic --model claude-sonnet-4-5\n" +
			"  starter create reader --deny-tool write_file --param repo=everturn --section \"house@50=Be brief.\" --meta team=blue",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = first(args)
			if cmd.Flags().Changed("max-tokens") {
				if err := o.LimitTokens(tokens); err != nil {
					return fail(exitUsage, err)
				}
			}
			if err := r.create(&o); err != nil {
				return err
			}
			if o.CancelWithParent && o.Parent == "" {
				return fail(exitUsage, errors.New("--cancel-with-parent needs --parent"))
			}
			s, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := s.needWorker(cmd.Context(), a.queue, "the agent was not created"); err != nil {
				return err
			}
			agent, err := s.newAgent(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.print(map[string]string{"id": agent.ID(), "link": s.link(agent.ID())}, agent.ID())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Definition, "definition", assistant, "kind of agent")
	f.StringVar(&o.Title, "title", "", "what people see in listings")
	f.StringVar(&o.Provider, "provider", "", "overrides the definition's")
	f.StringVar(&o.Model, "model", "", "overrides the definition's")
	f.StringVar(&o.ReasoningEffort, "effort", "", "reasoning effort, as the provider names it")
	f.StringVar(&o.Parent, "parent", "", "id of the live agent that starts this one and owns it")
	f.BoolVar(&o.CancelWithParent, "cancel-with-parent", false, "a cancel of the parent's work cancels this agent's")
	f.IntVar(&tokens, "max-tokens", 0, "output limit per request; without it the definition's or the route's")
	r.flags(f)
	return cmd
}

func (a *app) listCmd() *cobra.Command {
	var roots bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List agents, newest first",
		Example: "  starter list\n  starter list --roots --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			if !a.json {
				fmt.Fprintln(table, "ID\tSTATUS\tTURNS\tDEFINITION\tMODEL\tSTARTED\tPARENT")
			}
			all := s.agents.List
			if roots {
				all = s.agents.Roots
			}
			for l, err := range all(cmd.Context()) {
				if err != nil {
					return err
				}
				if a.json {
					if err := a.print(l, ""); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", l.ID, statusText(l), l.Turn, l.Definition, l.Model,
					l.Started.Local().Format(time.DateTime), l.Parent)
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&roots, "roots", false, "without agents that another one started")
	return cmd
}

// statusText says in one word what an agent does, and in another what it waits for.
func statusText(l agents.Listed) string {
	if l.Waiting != "" {
		return l.Status + ", " + l.Waiting
	}
	return l.Status
}

// withAgent runs f with the agent that the first argument names.
func (a *app) withAgent(f func(ctx context.Context, s *site, agent *agents.Agent, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.connect(cmd.Context())
		if err != nil {
			return err
		}
		agent, err := s.agents.Get(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return f(cmd.Context(), s, agent, args[1:])
	}
}

func (a *app) showCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show what an agent does and waits for",
		Example: "  starter show my-agent --json",
		Args:    cobra.ExactArgs(1),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
			state, err := a.look(ctx, s, agent)
			if err != nil {
				return err
			}
			problems, err := s.agents.Backend.Problems(ctx, agent.ID())
			if err != nil && !errors.Is(err, agents.ErrUnknownAgent) {
				return err
			}
			text := stateText(state)
			for _, problem := range problems {
				text += "\nproblem:  " + problem.String()
			}
			if link := s.link(agent.ID()); link != "" {
				text += "\nlink:     " + link
			}
			return a.print(shown{state, problems}, text+waitsText(state))
		}),
	}
}

// shown is the answer of `show --json`.
type shown struct {
	signals.State
	Problems []agents.Problem `json:"problems,omitempty"`
}

// look asks the agent, or the store and Temporal if nobody answers for it.
func (a *app) look(ctx context.Context, s *site, agent *agents.Agent) (signals.State, error) {
	if polls, err := s.agents.Backend.Workers(ctx); err != nil || polls {
		state, err := agent.State(ctx)
		if err == nil {
			return closed(ctx, s, state), nil
		}
		if !errors.Is(err, agents.ErrNoWorker) && !errors.Is(err, agents.ErrUnknownAgent) {
			return state, err
		}
	}
	a.note("nobody answers for agent %s: this is what the store and Temporal know of it", agent.ID())
	return agent.Stored(ctx)
}

// closed says how an agent's run ended if the agent itself does not: it was terminated, and the state is its last one.
func closed(ctx context.Context, s *site, state signals.State) signals.State {
	if run, err := s.agents.Backend.Describe(ctx, state.ID); err == nil && !run.Open && state.Status != "closed" {
		state.Status = run.Status
	}
	return state
}

func stateText(s signals.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "agent:    %s (%s)\nstatus:   %s, turn %d step %d\nmodel:    %s\ninbox:    %d pending\nlog:      %d events",
		s.ID, s.Definition, s.Status, s.Turn, s.Step, s.Model, len(s.Inbox), s.Log.Count+int64(s.Log.Tail))
	if s.Queue != "" {
		fmt.Fprintf(&b, "\nqueue:    %s", s.Queue)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Metadata)) {
		fmt.Fprintf(&b, "\nmetadata: %s=%s", key, s.Metadata[key])
	}
	if s.Changing {
		b.WriteString("\nchange:   other recorded data goes for the next turn")
	}
	if s.Parent != "" {
		fmt.Fprintf(&b, "\nparent:   %s", s.Parent)
	}
	if len(s.Children) > 0 {
		fmt.Fprintf(&b, "\nchildren: %s", strings.Join(s.Children, ", "))
	}
	if s.WaitingFor != "" {
		fmt.Fprintf(&b, "\nwaits:    for %s", s.WaitingFor)
	}
	for _, d := range s.Deferred {
		b.WriteString(askedText(d))
	}
	if s.LastError != nil {
		fmt.Fprintf(&b, "\nerror:    %s: %s", s.LastError.Code, s.LastError.Message)
	}
	return b.String()
}

// sendCmd makes the commands that send a message.
func (a *app) sendCmd(act, short, example string) *cobra.Command {
	var m agents.Message
	var turn int
	cmd := &cobra.Command{
		Use:     act + " ID TEXT",
		Short:   short,
		Long:    short + ". Prints the receipt; if no worker runs, the message is accepted all the same (exit code 4).",
		Example: "  " + example,
		Args:    cobra.ExactArgs(2),
	}
	cmd.RunE = a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, args []string) error {
		m.Text = args[0]
		if cmd.Flags().Changed("expected-turn") {
			m.ExpectedTurn = &turn
		}
		return a.send(ctx, s, agent, act, m)
	})
	f := cmd.Flags()
	f.StringVar(&m.ID, "id", "", "id of the message; made up if empty")
	f.StringVar(&m.RequestID, "request-id", "", "the same request is applied once; made up if empty")
	f.BoolVar(&m.OnlyIfIdle, "only-if-idle", false, "refuse the message if the agent is not idle")
	f.IntVar(&turn, "expected-turn", 0, "refuse the message unless this turn is open, or was the last of an idle agent")
	if act == signals.Followup {
		f.StringVar(&m.Overlap, "overlap", "", "if the agent is busy: queue, steer, interrupt or reject (default queue)")
	}
	return cmd
}

// send delivers a message with a receipt if a worker runs, and as a signal, which waits for one, otherwise.
func (a *app) send(ctx context.Context, s *site, agent *agents.Agent, act string, m agents.Message) error {
	m = m.Named() // an update that nobody answered may still arrive: it is the same request
	polls, err := s.agents.Backend.Workers(ctx)
	if err != nil {
		return err
	}
	if polls {
		r, err := agent.Receipt(ctx, act, m, "", false)
		if err == nil {
			return a.print(r, fmt.Sprintf("%s %s", r.Disposition, r.ID))
		}
		if !errors.Is(err, agents.ErrNoWorker) {
			return err
		}
	}
	id, err := a.signal(ctx, agent, act, m)
	if err != nil {
		return err
	}
	if err := a.print(map[string]string{"id": id, "disposition": "accepted"}, "accepted "+id); err != nil {
		return err
	}
	return noWorker(a.queue, "the message was accepted and waits")
}

func (a *app) signal(ctx context.Context, agent *agents.Agent, act string, m agents.Message) (string, error) {
	switch act {
	case signals.Steer:
		return agent.Steer(ctx, m)
	case signals.Inject:
		return agent.Inject(ctx, m)
	default:
		return agent.Followup(ctx, m)
	}
}

func (a *app) cancelCmd() *cobra.Command {
	var o agents.CancelOptions
	var cause, reason string
	cmd := &cobra.Command{
		Use:     "cancel ID",
		Short:   "Stop the current turn; an idle agent is left alone",
		Example: "  starter cancel my-agent\n  starter cancel my-agent --keep-inbox --text \"wrong branch\"",
		Args:    cobra.ExactArgs(1),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
			if cause != "" {
				o.Cause = session.Cause{Kind: session.CauseKind(cause), Reason: reason}
			}
			if err := agent.Cancel(ctx, o); err != nil {
				return err
			}
			if err := a.print(map[string]string{"disposition": "accepted"}, "accepted"); err != nil {
				return err
			}
			return s.needWorker(ctx, a.queue, "the cancel was accepted and waits")
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&o.KeepInbox, "keep-inbox", false, "keep what is pending")
	f.StringVar(&cause, "cause", "user", "user, parent or hook")
	f.StringVar(&reason, "reason", "", "of cause hook")
	f.StringVar(&o.By, "by", "", "who cancels, for the record")
	f.StringVar(&o.Text, "text", "", "why, for the record")
	return cmd
}

func (a *app) waitCmd() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "wait ID",
		Short:   "Wait until an agent is idle",
		Example: "  starter wait my-agent --timeout 5m",
		Args:    cobra.ExactArgs(1),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
			if err := s.needWorker(ctx, a.queue, "nothing will change"); err != nil {
				return err
			}
			ctx, stop := s.guarded(ctx, a.queue, "nothing will change")
			defer stop()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			if err := agent.WhenIdle(ctx); err != nil {
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					return fail(exitFailed, fmt.Errorf("agent %s is not idle after %s", agent.ID(), timeout))
				}
				return because(ctx, err)
			}
			return a.print(map[string]bool{"idle": true}, "idle")
		}),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long, 0 for never")
	return cmd
}

func (a *app) disposeCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "dispose ID",
		Short:   "End an agent; its log stays",
		Example: "  starter dispose my-agent",
		Args:    cobra.ExactArgs(1),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
			if err := s.needWorker(ctx, a.queue, "the agent was not disposed"); err != nil {
				return err
			}
			ctx, stop := s.guarded(ctx, a.queue, "the disposal was accepted and waits")
			defer stop()
			if err := agent.Dispose(ctx); err != nil {
				return because(ctx, err)
			}
			return a.print(map[string]bool{"disposed": true}, "disposed")
		}),
	}
}
