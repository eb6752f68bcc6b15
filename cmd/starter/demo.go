package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/golden"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func goldenDefinition() (*plugin.Definition, error) { return golden.Kind() }

func (a *app) demoCmd() *cobra.Command {
	var local bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the reference scenario and print its events",
		Long: "Runs two turns with one tool call on an embedded Temporal server of its own, or with --local on the local engine, and\n" +
			"compares the log with the reference, event for event. A deviation is printed and exits 1.",
		Example: "  starter demo --local\n  starter demo --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			records, err := a.demo(cmd.Context(), local)
			if err != nil {
				return err
			}
			if err := a.showDemo(records); err != nil {
				return err
			}
			return golden.Check(records)
		},
	}
	cmd.Flags().BoolVar(&local, "local", false, "use the local engine: no server, instantly")
	return cmd
}

func (a *app) demo(ctx context.Context, local bool) ([]session.Record, error) {
	id := golden.SessionID
	var client *agents.Client
	var err error
	if local {
		client, err = a.localClient(ctx)
	} else {
		client, err = a.demoServer(ctx)
		id += "-" + uuid.NewString()[:8] // the server may be a shared one
	}
	if err != nil {
		return nil, err
	}
	return play(ctx, client, id)
}

// demoServer is an embedded server of its own with a worker, unless a server is named.
func (a *app) demoServer(ctx context.Context) (*agents.Client, error) {
	var s *site
	var err error
	if _, named, _ := a.clientOptions(); named {
		s, err = a.reach(ctx)
	} else {
		s, err = a.ownServer(ctx, serverOptions{ephemeral: true})
	}
	if err != nil {
		return nil, err
	}
	if s.store, err = store.Open(ctx, "mem://", store.Options{}); err != nil {
		return nil, err
	}
	s.broker = &stream.Memory{}
	a.quiet = true
	a.queue = "demo-" + uuid.NewString()[:8] // no other worker shares this store
	if err := a.startWorker(ctx, s, devDrain); err != nil {
		return nil, err
	}
	return s.agents, nil
}

// play is the scenario from the caller's side.
func play(ctx context.Context, c *agents.Client, id string) ([]session.Record, error) {
	agent, err := c.Create(ctx, agents.CreateOptions{ID: id, Definition: golden.Definition})
	if err != nil {
		return nil, err
	}
	for _, prompt := range golden.Prompts {
		message, err := agent.Followup(ctx, agents.Text(prompt))
		if err != nil {
			return nil, err
		}
		if _, err := agent.Await(ctx, message); err != nil {
			return nil, err
		}
		if err := agent.WhenIdle(ctx); err != nil {
			return nil, err
		}
	}
	var records []session.Record
	for r, err := range agent.Log(ctx, 0) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, errors.Join(agent.Dispose(ctx))
}

func (a *app) showDemo(records []session.Record) error {
	if a.json {
		w := session.NewWriter(a.out)
		for _, r := range records {
			if err := w.Write(r); err != nil {
				return err
			}
		}
		return nil
	}
	for _, r := range records {
		raw, err := json.Marshal(r.Event)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%3d  %-20s %-8s %s\n", r.Seq, r.Event.Type(), session.Trace([]session.Record{r}, func(string) string { return "·" }), cut(string(raw), 90))
	}
	return nil
}
