package activities

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// A collector is the [plugin.Agent] of one activity: what is asked of it travels with the answer. Message ids are
// derived from the place, so that a hook which runs again asks for the same. See architecture A3.8.
type collector struct {
	definition string
	place      string // turn.step, and what tells this activity from others of the step

	mu     sync.Mutex
	point  string         // of the hook that runs
	sent   map[string]int // messages by point
	acts   []work.Act
	cancel bool // a cancel was asked for
}

var _ plugin.Agent = (*collector)(nil)

// at names the hook that runs next.
func (c *collector) at(ctx context.Context, point string) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.point = point
	return plugin.WithAgent(ctx, c)
}

func (c *collector) Followup(m session.Message) { c.Send(m, session.NextTurn, true) }
func (c *collector) Steer(m session.Message)    { c.Send(m, session.NextStep, true) }
func (c *collector) Inject(m session.Message)   { c.Send(m, session.NextStep, false) }

func (c *collector) Send(m session.Message, target string, wakeup bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent == nil {
		c.sent = map[string]int{}
	}
	c.sent[c.point]++
	m = signed(m, c.definition, fmt.Sprintf("act-%s-%s-%d", c.place, c.point, c.sent[c.point]))
	c.acts = append(c.acts, work.Act{Kind: work.ActSend, Message: &m, Target: target, Wakeup: wakeup})
}

func (c *collector) Cancel(cause session.Cause, keepInbox bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = true
	c.acts = append(c.acts, work.Act{Kind: work.ActCancel, Cause: &cause, KeepInbox: keepInbox})
}

// count is how much was asked for so far.
func (c *collector) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acts)
}

func (c *collector) cancelled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancel
}

// take returns what was asked for so far, with large bodies set aside.
func (a *Activities) take(ctx context.Context, c *collector) ([]work.Act, error) {
	c.mu.Lock()
	acts := slices.Clone(c.acts)
	c.mu.Unlock()
	for i, act := range acts {
		if act.Message == nil {
			continue
		}
		m := *act.Message
		var err error
		if m.Content, err = a.inline(ctx, m.Content); err != nil {
			return nil, fmt.Errorf("message %s of a hook: %w", m.ID, err)
		}
		acts[i].Message = &m
	}
	return acts, nil
}
