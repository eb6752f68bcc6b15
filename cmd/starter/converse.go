package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everturn/everturn/agents"
)

// converse takes one line of stdin at a time: the next one is read when the agent has answered, or asks something, which the
// line then answers.
func (a *app) converse(ctx context.Context, agent *agents.Agent) error {
	ctx, stop := untilInterrupt(ctx)
	defer stop()
	c := conversation{a: a, agent: agent, prompt: newPrompter(agent, func(text string) { a.note("%s", text) })}
	in := bufio.NewScanner(a.in)
	in.Buffer(nil, maxLine)
	for err := c.settle(ctx); ; err = c.settle(ctx) {
		if err != nil {
			return err
		}
		if !in.Scan() {
			break
		}
		if err := c.line(ctx, strings.TrimSpace(in.Text())); err != nil {
			return err
		}
	}
	if in.Err() != nil {
		return in.Err()
	}
	if d := c.prompt.open; d != nil {
		return fail(exitFailed, fmt.Errorf("agent %s waits for an answer: %s", agent.ID(), howTo(agent.ID(), *d)))
	}
	return c.failed
}

type conversation struct {
	a      *app
	agent  *agents.Agent
	prompt *prompter
	id     string // of the message that is not answered yet
	failed error
}

func (c *conversation) line(ctx context.Context, line string) error {
	took, err := c.prompt.take(ctx, line)
	var refused *agents.RefusedError
	if errors.As(err, &refused) {
		c.a.note("starter: %v", err)
		err = nil
	}
	if took || err != nil || line == "" {
		return err
	}
	c.id, err = c.agent.Followup(ctx, agents.Text(line))
	return err
}

// settle waits until the agent has answered, or asks something.
func (c *conversation) settle(ctx context.Context) error {
	for {
		asks, err := c.prompt.look(ctx)
		if errors.Is(err, agents.ErrNoWorker) {
			asks, err = false, nil
		}
		if asks || err != nil || c.id == "" {
			return err
		}
		answer, ok, err := c.agent.Answered(ctx, c.id)
		if ok && err == nil {
			c.id = ""
			if err := c.a.showAnswer(c.agent.ID(), answer); err != nil {
				c.a.note("starter: %v", err)
				c.failed = err
			}
			return nil
		}
		if err != nil && !errors.Is(err, agents.ErrNoWorker) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tellWaits says on standard error what the agent waits for, since whoever waits for its answer would wait in vain.
func (a *app) tellWaits(ctx context.Context, agent *agents.Agent) {
	seen := map[string]bool{}
	for ctx.Err() == nil {
		s, err := agent.State(ctx)
		for _, d := range s.Deferred {
			if err == nil && !seen[d.ID] {
				seen[d.ID] = true
				a.note("%s%s\n  %s", waitText(d), dueText(d), howTo(agent.ID(), d))
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
