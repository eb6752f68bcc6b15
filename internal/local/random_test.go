package local

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

var (
	schedules = flag.Int("schedules", 1000, "how many random schedules are tried; run one with -run 'TestRandomSchedules/seed_17$'")
	first     = flag.Int("first", 0, "seed of the first random schedule")
)

// TestRandomSchedules stops everything at every point and lets chance decide what happens next: a step, an input or a
// fault. Afterwards the agent must come to rest with a log that keeps every rule and has lost no message.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	many := *schedules
	if testing.Short() {
		many = min(many, 100)
	}
	for n := range many {
		seed := *first + n
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, uint64(seed))
			for n := 20 + c.IntN(60); n > 0 && !c.ended(); n-- {
				c.act()
				c.settle()
			}
			c.calm()
			c.verify()
		})
	}
}

// chaos is a world in which chance decides.
type chaos struct {
	*world
	*rand.Rand
	hold     *Hold
	sent     int
	accepted []string // ids of messages
	history  []string // what was done, for whoever looks into a failure
}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{Rand: rand.New(rand.NewPCG(seed, 1))}
	c.world = newWorld(t, "", func(cfg *Config, _ *activities.Config, m *scripted.Model) {
		m.Script, m.Respond = nil, respond
		cfg.Manual, cfg.Batch, cfg.RolloverEvery = c.IntN(2) == 0, c.IntN(3), c.IntN(8)
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what happened:\n%s", strings.Join(c.history, "\n"))
		}
	})
	c.hold = c.PinAt(Point{})
	c.start()
	c.settle()
	return c
}

// respond is a model that is a function of its request: it calls tools, fails and stops early now and then.
func respond(req llm.Request) scripted.Answer {
	n := len(req.Messages)
	last := req.Messages[n-1]
	line := `text "ok" chunks=2`
	if _, ok := last.Content[0].(session.ToolResultBlock); !ok {
		sum := 0
		for _, b := range []byte(last.ID) {
			sum += int(b)
		}
		line = []string{
			`text "fine"`,
			fmt.Sprintf(`tool e%d echo {"text":"x"}`, n),
			fmt.Sprintf(`text "look" tool o%d once {"text":"x"} tool e%d echo {"text":"y"} tool f%d echo {"text":"z"}`, n, n, n),
			fmt.Sprintf(`tool e%d echo {"text":"x"} tool a%d alone {"text":"y"}`, n, n),
			`text "too long" max-tokens`,
			`text "half" error RATE_LIMIT`,
			`error AUTH`,
			`reasoning "hm" chunks=2 delay 1s text "done"`,
		}[sum%8]
	}
	return scripted.MustParse(line)[0]
}

// ended reports whether the agent was disposed: two native cancels that find it idle do that.
func (c *chaos) ended() bool {
	run, err := c.Describe(c.t.Context(), "a")
	require.NoError(c.t, err)
	return !run.Open
}

// act does one thing.
func (c *chaos) act() {
	switch n := c.IntN(100); {
	case n < 62:
		c.step()
	case n < 84:
		c.input()
	default:
		c.fault()
	}
}

func (c *chaos) note(format string, args ...any) {
	c.history = append(c.history, fmt.Sprintf(format, args...))
}

func (c *chaos) step() {
	held := c.Held()
	if len(held) == 0 {
		c.pass()
		return
	}
	n := c.IntN(len(held))
	c.note("step %+v", held[n])
	c.StepHeld(n)
}

// pass lets time pass.
func (c *chaos) pass() {
	d := time.Duration(c.IntN(20_000)) * time.Millisecond
	c.note("pass %s", d)
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	require.NoError(c.t, c.Advance(ctx, d))
}

func (c *chaos) input() {
	c.sent++
	id := fmt.Sprintf("m%d", c.sent)
	kinds := []string{signals.Followup, signals.Steer, signals.Inject}
	switch n := c.IntN(10); {
	case n < 6:
		act := kinds[c.IntN(3)]
		c.note("%s %s", act, id)
		c.accepted = append(c.accepted, id)
		c.signal(act, message(id))
	case n == 6:
		c.note("remove")
		c.signal(signals.InboxRemove, signals.Remove{ID: c.some()})
	case n == 7:
		old := c.some()
		c.note("replace %s by %s", old, id)
		c.signal(signals.InboxReplace, signals.Replace{ID: old, With: message(id)})
	default:
		keep := c.IntN(2) == 0
		c.note("cancel keep=%v", keep)
		c.signal(signals.CancelTurn, signals.Cancel{KeepInbox: keep})
	}
}

// some is a message that was sent.
func (c *chaos) some() string {
	if len(c.accepted) == 0 {
		return "nobody"
	}
	return c.accepted[c.IntN(len(c.accepted))]
}

func (c *chaos) fault() {
	activity := []string{work.Step, work.Tool, work.Persist, work.Setup}[c.IntN(4)]
	p := Point{Activity: activity}
	switch c.IntN(11) {
	case 0:
		c.note("kill")
		_ = c.KillWorker()
	case 1:
		c.note("zombie")
		_, _ = c.Zombie()
	case 2:
		c.note("lose answer of %s", activity)
		c.LoseAnswer(p)
	case 3:
		c.note("time out %s", activity)
		c.TimeOut(p)
	case 4:
		c.note("exhaust tool or step")
		c.ExhaustRetries(Point{Activity: []string{work.Step, work.Tool}[c.IntN(2)]})
	case 5:
		c.note("starve tool or step")
		c.CancelBeforeStart(Point{Activity: []string{work.Step, work.Tool}[c.IntN(2)]})
	case 6:
		c.note("fail persist")
		c.FailPersist(Point{}, 1+c.IntN(5))
	case 7:
		c.note("cancel natively")
		require.NoError(c.t, c.NativeCancel("a", []string{"", `{"kind":"parent"}`, `{"kind":"user","keepInbox":true}`}[c.IntN(3)]))
	case 8:
		c.note("roll over")
		require.NoError(c.t, c.AskRollover("a"))
	case 9:
		c.note("another worker")
		c.worker()
	case 10:
		c.reopen()
	}
	if has, _ := c.Workers(c.t.Context()); !has && c.IntN(2) == 0 {
		c.note("start worker")
		c.worker()
	}
}

// reopen goes on in another process.
func (c *chaos) reopen() {
	c.note("reopen")
	data, err := c.Save()
	require.NoError(c.t, err)
	require.NoError(c.t, c.Close())
	c.Engine, err = Load(c.config, data)
	require.NoError(c.t, err)
	c.hold = c.PinAt(Point{})
	c.worker()
}

func (c *chaos) settle() {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	require.NoError(c.t, c.Settled(ctx))
	require.NoError(c.t, c.Err())
}

// calm ends all faults and lets the agent come to rest.
func (c *chaos) calm() {
	c.mu.Lock()
	c.faults = nil
	for _, fx := range c.agents["a"].Effects {
		fx.starved = false
	}
	c.mu.Unlock()
	c.hold.Release()
	c.worker()
	c.SetManual(false)
	c.settle()
}

// verify holds the log against what was sent.
func (c *chaos) verify() {
	t := c.t
	c.settle()
	var s signals.State
	require.NoError(t, c.Query(t.Context(), "a", signals.QueryState, nil, &s))
	if c.ended() {
		require.Equal(t, "closed", s.Status)
		fates(t, c.log())
		return
	}
	require.Equal(t, "idle", s.Status)
	require.Zero(t, s.Log.Tail+s.Log.Waiting, "everything is in the store")
	log := c.log()
	fate := fates(t, log)
	for _, id := range c.accepted {
		require.Contains(t, []string{"pending", "entered", "dropped", "discarded"}, fate[id], "message %s", id)
		var m signals.MessageState
		require.NoError(t, c.Query(t.Context(), "a", signals.QueryMessage, signals.MessageID{ID: id}, &m))
		want := fate[id]
		if want == "entered" {
			want = "ended"
		}
		require.Equal(t, want, m.State, "message %s", id)
	}
	for call, n := range c.bodies.n {
		if strings.HasPrefix(call, "o") {
			require.Equal(t, 1, n, "call %s", call)
		}
	}
	state, err := session.Fold(0, log)
	require.NoError(t, err)
	_, open := state.Turn()
	require.False(t, open)
}

// fates says what became of every message, by the log alone; each has exactly one fate.
func fates(t *testing.T, log []session.Record) map[string]string {
	t.Helper()
	fate := map[string]string{}
	lists := map[string][]string{}
	for _, r := range log {
		switch e := r.Event.(type) {
		case session.InboxSpliced:
			list := lists[e.Target]
			gone, rest := list[e.Start:e.Start+e.RemovedCount], list[e.Start+e.RemovedCount:]
			for _, id := range gone {
				require.Equal(t, "pending", fate[id])
				fate[id] = "dropped" // unless it enters
				if e.Outcome != "" {
					fate[id] = "discarded"
				}
			}
			var in []string
			for _, m := range e.Inserted {
				require.Empty(t, fate[m.ID], "message %s is inserted once", m.ID)
				fate[m.ID] = "pending"
				in = append(in, m.ID)
			}
			lists[e.Target] = append(append(append([]string{}, list[:e.Start]...), in...), rest...)
		case session.UserMessage:
			require.Equal(t, "dropped", fate[e.ID], "message %s enters once, after its claim", e.ID)
			fate[e.ID] = "entered"
		}
	}
	return fate
}
