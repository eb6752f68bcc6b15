package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
)

// A prompter takes what is typed while an agent waits for people: then it is an answer, and no message.
type prompter struct {
	agent *agents.Agent
	print func(text string)
	by    string

	open    *signals.Deferred // what was shown last
	answers []signals.AnswerTo
}

func newPrompter(agent *agents.Agent, print func(string)) *prompter {
	p := &prompter{agent: agent, print: print}
	if u, err := user.Current(); err == nil {
		p.by = u.Username
	}
	return p
}

// look shows what the agent waits for, if it is something else than what was shown, and reports whether it waits.
func (p *prompter) look(ctx context.Context) (bool, error) {
	s, err := p.agent.State(ctx)
	if err != nil {
		return false, err
	}
	for _, d := range s.Deferred {
		if d.Kind == signals.WaitClient || d.Checking {
			continue
		}
		if p.open == nil || p.open.ID != d.ID {
			p.open, p.answers = &d, nil
			p.show()
		}
		return true, nil
	}
	p.open = nil
	return false, nil
}

// show shows the call that is to be decided about, or the question that is to be answered.
func (p *prompter) show() {
	if p.open.Kind != signals.WaitQuestion {
		p.print(waitText(*p.open) + dueText(*p.open) + "\n  y, n, or n and why:")
		return
	}
	q, _, err := p.question()
	if err != nil {
		p.print(err.Error())
		return
	}
	p.print(questionText(q) + dueText(*p.open) + "\n  " + howToAnswer(q))
}

// question is the next one that has no answer yet.
func (p *prompter) question() (q signals.Question, last bool, err error) {
	all, err := agents.Questions(*p.open)
	if err == nil && len(p.answers) >= len(all) {
		err = fmt.Errorf("%s asks nothing", p.open.ID)
	}
	if err != nil {
		return q, false, err
	}
	return all[len(p.answers)], len(p.answers) == len(all)-1, nil
}

func howToAnswer(q signals.Question) string {
	how := "your answer"
	switch {
	case len(q.Options) > 0 && q.Multi:
		how = "numbers"
	case len(q.Options) > 0:
		how = "a number"
	}
	if len(q.Options) > 0 && q.Free {
		how += " or a text"
	}
	if !q.Must {
		how += ", - to skip"
	}
	return how + ":"
}

// take takes a line as an answer; false: nothing was asked, so that it is a message.
func (p *prompter) take(ctx context.Context, line string) (bool, error) {
	if p.open == nil || line == "" {
		return false, nil
	}
	asked := p.open.ID
	if waits, err := p.look(ctx); err != nil {
		return true, err
	} else if !waits || p.open.ID != asked {
		p.print("(that has been answered, or is over: the line was not sent)")
		return true, nil
	}
	if p.open.Kind == signals.WaitQuestion {
		return true, p.answer(ctx, line)
	}
	return true, p.decide(ctx, line)
}

func (p *prompter) decide(ctx context.Context, line string) error {
	word, why, _ := strings.Cut(line, " ")
	o := agents.DecisionOptions{By: p.by, Reason: strings.TrimSpace(why)}
	switch strings.ToLower(word) {
	case "y", "yes":
		return p.told(p.agent.Approve(ctx, p.open.ID, o))
	case "n", "no":
		return p.told(p.agent.Deny(ctx, p.open.ID, o))
	}
	p.print("y, n, or n and why:")
	return nil
}

// answer takes the answer to one question; the last one sends them all.
func (p *prompter) answer(ctx context.Context, line string) error {
	q, last, err := p.question()
	if err != nil {
		return err
	}
	a, err := replyTo(q, line)
	if err != nil {
		p.print(fmt.Sprintf("%v; %s", err, howToAnswer(q)))
		return nil
	}
	if p.answers = append(p.answers, a); !last {
		p.show()
		return nil
	}
	return p.told(p.agent.Answer(ctx, p.open.ID, p.answers, agents.AnswerOptions{By: p.by}))
}

// told forgets what was shown: it is over, or it is shown again.
func (p *prompter) told(err error) error {
	p.open, p.answers = nil, nil
	return err
}

// replyTo reads a typed line as the answer to a question: numbers or labels of options, a text, or - to skip.
func replyTo(q signals.Question, line string) (signals.AnswerTo, error) {
	a := signals.AnswerTo{ID: q.ID}
	switch selected, numbers := numbered(q, line); {
	case line == "-" && q.Must:
		return a, errors.New("it cannot be skipped")
	case line == "-":
		a.Skip = true
		return a, nil
	case numbers && len(selected) > 1 && !q.Multi:
		return a, errors.New("one of them, not several")
	case numbers:
		a.Selected = selected
		return a, nil
	}
	if a = said(q, line); len(a.Selected) == 0 && len(q.Options) > 0 && !q.Free {
		return a, fmt.Errorf("there is no option %q", cut(line, 40))
	}
	return a, nil
}

// numbered are the options whose numbers a line has, if it has nothing else.
func numbered(q signals.Question, line string) (labels []string, ok bool) {
	for _, f := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 || n > len(q.Options) {
			return nil, false
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	return labels, len(labels) > 0
}
