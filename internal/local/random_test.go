package local

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/soak"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

var (
	schedules = flag.Int("schedules", 20_000, "how many random schedules are tried; with -short at most 100")
	first     = flag.Int("first", 0, "seed of the first random schedule; try one again with -first 17 -schedules 1")
)

// TestRandomSchedules stops everything at every point and lets chance decide what happens next: a step, an input or a
// fault. Afterwards the agent must come to rest with a log that keeps every rule and has lost no message.
func TestRandomSchedules(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // states are many, small, and soon forgotten
	many := *schedules
	if testing.Short() {
		many = min(many, 100)
	}
	soak.Play(t, soak.Config{Name: "crashes", First: *first, N: many, Lanes: 2 * runtime.GOMAXPROCS(0), Must: must, Enough: 1000},
		func(met *soak.Run, seed int) { chance(t, seed, met) })
}

// What schedules meet besides the faults of the engine's kit.
const (
	metRollovers   = "rollovers"
	metCancels     = "turns cancelled"
	metSettlements = "settlements" // of steps and calls whose execution was lost
	metReopened    = "reopened"
	metDisposed    = "disposed"
)

// must is what a long run has to meet.
var must = []string{verbKill, verbCutOff, verbLate, verbLoseAnswer, verbTimeOut, verbExhaust, verbStarve, verbFailPersist,
	metRollovers, metCancels, metSettlements, metReopened, metDisposed}

// chance plays one schedule to its end.
func chance(t *testing.T, seed int, met *soak.Run) {
	c := newChaos(t, uint64(seed), met)
	defer c.leave(seed)
	c.hold = c.PinAt(Point{})
	c.start()
	c.settle()
	for n := 20 + c.IntN(60); n > 0 && !c.ended(); n-- {
		c.act()
		c.settle()
	}
	c.calm()
	c.verify()
}

// chaos is a world in which chance decides.
type chaos struct {
	*world
	*rand.Rand
	met      *soak.Run
	hold     *Hold
	sent     int
	accepted []string // ids of messages
	history  []string // what was done, for whoever looks into a failure
}

func newChaos(t *testing.T, seed uint64, met *soak.Run) *chaos {
	c := &chaos{Rand: rand.New(rand.NewPCG(seed, 1)), met: met}
	c.world = openWorld(t, "", func(cfg *Config, _ *activities.Config, m *scripted.Model) {
		m.Script, m.Respond = nil, respond
		cfg.Manual, cfg.Batch, cfg.RolloverEvery, cfg.RestoreOneIn = c.IntN(2) == 0, c.IntN(3), c.IntN(8), 4
	})
	return c
}

// leave closes the engine and says what was done if it came to a bad end.
func (c *chaos) leave(seed int) {
	if c.t.Failed() {
		c.t.Logf("go test ./internal/local -run TestRandomSchedules -args -schedules 1 -first %d\n%s", seed, strings.Join(c.history, "\n"))
	}
	require.NoError(c.t, c.close(), "seed %d", seed)
}

// close ends an engine, after looking at what it met.
func (c *chaos) close() error {
	for verb, n := range c.Struck() {
		c.met.Met(verb, n)
	}
	return c.Close()
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

// ended reports whether the agent was disposed.
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
	switch n := c.IntN(12); {
	case n < 6:
		act, m := kinds[c.IntN(3)], message(id)
		if act == signals.Followup && c.IntN(4) == 0 {
			m.Overlap = signals.OverlapInterrupt
		}
		c.note("%s %s %s", act, id, m.Overlap)
		c.accepted = append(c.accepted, id)
		c.signal(act, m)
	case n == 10:
		p := signals.Promote{ID: c.some(), Target: []string{"", session.NextTurn, session.NextStep}[c.IntN(3)]}
		c.note("promote %s %s", p.ID, p.Target)
		c.signal(signals.InboxPromote, p)
	case n == 11:
		c.reorder()
	case n == 6:
		c.note("remove")
		c.signal(signals.InboxRemove, signals.Remove{ID: c.some()})
	case n == 7:
		old := c.some()
		c.note("replace %s by %s", old, id)
		c.signal(signals.InboxReplace, signals.Replace{ID: old, With: message(id)})
	case n == 8 && c.IntN(20) == 0:
		c.note("dispose")
		c.signal(signals.DisposeAgent, signals.Dispose{})
	default:
		keep := c.IntN(2) == 0
		c.note("cancel keep=%v", keep)
		c.signal(signals.CancelTurn, signals.Cancel{KeepInbox: keep})
	}
}

// reorder turns a list round, as it is or was.
func (c *chaos) reorder() {
	c.mu.Lock()
	s := c.agents["a"].state()
	c.mu.Unlock()
	r := signals.Reorder{Target: []string{session.NextTurn, session.NextStep}[c.IntN(2)]}
	list := s.NextTurn
	if r.Target == session.NextStep {
		list = s.NextStep
	}
	for _, p := range list {
		r.IDs = append([]string{p.ID}, r.IDs...)
	}
	if len(r.IDs) > 0 {
		c.note("reorder %v", r.IDs)
		c.signal(signals.InboxReorder, r)
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
	c.met.Met(metReopened, 1)
	data, err := c.Save()
	require.NoError(c.t, err)
	require.NoError(c.t, c.close())
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
	log := c.log()
	c.count(log)
	if c.ended() {
		c.verifyEnd(s, log)
		return
	}
	require.Equal(t, "idle", s.Status)
	require.Zero(t, s.Log.Tail+s.Log.Waiting, "everything is in the store")
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
		track := session.Track(id, 0)
		for _, r := range log {
			track.Add(r)
		}
		f := track.Fate()
		require.Equal(t, []any{f.Turn, f.Step, f.Kind, f.Target, f.Consumed, f.Cause, f.ReplacedBy},
			[]any{m.Turn, m.Step, m.Kind, m.Target, m.Consumed, m.Cause, m.ReplacedBy}, "message %s", id)
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

// verifyEnd looks at an agent that was disposed, or whose birth was called off: that one has no log.
func (c *chaos) verifyEnd(s signals.State, log []session.Record) {
	c.met.Met(metDisposed, 1)
	run, err := c.Describe(c.t.Context(), "a")
	require.NoError(c.t, err)
	if run.Status == statusFailed {
		require.Equal(c.t, signals.ErrAborted, run.Code, run.Reason)
		require.Empty(c.t, log)
		return
	}
	require.Equal(c.t, "closed", s.Status)
	fates(c.t, log)
}

// count notes what the log tells.
func (c *chaos) count(log []session.Record) {
	c.met.Met(metRollovers, c.Runs("a")-1)
	for _, r := range log {
		switch e := r.Event.(type) {
		case session.TurnEnd:
			if e.Reason.Kind == session.TurnAborted {
				c.met.Met(metCancels, 1)
			}
		case session.AssistantAttempt:
			if e.Failure != nil && e.Failure.Code == work.CodeWorkerLost {
				c.met.Met(metSettlements, 1)
			}
		case session.ToolResult:
			if e.Error != nil && e.Error.Code == session.CodeToolOutcomeUnknown {
				c.met.Met(metSettlements, 1)
			}
		}
	}
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
		case session.InboxMoved:
			moved := func(id string) bool { return slices.Contains(e.IDs, id) }
			for _, id := range e.IDs {
				require.Equal(t, "pending", fate[id])
			}
			for target, list := range lists {
				lists[target] = slices.DeleteFunc(slices.Clone(list), moved)
			}
			lists[e.Target] = slices.Insert(lists[e.Target], e.Start, e.IDs...)
		case session.UserMessage:
			require.Equal(t, "dropped", fate[e.ID], "message %s enters once, after its claim", e.ID)
			fate[e.ID] = "entered"
		}
	}
	return fate
}
