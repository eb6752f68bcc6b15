package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/spf13/cobra"
)

func (a *app) logCmd() *cobra.Command {
	var from int64
	var follow bool
	cmd := &cobra.Command{
		Use:     "log ID",
		Short:   "Print an agent's log; works with no worker",
		Example: "  starter log my-agent\n  starter log my-agent --json > my-agent.jsonl\n  starter log my-agent --follow --from 100",
		Args:    cobra.ExactArgs(1),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
			ctx, stop := untilInterrupt(ctx)
			defer stop()
			records := agent.Log(ctx, from)
			if follow {
				records = agent.Follow(ctx, from)
			}
			if err := a.printRecords(ctx, records); err != nil {
				return err
			}
			a.noteWithoutWorker(ctx, s)
			return nil
		}),
	}
	cmd.Flags().Int64Var(&from, "from", 0, "first event")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait for more")
	cmd.AddCommand(a.verifyCmd())
	return cmd
}

// noteWithoutWorker says what a reader does not see while nobody works: what was sent since is safe, but in no log yet.
func (a *app) noteWithoutWorker(ctx context.Context, s *site) {
	if polls, err := s.agents.Backend.Workers(ctx); err == nil && !polls {
		a.note("no worker polls task queue %q: what was sent since the last one is kept by Temporal and joins the log when one runs", a.queue)
	}
}

func (a *app) printRecords(ctx context.Context, records iter.Seq2[session.Record, error]) error {
	w := session.NewWriter(a.out)
	for r, err := range records {
		if err != nil {
			if ctx.Err() != nil {
				return nil // interrupted while following
			}
			return err
		}
		if a.json {
			if err := w.Write(r); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintln(a.out, recordText(r)); err != nil {
			return err
		}
	}
	return nil
}

// recordText is one event as a line for people.
func recordText(r session.Record) string {
	raw, err := json.Marshal(r.Event)
	if err != nil {
		raw = []byte(err.Error())
	}
	return fmt.Sprintf("%5d  %-22s %s", r.Seq, r.Event.Type(), cut(string(raw), 140))
}

func (a *app) tailCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "tail ID",
		Short:   "Print an agent's answers while they are made",
		Example: "  starter tail my-agent",
		Args:    cobra.ExactArgs(1),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
			if err := s.needWorker(ctx, a.queue, "nothing will be made"); err != nil {
				return err
			}
			ctx, stop := untilInterrupt(ctx)
			defer stop()
			ctx, release := s.guarded(ctx, a.queue, "nothing is made")
			defer release()
			if a.json {
				return because(ctx, a.tailJSON(ctx, agent))
			}
			a.tailText(ctx, agent)
			if err := because(ctx, ctx.Err()); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil // interrupted
		}),
	}
}

// tailText shows live text and the log until ctx or the agent ends.
func (a *app) tailText(ctx context.Context, agent *agents.Agent) {
	ctx, stop := context.WithCancel(ctx)
	v := newView(a.out)
	done := make(chan struct{})
	go func() { defer close(done); v.tail(ctx, agent) }()
	v.follow(ctx, agent)
	stop()
	<-done
}

// deltaJSON is one line of `tail --json`.
type deltaJSON struct {
	Turn      int             `json:"turn"`
	Step      int             `json:"step"`
	Attempt   int             `json:"attempt"`
	Execution int             `json:"execution"`
	Reset     bool            `json:"reset,omitempty"`
	End       bool            `json:"end,omitempty"`
	Chunk     json.RawMessage `json:"chunk,omitempty"`
}

func (a *app) tailJSON(ctx context.Context, agent *agents.Agent) error {
	for d, err := range agent.Tail(ctx) {
		if err != nil {
			return err
		}
		line := deltaJSON{Turn: d.Turn, Step: d.Step, Attempt: d.Attempt, Execution: d.Execution, Reset: d.Reset, End: d.End}
		if d.Chunk != nil {
			if line.Chunk, err = session.MarshalChunk(d.Chunk); err != nil {
				return err
			}
		}
		if err := a.print(line, ""); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) requestCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "request ID TURN.STEP",
		Short:   "Print what the model was sent for a step, rebuilt from the log",
		Example: "  starter request my-agent 1.2",
		Args:    cobra.ExactArgs(2),
		RunE: a.withAgent(func(ctx context.Context, _ *site, agent *agents.Agent, args []string) error {
			turn, step, err := coordinates(args[0])
			if err != nil {
				return fail(exitUsage, err)
			}
			header, err := agent.Header(ctx)
			if err != nil {
				return err
			}
			requests, err := activities.Requests(header, agent.Log(ctx, 0), turn, step)
			if err != nil {
				return err
			}
			if len(requests) == 0 {
				return fail(exitFailed, fmt.Errorf("turn %d step %d sent no request", turn, step))
			}
			enc := json.NewEncoder(a.out)
			if !a.json {
				enc.SetIndent("", "  ")
			}
			for _, r := range requests {
				if err := enc.Encode(r); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

func coordinates(s string) (turn, step int, err error) {
	t, st, ok := strings.Cut(s, ".")
	turn, errT := strconv.Atoi(t)
	step, errS := strconv.Atoi(st)
	if !ok || errT != nil || errS != nil || turn < 1 || step < 1 {
		return 0, 0, fmt.Errorf("%q is not TURN.STEP, such as 1.2", s)
	}
	return turn, step, nil
}
