package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/spf13/cobra"
)

// forgottenHint follows a refusal because the server knows none of the store's sessions.
const forgottenHint = "if it is, and the server has forgotten them, say --forgotten"

func collectFlags(cmd *cobra.Command, o *agents.CollectOptions) {
	f := cmd.Flags()
	f.DurationVar(&o.Grace, "grace", store.DefaultGrace, "what is younger stays; at least 1h while agents are live")
	f.BoolVar(&o.Forgotten, "forgotten", false, "it is right that the server knows none of the store's sessions")
}

// collecting checks what the commands have in common and connects.
func (a *app) collecting(ctx context.Context, o agents.CollectOptions) (*site, error) {
	if o.Grace < 0 {
		return nil, fail(exitUsage, fmt.Errorf("--grace %s is negative", o.Grace))
	}
	return a.connect(ctx)
}

func (a *app) gcCmd() *cobra.Command {
	var o agents.CollectOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Find what nothing needs any more in the store, and delete it with --delete",
		Long: "Looks for segments, blobs, journals, heads, epochs and ledger entries that no log reaches and no agent may still need.\n" +
			"Every log, and what Temporal remembers of its agent, is read. Without --delete nothing is changed.",
		Example: "  starter gc\n  starter gc --delete --grace 72h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.collecting(cmd.Context(), o)
			if err != nil {
				return err
			}
			g, err := s.agents.Collect(cmd.Context(), o)
			if err != nil {
				return collectError(err)
			}
			text := fmt.Sprintf("%s%d sessions: %d live, %d known to Temporal", countsText("would delete", "deleted", g.Deleted, g.Garbage), g.Sessions, g.Live, g.Known)
			return a.print(g, text)
		},
	}
	collectFlags(cmd, &o)
	cmd.Flags().BoolVar(&o.Delete, "delete", false, "delete it")
	return cmd
}

func (a *app) eraseCmd() *cobra.Command {
	var o agents.CollectOptions
	cmd := &cobra.Command{
		Use:   "erase ID",
		Short: "Find what belongs to one agent alone, and delete it with --yes",
		Long: "Deletes the log, journals, ledger and artefacts of an agent that has ended, and its runs in Temporal. What other sessions\n" +
			"reach stays, such as the events a fork began with. Its id is free afterwards. Without --yes nothing is changed.",
		Example: "  starter erase my-agent\n  starter erase my-agent --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.collecting(cmd.Context(), o)
			if err != nil {
				return err
			}
			e, err := s.agents.Erase(cmd.Context(), args[0], o)
			if errors.Is(err, agents.ErrExists) {
				return fail(exitRefused, fmt.Errorf("agent %s is live (end it with `starter dispose %[1]s` first); nothing was deleted", args[0]))
			}
			if err != nil {
				return collectError(err)
			}
			return a.print(e, erasedText(e))
		},
	}
	collectFlags(cmd, &o)
	cmd.Flags().BoolVar(&o.Delete, "yes", false, "delete it")
	return cmd
}

func collectError(err error) error {
	var refused *agents.RefusedError
	if errors.As(err, &refused) && refused.Code == agents.CodeForgotten {
		return fail(exitRefused, fmt.Errorf("%w (%s)", err, forgottenHint))
	}
	return err
}

func erasedText(e agents.Erased) string {
	text := countsText("would delete", "deleted", e.Deleted, e.Removed)
	if len(e.Needed) > 0 {
		text += countsText("stays, others need it", "stays, others need it", e.Deleted, e.Needed)
	}
	if len(e.NeededBy) > 0 {
		text += "logs that begin with its events: " + strings.Join(e.NeededBy, ", ") + "\n"
	}
	if e.Young.Objects > 0 {
		text += fmt.Sprintf("%d bodies (%d bytes) are younger than the grace period: `starter gc --delete` takes them later\n", e.Young.Objects, e.Young.Bytes)
	}
	if !e.Deleted {
		return text + "nothing was changed (--yes deletes)"
	}
	return text + "erased " + e.ID
}

// countsText is one line per kind, under a line that says what becomes of them.
func countsText(would, did string, deleted bool, counts []store.Count) string {
	head := would
	if deleted {
		head = did
	}
	if len(counts) == 0 {
		return head + ": nothing\n"
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%s\tobjects\tbytes\t\n", head)
	for _, c := range counts {
		fmt.Fprintf(table, "%s\t%d\t%d\t\n", c.Kind, c.Objects, c.Bytes)
	}
	_ = table.Flush()
	return b.String()
}
