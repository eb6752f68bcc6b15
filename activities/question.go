package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// askPeople hands the call to people, whose answers come as an act. See architecture A3.7.
func (c *call) askPeople(q tools.Questions) (work.ToolOut, error) {
	if err := q.Check(); err != nil {
		return coded(tools.Coded("InvalidToolOutputError", tools.InvalidOutput, fmt.Sprintf("tool %q asks what cannot be answered: %v", c.in.Call.Name, err))), nil
	}
	raw, err := json.Marshal(q.Questions)
	if err != nil {
		return work.ToolOut{}, fmt.Errorf("questions: %w", err)
	}
	return work.ToolOut{Defer: &work.Deferral{Kind: work.WaitQuestion, Questions: raw}, DeadlineMS: wholeMS(q.Deadline)}, nil
}

// checkAnswers takes the answers if each question has one that it allows.
func (c *call) checkAnswers(ctx context.Context) (work.ToolOut, error) {
	var questions []signals.Question
	var answers []signals.AnswerTo
	if err := json.Unmarshal(c.in.Said.Questions, &questions); err != nil {
		return work.ToolOut{}, fmt.Errorf("questions: %w", err)
	}
	if err := json.Unmarshal(c.in.Said.Answers, &answers); err != nil {
		return refusal(fmt.Errorf("the answers cannot be read: %w", err)), nil
	}
	shown, err := answersTo(questions, answers)
	if err != nil {
		return refusal(err), nil
	}
	result, failure := c.answered(ctx, shown)
	out, err := c.shape(ctx, result, failure)
	if err != nil {
		return out, err
	}
	return c.endWith(ctx, out)
}

// endWith ends the call with what was said: it goes through the stages that come after a body.
func (c *call) endWith(ctx context.Context, out work.ToolOut) (work.ToolOut, error) {
	out, err := c.keepNote(ctx, out)
	if err != nil {
		return out, err
	}
	out, err = c.afterBody(ctx, out)
	out.Verdict, out.Reason = work.Allow, ""
	return out, err
}

// answered lets the tool make something of the answers, if it wants to.
func (c *call) answered(ctx context.Context, shown shownAnswers) (r tools.Result, err error) {
	if c.tool == nil || c.tool.Answered == nil {
		return tools.ResultOf(c.in.Call.Name, shown)
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("what tool %q makes of answers panicked: %v", c.tool.Name, v)
		}
	}()
	return c.tool.Answered(c.equip(ctx), shown.Answers)
}

// shownAnswers is what the model reads, in the order of the questions.
type shownAnswers struct {
	Answers []tools.Answer `json:"answers"`
}

// answersTo matches answers with questions; each question needs exactly one.
func answersTo(questions []signals.Question, answers []signals.AnswerTo) (shownAnswers, error) {
	given := map[string]signals.AnswerTo{}
	for _, a := range answers {
		if a.ID == "" && len(questions) == 1 {
			a.ID = questions[0].ID
		}
		if !slices.ContainsFunc(questions, func(q signals.Question) bool { return q.ID == a.ID }) {
			return shownAnswers{}, fmt.Errorf("there is no question %.80q: the questions are %s", a.ID, idsOf(questions))
		}
		if _, twice := given[a.ID]; twice {
			return shownAnswers{}, fmt.Errorf("question %q is answered twice", a.ID)
		}
		given[a.ID] = a
	}
	out := shownAnswers{Answers: []tools.Answer{}}
	for _, q := range questions {
		a, ok := given[q.ID]
		if !ok {
			return out, fmt.Errorf("question %q is not answered: answer all of them, or skip it", q.ID)
		}
		one, err := answerTo(q, a)
		if err != nil {
			return out, fmt.Errorf("question %q: %w", q.ID, err)
		}
		out.Answers = append(out.Answers, one)
	}
	return out, nil
}

func answerTo(q signals.Question, a signals.AnswerTo) (tools.Answer, error) {
	out := tools.Answer{ID: q.ID, Question: q.Text, Selected: inOrder(q.Options, a.Selected), Text: valid(a.Text), Skipped: a.Skip}
	said := len(a.Selected) > 0 || a.Text != ""
	switch {
	case a.Skip && q.Must:
		return out, errors.New("it must not be skipped")
	case a.Skip && said:
		return out, errors.New("it is answered and skipped: do one of them")
	case a.Skip:
		return out, nil
	case !said || strings.TrimSpace(a.Text) == "" && len(a.Selected) == 0:
		return out, errors.New("the answer is empty: select an option, give a text, or skip it")
	case a.Text != "" && len(q.Options) > 0 && !q.Free:
		return out, fmt.Errorf("it takes no text: select one of %s", labelsOf(q.Options))
	case len(a.Selected) > 1 && !q.Multi:
		return out, errors.New("one option may be selected, not several")
	}
	return out, checkSelected(q.Options, a.Selected)
}

func checkSelected(options []signals.Option, selected []string) error {
	for i, label := range selected {
		switch {
		case len(options) == 0:
			return errors.New("it has no options: give a text")
		case !slices.ContainsFunc(options, func(o signals.Option) bool { return o.Label == label }):
			return fmt.Errorf("there is no option %.80q: select from %s", label, labelsOf(options))
		case slices.Contains(selected[:i], label):
			return fmt.Errorf("option %q is selected twice", label)
		}
	}
	return nil
}

// inOrder are the selected labels in the order of the options, so that equal answers read equal.
func inOrder(options []signals.Option, selected []string) (out []string) {
	for _, o := range options {
		if slices.Contains(selected, o.Label) {
			out = append(out, o.Label)
		}
	}
	return out
}

func idsOf(questions []signals.Question) string {
	var ids []string
	for _, q := range questions {
		ids = append(ids, q.ID)
	}
	return strings.Join(ids, ", ")
}

func labelsOf(options []signals.Option) string {
	var labels []string
	for _, o := range options {
		labels = append(labels, fmt.Sprintf("%q", o.Label))
	}
	return strings.Join(labels, ", ")
}
