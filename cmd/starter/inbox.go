package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/spf13/cobra"
)

func (a *app) inboxCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inbox ID [MESSAGE]",
		Short: "List and edit what is pending, or say what became of a message",
		Long: "List and edit what is pending, or say what became of a message.\n\nEvery change of the inbox makes another revision. An edit with --revision is refused if the inbox has\n" +
			"another one by then, and changes nothing.",
		Example: "  starter inbox my-agent\n  starter inbox my-agent MESSAGE\n  starter inbox promote my-agent MESSAGE --target next-step\n" +
			"  starter inbox reorder my-agent SECOND FIRST --revision 12\n  starter inbox replace my-agent MESSAGE \"new text\"\n  starter inbox clear my-agent",
		Args: cobra.RangeArgs(1, 2),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, args []string) error {
			if len(args) > 0 {
				return a.inboxMessage(ctx, agent, args[0])
			}
			return a.inboxList(ctx, s, agent, args)
		}),
	}
	var target string
	promote := a.editCmd("promote ID MESSAGE", "Move a pending message to the head of its list", cobra.ExactArgs(2),
		func(ctx context.Context, e agents.Edits, args []string) (bool, error) {
			return e.Promote(ctx, args[0], target)
		})
	promote.Flags().StringVar(&target, "target", "", "next-turn or next-step: to the head of that list; in next-step it joins the running turn")
	cmd.AddCommand(
		&cobra.Command{Use: "list ID", Short: "List what is pending", Args: cobra.ExactArgs(1), RunE: a.withAgent(a.inboxList)},
		promote,
		a.editCmd("reorder ID MESSAGE...", "Put all messages of one list into another order", cobra.MinimumNArgs(2),
			func(ctx context.Context, e agents.Edits, args []string) (bool, error) {
				return true, e.Reorder(ctx, args)
			}),
		a.editCmd("remove ID MESSAGE", "Discard a pending message", cobra.ExactArgs(2),
			func(ctx context.Context, e agents.Edits, args []string) (bool, error) { return e.Remove(ctx, args[0]) }),
		a.editCmd("replace ID MESSAGE TEXT", "Replace a pending message in place", cobra.ExactArgs(3),
			func(ctx context.Context, e agents.Edits, args []string) (bool, error) {
				return e.Replace(ctx, args[0], agents.Text(args[1]))
			}),
		a.editCmd("clear ID", "Discard all pending messages", cobra.ExactArgs(1),
			func(ctx context.Context, e agents.Edits, _ []string) (bool, error) { return true, e.Clear(ctx) }),
	)
	return cmd
}

// editCmd makes a command that edits the inbox, whatever its revision or at one.
func (a *app) editCmd(use, short string, args cobra.PositionalArgs, edit func(context.Context, agents.Edits, []string) (bool, error)) *cobra.Command {
	var revision int64
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	cmd.RunE = a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, args []string) error {
		edits := agent.Edits()
		if cmd.Flags().Changed("revision") {
			edits = agent.At(revision)
		}
		return a.edited(ctx, s, func() (bool, error) { return edit(ctx, edits, args) })
	})
	cmd.Flags().Int64Var(&revision, "revision", 0, "refuse the edit unless the inbox has this revision, as `inbox ID` shows it")
	return cmd
}

// edited runs an inbox edit and says whether the message was still pending.
func (a *app) edited(ctx context.Context, s *site, edit func() (bool, error)) error {
	if err := s.needWorker(ctx, a.queue, "nothing was changed"); err != nil {
		return err
	}
	found, err := edit()
	if err != nil {
		return err
	}
	if !found {
		return fail(exitRefused, errors.New("no such message is pending; nothing was changed"))
	}
	return a.print(map[string]bool{"found": true}, "done")
}

// pendingMessage is one line of `inbox --json`.
type pendingMessage struct {
	agents.PendingMessage
	Revision *int64 `json:"revision,omitempty"` // of the inbox
}

// inboxList reads the log and what Temporal keeps for a worker, so it works with no worker too; then the revision is not
// known.
func (a *app) inboxList(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
	inbox, err := agent.Inbox(ctx)
	if err != nil {
		return err
	}
	defer a.noteWithoutWorker(ctx, s)
	var revision *int64
	if inbox.Revision >= 0 {
		revision = &inbox.Revision
		defer a.note("revision %d", inbox.Revision)
	}
	for _, p := range inbox.Pending {
		text := fmt.Sprintf("%s  %s  %s", p.Target, p.Message.ID, cut(p.Message.Text(), 80))
		if p.Untaken {
			text += "  (no worker has taken it yet)"
		}
		if err := a.print(pendingMessage{p, revision}, text); err != nil {
			return err
		}
	}
	return nil
}

// inboxMessage says where a message is, or what became of it.
func (a *app) inboxMessage(ctx context.Context, agent *agents.Agent, id string) error {
	m, err := agent.Message(ctx, id)
	if err != nil {
		return err
	}
	return a.print(m, messageText(m))
}

func messageText(m signals.MessageState) string {
	text := m.State
	switch m.State {
	case session.FatePending:
		text += " in " + m.Target
	case session.FateClaimed, session.FateEnded, session.FateDropped:
		text += fmt.Sprintf(" by step %d.%d", m.Turn, m.Step)
		if m.Consumed {
			text += ", a user message of the log"
		}
		if m.Kind != "" {
			text += fmt.Sprintf("; the turn is over: %s", m.Kind)
		}
	case session.FateDiscarded:
		text = strings.TrimSpace(fmt.Sprintf("discarded: %s %s", m.Cause, m.ReplacedBy))
	}
	if m.Reason != "" {
		text += "; not entered: " + m.Reason
	}
	if m.Edited {
		text += "; edited"
	}
	return text
}
