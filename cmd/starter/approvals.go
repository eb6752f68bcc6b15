package main

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/signals"
	"github.com/spf13/cobra"
)

func (a *app) approvalsCmd() *cobra.Command {
	var o agents.WaitingOptions
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List what waits for somebody over all agents, oldest first",
		Long: "Lists the calls that wait for an approval, an answer or a result. It reads an index in the store and needs neither Temporal\n" +
			"nor a worker. What a terminated agent waited for stays listed until it is resumed, erased or collected.",
		Example: "  starter approvals\n  starter approvals --definition assistant --kind approval --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkWaiting(o); err != nil {
				return err
			}
			return a.approvals(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Definition, "definition", "", "only of agents of this definition")
	f.StringVar(&o.Kind, "kind", "", "only approval, question or client")
	f.IntVar(&o.Limit, "limit", agents.DefaultWaiting, "at most so many, the oldest")
	return cmd
}

func checkWaiting(o agents.WaitingOptions) error {
	kinds := []string{"", signals.WaitApproval, signals.WaitQuestion, signals.WaitClient}
	switch {
	case !slices.Contains(kinds, o.Kind):
		return fail(exitUsage, fmt.Errorf("--kind %q: use approval, question or client", o.Kind))
	case o.Limit < 1:
		return fail(exitUsage, fmt.Errorf("--limit %d: use a positive number", o.Limit))
	}
	return nil
}

// approvals needs the store alone.
func (a *app) approvals(ctx context.Context, o agents.WaitingOptions) error {
	location, err := a.storeLocation()
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, location, store.Options{})
	if err != nil {
		return fail(exitStore, err)
	}
	a.defers(func() { _ = s.Close() })
	list, more, err := (&agents.Client{Config: agents.Config{Store: s}}).Waiting(ctx, o)
	if err != nil {
		return fail(exitStore, err)
	}
	if err := a.printWaiting(list); err != nil {
		return err
	}
	if more > 0 {
		a.note("%d more wait: see --limit", more)
	}
	return nil
}

func (a *app) printWaiting(list []agents.Waiting) error {
	if len(list) == 0 && !a.json {
		return a.print(nil, "nothing waits for anybody")
	}
	table := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	if !a.json {
		fmt.Fprintln(table, "AGENT\tID\tKIND\tTOOL\tSINCE\tDUE\tREASON")
	}
	for _, w := range list {
		if a.json {
			if err := a.print(w, ""); err != nil {
				return err
			}
			continue
		}
		due := ""
		if w.Due != nil {
			due = w.Due.Local().Format(time.DateTime)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", w.Agent, w.ID, w.Kind, w.Tool, w.Since.Local().Format(time.DateTime), due, oneLine(w.Reason))
	}
	return table.Flush()
}
