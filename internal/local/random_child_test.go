package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/signals"
)

// families is how many random schedules of child agents are tried.
const families = 200

// TestRandomFamilies lets chance decide what parents and children do, and what becomes of them and their workers. At rest
// every call has its result, and nobody outlives a parent that was disposed of.
func TestRandomFamilies(t *testing.T) {
	t.Parallel()
	many := families
	if testing.Short() {
		many /= 10
	}
	for seed := range many {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			c := newClan(t, uint64(seed))
			for range 20 + c.IntN(60) {
				c.act()
				c.calmly(func(ctx context.Context) error { return c.Settled(ctx) })
				require.NoError(t, c.Err())
			}
			c.rest()
			c.verify()
			if c.open("a") {
				c.signal(signals.DisposeAgent, signals.Dispose{})
			}
			c.calmly(func(ctx context.Context) error { return c.Settled(ctx) })
			require.False(t, c.open("a"))
			c.verify()
		})
	}
}

// A clan is a family in which chance decides.
type clan struct {
	*family
	*rand.Rand
	hold    *Hold
	kids    int
	stay    []string // ids of children that no call waits for
	history []string // for whoever looks into a failure
}

func newClan(t *testing.T, seed uint64) *clan {
	c := &clan{Rand: rand.New(rand.NewPCG(seed, 2))}
	c.family = newFamily(t, func(cfg *Config, _ *activities.Config, _ *scripted.Model) {
		cfg.Manual, cfg.Batch, cfg.RolloverEvery = c.IntN(2) == 0, c.IntN(3), c.IntN(8)
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what happened:\n%s", strings.Join(c.history, "\n"))
		}
	})
	c.hold = c.PinAt(Point{})
	c.start()
	return c
}

func (c *clan) calmly(f func(context.Context) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	require.NoError(c.t, f(ctx))
}

func (c *clan) note(format string, args ...any) {
	c.history = append(c.history, fmt.Sprintf(format, args...))
}

// line is what an agent is to do; depth bounds how far it may delegate.
func (c *clan) line(depth int) string {
	switch n := c.IntN(8); {
	case n < 2 || depth == 0:
		return []string{`text "fine" chunks=2`, `error AUTH`, `tool e1 echo {"text":"x"}`}[c.IntN(3)]
	case n < 5:
		return c.call(depth)
	case n < 6:
		return c.call(depth) + " " + c.call(depth)
	case n < 7:
		return c.call(depth) + ` tool a1 alone {"text":"x"}`
	default:
		return `tool e1 echo {"text":"x"} ` + c.call(depth)
	}
}

func (c *clan) call(depth int) string {
	c.kids++
	more := [][]string{nil, nil, {`"keep":true`}, {`"seconds":30`}, {`"definition":"nobody"`}}[c.IntN(5)]
	return to(fmt.Sprintf("k%d", c.kids), c.line(depth-1), more...)
}

// some is an agent that is live; empty if there is none but the first.
func (c *clan) some() string {
	all := slices.DeleteFunc(agentsOf(c.family), func(id string) bool { return id == "a" })
	if len(all) == 0 {
		return ""
	}
	return all[c.IntN(len(all))]
}

func (c *clan) act() {
	switch n := c.IntN(100); {
	case n < 66:
		if held := c.Held(); len(held) > 0 {
			n := c.IntN(len(held))
			c.note("step %+v", held[n])
			c.StepHeld(n)
			return
		}
		d := time.Duration(c.IntN(20_000)) * time.Millisecond
		c.note("pass %s", d)
		c.calmly(func(ctx context.Context) error { return c.Advance(ctx, d) })
	case n < 84:
		c.input()
	default:
		c.fault()
	}
}

func (c *clan) input() {
	if !c.open("a") {
		return
	}
	kid := c.some()
	switch n := c.IntN(10); {
	case n < 4:
		line := c.line(2)
		c.note("followup %s", line)
		c.do(line)
	case n < 5:
		c.note("cancel")
		c.signal(signals.CancelTurn, signals.Cancel{KeepInbox: c.IntN(2) == 0})
	case n < 7:
		c.kids++
		s := signals.Spawn{ID: fmt.Sprintf("k%d", c.kids), Follows: c.IntN(2) == 0}
		if c.IntN(2) == 0 {
			s.Create.First = firstly(c.line(1))
		}
		c.note("spawn %+v", s)
		c.stay = append(c.stay, s.ID)
		c.signal(signals.SpawnChild, s)
	case kid == "":
	case n < 8:
		c.note("cancel %s", kid)
		require.NoError(c.t, c.Signal(c.t.Context(), kid, signals.CancelTurn, signals.Cancel{}))
	case n < 9:
		c.note("dispose %s", kid)
		require.NoError(c.t, c.Signal(c.t.Context(), kid, signals.DisposeAgent, signals.Dispose{}))
	default:
		c.note("talk to %s", kid)
		require.NoError(c.t, c.Signal(c.t.Context(), kid, signals.Followup, signals.Send{Text: c.line(1)}))
	}
}

func (c *clan) fault() {
	p := Point{Activity: []string{work.Step, work.Tool, work.Persist, work.Setup, work.Look}[c.IntN(5)]}
	kid := c.some()
	switch n := c.IntN(10); {
	case n == 0:
		c.note("kill")
		_ = c.KillWorker()
	case n == 1:
		c.note("zombie")
		_, _ = c.Zombie()
	case n == 2:
		c.note("lose answer of %s", p.Activity)
		c.LoseAnswer(p)
	case n == 3:
		c.note("time out %s", p.Activity)
		c.TimeOut(p)
	case n == 4:
		c.note("exhaust a tool")
		c.ExhaustRetries(Point{Activity: work.Tool})
	case n == 5:
		c.note("fail persist")
		c.FailPersist(Point{}, 1+c.IntN(5))
	case n == 6:
		c.note("reopen")
		c.reopen()
	case kid == "" || n == 7:
		id := "a"
		if kid != "" && c.IntN(2) == 0 {
			id = kid
		}
		c.note("roll over %s", id)
		_ = c.AskRollover(id)
	case n == 8:
		c.note("terminate %s", kid)
		require.NoError(c.t, c.Terminate(kid))
	default:
		c.note("cancel %s natively", kid)
		require.NoError(c.t, c.NativeCancel(kid, ""))
	}
	if has, _ := c.Workers(c.t.Context()); !has {
		c.worker()
	}
}

// reopen goes on in another process.
func (c *clan) reopen() {
	data, err := c.Save()
	require.NoError(c.t, err)
	require.NoError(c.t, c.Close())
	c.Engine, err = Load(c.config, data)
	require.NoError(c.t, err)
	c.hold = c.PinAt(Point{})
}

// rest ends all faults and lets everybody come to rest.
func (c *clan) rest() {
	c.Engine.mu.Lock()
	c.faults = nil
	c.Engine.mu.Unlock()
	c.hold.Release()
	c.worker()
	c.SetManual(false)
	c.calmly(func(ctx context.Context) error { return c.Settled(ctx) })
}

// verify holds every agent that is live against its log and its parent.
func (c *clan) verify() {
	t := c.t
	require.NoError(t, c.Err())
	c.Engine.mu.Lock()
	all := map[string]*agent{}
	for id, a := range c.agents {
		all[id] = a
	}
	c.Engine.mu.Unlock()
	for id, a := range all {
		if a.End != nil {
			require.NotEqual(t, "", a.End.Status)
			continue
		}
		s := a.state()
		require.Equal(t, "idle", s.Status(), id)
		require.Empty(t, s.Calls, id)
		require.Zero(t, len(s.Log.Tail)+len(s.Log.Waiting), "everything of %s is in the store", id)
		logOf(t, c.Engine, c.objects, id)
		for _, kid := range s.Children {
			require.Empty(t, kid.Call, "%s waits for %s", id, kid.ID)
			require.Empty(t, kid.Look+kid.Due, "%s looks at %s", id, kid.ID)
			require.True(t, kid.Keep || slices.Contains(c.stay, kid.ID), "%s has done what it was started for", kid.ID)
		}
		if s.Owner == "" {
			continue
		}
		owner := all[s.Owner]
		if owner.End != nil {
			require.Equal(t, statusTerminated, owner.End.Status, "%s outlives %s", id, s.Owner)
			continue
		}
		owned := false
		for _, kid := range owner.state().Children {
			owned = owned || kid.ID == id
		}
		require.True(t, owned, "%s goes on, and %s does not know it", id, s.Owner)
	}
}
