package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
	"github.com/spf13/cobra"
)

// answering is what the command line says to the questions of a call.
type answering struct {
	selected []string
	skip     bool
	by       string
}

func (a *app) answerCmd() *cobra.Command {
	var o answering
	cmd := &cobra.Command{
		Use:   "answer ID [WAIT] [TEXT | QUESTION=TEXT …]",
		Short: "Answer what a call of an agent asks",
		Long: "Answers the questions of a call, all at once. `starter show ID` lists what is asked. One question needs no name; several are answered as\n" +
			"QUESTION=TEXT. A text that is the label of an option selects it. --select selects by label, --skip skips what is not answered.\n" +
			"WAIT, the id that `show` gives, is needed only if several calls ask.",
		Example: "  starter answer my-agent \"tomorrow\"\n  starter answer my-agent target=test when=tomorrow --by alice\n" +
			"  starter answer my-agent --select extras=docs --select extras=blog --skip",
		Args: cobra.MinimumNArgs(1),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, args []string) error {
			if err := s.needWorker(ctx, a.queue, "nothing was answered"); err != nil {
				return err
			}
			d, args, err := waiting(ctx, agent, signals.WaitQuestion, args)
			if err != nil {
				return err
			}
			questions, err := agents.Questions(d)
			if err != nil {
				return err
			}
			answers, err := o.answers(questions, args)
			if err != nil {
				return fail(exitUsage, err)
			}
			if err := agent.Answer(ctx, d.ID, answers, agents.AnswerOptions{By: o.by}); err != nil {
				return err
			}
			return a.print(map[string]bool{"answered": true}, "answered")
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.selected, "select", nil, "label of an option, or QUESTION=LABEL; may be given several times")
	f.BoolVar(&o.skip, "skip", false, "skip the questions that are not answered")
	f.StringVar(&o.by, "by", "", "who answers, for the record")
	return cmd
}

// waiting is the call of a kind that the first argument names, by the id of its wait or of the call, or the only one; and
// the arguments that are left.
func waiting(ctx context.Context, agent *agents.Agent, kind string, args []string) (signals.Deferred, []string, error) {
	s, err := agent.State(ctx)
	if err != nil {
		return signals.Deferred{}, nil, err
	}
	all := slices.DeleteFunc(slices.Clone(s.Deferred), func(d signals.Deferred) bool { return d.Kind != kind })
	for _, d := range all {
		if len(args) > 0 && (args[0] == d.ID || args[0] == d.CallID) {
			return d, args[1:], nil
		}
	}
	switch len(all) {
	case 0:
		return signals.Deferred{}, nil, fmt.Errorf("no call of agent %s waits for that (see `starter show %s`)", agent.ID(), agent.ID())
	case 1:
		return all[0], args, nil
	}
	var ids []string
	for _, d := range all {
		ids = append(ids, d.ID)
	}
	return signals.Deferred{}, nil, fail(exitUsage, fmt.Errorf("several calls wait: name one of %s", strings.Join(ids, ", ")))
}

// answers are one per question; what fits no question is left to the agent's worker to refuse.
func (o answering) answers(questions []signals.Question, args []string) ([]signals.AnswerTo, error) {
	out := make([]signals.AnswerTo, len(questions))
	for i, q := range questions {
		out[i].ID = q.ID
	}
	if err := o.texts(questions, args, out); err != nil {
		return nil, err
	}
	for _, label := range o.selected {
		i, label, err := questionOf(questions, label)
		if err != nil {
			return nil, fmt.Errorf("--select %q: %w", label, err)
		}
		out[i].Selected = append(out[i].Selected, label)
	}
	for i := range out {
		if out[i].Text == "" && len(out[i].Selected) == 0 {
			if !o.skip {
				return nil, fmt.Errorf("question %q is not answered: %s (or use --skip)", questions[i].ID, oneLine(questions[i].Text))
			}
			out[i].Skip = true
		}
	}
	return out, nil
}

// texts takes the arguments: QUESTION=TEXT each, or all of them as the text for the only question.
func (o answering) texts(questions []signals.Question, args []string, out []signals.AnswerTo) error {
	if len(questions) == 1 && len(args) > 0 {
		text := strings.TrimPrefix(strings.Join(args, " "), questions[0].ID+"=")
		out[0] = said(questions[0], text)
		return nil
	}
	for _, arg := range args {
		i, text, err := questionOf(questions, arg)
		if err != nil {
			return fmt.Errorf("%q: %w", arg, err)
		}
		out[i] = said(questions[i], text)
	}
	return nil
}

// questionOf splits QUESTION=TEXT.
func questionOf(questions []signals.Question, arg string) (index int, text string, err error) {
	for i, q := range questions {
		if rest, ok := strings.CutPrefix(arg, q.ID+"="); ok {
			return i, rest, nil
		}
	}
	if len(questions) == 1 {
		return 0, arg, nil
	}
	var ids []string
	for _, q := range questions {
		ids = append(ids, q.ID)
	}
	return 0, arg, fmt.Errorf("use QUESTION=TEXT; the questions are %s", strings.Join(ids, ", "))
}

// said is a text as an answer: the label of an option selects it.
func said(q signals.Question, text string) signals.AnswerTo {
	for _, o := range q.Options {
		if strings.EqualFold(strings.TrimSpace(text), o.Label) {
			return signals.AnswerTo{ID: q.ID, Selected: []string{o.Label}}
		}
	}
	return signals.AnswerTo{ID: q.ID, Text: text}
}

func (a *app) resultCmd() *cobra.Command {
	var r signals.CallResult
	var value string
	cmd := &cobra.Command{
		Use:     "result ID CALL [TEXT]",
		Short:   "Give the result of a call that a program of yours runs",
		Long:    "Gives the result of a call of a client tool. `starter show ID` lists what waits. TEXT - is standard input.",
		Example: "  starter result my-agent 2.1.call-1.result \"opened\"\n  starter result my-agent call-1 --json-value '{\"status\":200}'\n  starter result my-agent call-1 --error \"no such page\"",
		Args:    cobra.RangeArgs(2, 3),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, args []string) error {
			if err := a.resultOf(&r, value, args[1:]); err != nil {
				return err
			}
			if err := s.needWorker(ctx, a.queue, "no result was given"); err != nil {
				return err
			}
			if r.ID = args[0]; !strings.HasSuffix(r.ID, ".result") {
				d, rest, err := waiting(ctx, agent, signals.WaitClient, args[:1])
				if err == nil && len(rest) > 0 {
					err = fmt.Errorf("no call %s of agent %s waits for a result (see `starter show %s`)", r.ID, agent.ID(), agent.ID())
				}
				if err != nil {
					return err
				}
				r.ID = d.ID
			}
			if err := agent.GiveResult(ctx, r); err != nil {
				return err
			}
			return a.print(map[string]bool{"given": true}, "given")
		}),
	}
	f := cmd.Flags()
	f.StringVar(&value, "json-value", "", "a JSON value in the place of a text")
	f.BoolVar(&r.IsError, "error", false, "the call failed; the model reads the text")
	f.StringVar(&r.By, "by", "", "who gives it, for the record")
	return cmd
}

// resultOf takes the text or the value.
func (a *app) resultOf(r *signals.CallResult, value string, args []string) error {
	switch {
	case value != "" && len(args) > 0:
		return fail(exitUsage, errors.New("give a text or --json-value, not both"))
	case value != "" && !json.Valid([]byte(value)):
		return fail(exitUsage, errors.New("--json-value is not JSON"))
	case value != "":
		r.Value = json.RawMessage(value)
	case len(args) > 0 && args[0] == "-":
		raw, err := io.ReadAll(io.LimitReader(a.in, signals.MaxBody+1))
		if err != nil {
			return err
		}
		r.Text = string(raw)
	case len(args) > 0:
		r.Text = args[0]
	}
	return nil
}
