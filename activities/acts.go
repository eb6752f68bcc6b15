package activities

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// A collector is the [plugin.Agent] of one activity: what is asked of it travels with the answer. Message ids are
// derived from the place, so that a hook which runs again asks for the same. See architecture A3.8.
type collector struct {
	session    string
	definition string
	place      string // turn.step, and what tells this activity from others of the step

	mu     sync.Mutex
	point  string         // of the hook that runs
	sent   map[string]int // messages and children by point
	acts   []work.Act
	spawns map[int]tools.Child // by act
	cancel bool                // a cancel was asked for
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
	m = signed(m, c.definition, "act-"+c.next())
	c.acts = append(c.acts, work.Act{Kind: work.ActSend, Message: &m, Target: target, Wakeup: wakeup})
}

func (c *collector) Cancel(cause session.Cause, keepInbox bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = true
	c.acts = append(c.acts, work.Act{Kind: work.ActCancel, Cause: &cause, KeepInbox: keepInbox})
}

func (c *collector) Plan(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acts = append(c.acts, work.Act{Kind: work.ActPlan, On: on})
}

// next names the next thing that the hook asks for.
func (c *collector) next() string {
	if c.sent == nil {
		c.sent = map[string]int{}
	}
	c.sent[c.point]++
	return fmt.Sprintf("%s-%s-%d", c.place, c.point, c.sent[c.point])
}

func (c *collector) Spawn(child tools.Child) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := c.next()
	if child.ID == "" {
		child.ID = childID(c.session, name)
	}
	if c.spawns == nil {
		c.spawns = map[int]tools.Child{}
	}
	c.spawns[len(c.acts)] = child
	c.acts = append(c.acts, work.Act{Kind: work.ActSpawn})
	return child.ID
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
	acts, spawns := slices.Clone(c.acts), maps.Clone(c.spawns)
	c.mu.Unlock()
	for i, act := range acts {
		if act.Kind == work.ActSpawn {
			child, err := a.spawn(ctx, c.session, c.definition, spawns[i], false)
			if err != nil {
				return nil, err
			}
			acts[i].Child = child
			continue
		}
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
