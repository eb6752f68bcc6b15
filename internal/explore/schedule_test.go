package explore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

var (
	seedFlag  = flag.Int("seed", 0, "run this schedule only; with -run Schedules")
	firstFlag = flag.Int("first", 1, "seed of the first schedule")
	soakFlag  = flag.Bool("soak", false, "run 100,000 schedules")
)

// counts say what the schedules met.
type counts struct{ schedules, acts, cancels, rollovers, turns, latches atomic.Int64 }

// TestSchedules plays random schedules on the local engine and on the [Model], and compares what can be seen.
func TestSchedules(t *testing.T) {
	n := 10_000
	switch {
	case *soakFlag:
		n = 100_000
	case testing.Short():
		n = 300
	}
	first := *firstFlag
	if *seedFlag > 0 {
		first, n = *seedFlag, 1
	}
	var c counts
	const groups = 4
	t.Run("group", func(t *testing.T) {
		for g := range groups {
			t.Run(fmt.Sprint(g), func(t *testing.T) {
				t.Parallel()
				for i := g; i < n && !t.Failed(); i += groups {
					play(t, uint64(first+i), &c)
				}
			})
		}
	})
	t.Logf("%d schedules from seed %d: %d acts, %d cancels that hit, %d rollovers, %d turns, %d latched wakes",
		c.schedules.Load(), first, c.acts.Load(), c.cancels.Load(), c.rollovers.Load(), c.turns.Load(), c.latches.Load())
}

// play plays one schedule to its end.
func play(t *testing.T, seed uint64, c *counts) {
	r := rand.New(rand.NewPCG(seed, 2))
	hooks := r.IntN(2) == 0
	p := &player{Rand: r, c: c, model: &Model{Stage: Rest, Greets: hooks, Objects: hooks},
		retried: map[string]bool{}, theatre: newTheatre(t, hooks, []int{0, 1, 2, 5}[r.IntN(4)], r.IntN(3))}
	defer func() {
		if t.Failed() {
			t.Logf("go test ./internal/explore -run Schedules -args -seed %d\n%s", seed, strings.Join(p.history, "\n"))
		}
		require.NoError(t, p.Close())
	}()
	for n := 8 + p.IntN(14); n > 0 && p.model.Stage != Gone; n-- {
		if p.model.Stage == Rest || p.IntN(2) == 0 {
			p.act()
		} else {
			p.onward()
		}
		p.compare()
	}
	for p.model.Stage != Rest && p.model.Stage != Gone {
		p.onward()
		p.compare()
	}
	p.finish()
}

// A player plays a schedule on both sides.
type player struct {
	*theatre
	*rand.Rand
	c       *counts
	model   *Model
	history []string

	sent     int
	run      int // number of the run that was natively cancelled
	events   []string
	statuses []string

	at      string // where the step stands; empty: there is none, or its stream stands still
	paused  bool
	cut     bool // the stream was cancelled in the middle
	batch   []string
	retried map[string]bool
	owed    bool
	calls   []part
}

// A part is what the player knows of a call.
type part struct {
	id, tool string
	running  bool
	result   string
	done     bool
}

func (p *player) note(format string, args ...any) {
	p.history = append(p.history, fmt.Sprintf(format, args...))
}

// act is something that a caller does.
func (p *player) act() {
	p.c.acts.Add(1)
	switch n := p.IntN(20); {
	case n < 11:
		p.send()
	case n < 14:
		p.cancel()
	case n == 14:
		p.edit()
	case n == 15:
		p.clear()
	case n == 16:
		p.maintain()
	case n == 17:
		p.native()
	case n == 18 && p.IntN(4) == 0:
		p.note("dispose")
		p.tell((*Model).Dispose)
		p.signal(signals.DisposeAgent, signals.Dispose{})
	default:
		p.note("roll over")
		require.NoError(p.t, p.AskRollover("a"))
	}
	p.settle()
}

func (p *player) signal(name string, payload any) {
	require.NoError(p.t, p.Signal(p.t.Context(), "a", name, payload))
}

func (p *player) message() signals.Send {
	p.sent++
	id := fmt.Sprintf("m%d", p.sent*7+p.IntN(7)) // unique, and of any plan
	return signals.Send{ID: id, Text: "text of " + id}
}

// send is a message of one of the senders; the second one waits for its receipt.
func (p *player) send() {
	k, m := kinds[p.IntN(len(kinds))], p.message()
	name := map[string]string{"followup": signals.Followup, "steer": signals.Steer, "inject": signals.Inject}[k.name]
	p.note("%s %s", k.name, m.ID)
	want := p.model.Send(m.ID, k.target, k.wake)
	if p.model.Latch {
		p.c.latches.Add(1)
	}
	if p.IntN(2) == 0 {
		p.signal(name, m)
		return
	}
	var r signals.Receipt
	require.NoError(p.t, p.Update(p.t.Context(), "a", name, m, &r))
	require.Equal(p.t, want, string(r.Disposition), "receipt of %s", m.ID)
}

// tell tells the model of a cancel, and what follows from it at once.
func (p *player) tell(how func(*Model)) {
	was := p.model.Cause
	how(p.model)
	if was == "" && p.model.Cause != "" {
		p.c.cancels.Add(1)
		if p.paused { // X6: the stream ends there and then
			p.paused, p.cut, p.at = false, true, atEnd
		}
	}
}

func (p *player) cancel() {
	cause := []session.Cause{{Kind: session.CauseUser}, {Kind: session.CauseParent}, {Kind: session.CauseHook, Reason: "why"}}[p.IntN(3)]
	keep := p.IntN(2) == 0
	p.note("cancel %s, keepInbox %t", causeText(cause), keep)
	p.tell(func(m *Model) { m.Cancel(causeText(cause), keep) })
	p.signal(signals.CancelTurn, signals.Cancel{Cause: &cause, KeepInbox: keep})
}

// native cancels as Temporal's UI does; a run can be cancelled only once.
func (p *player) native() {
	if p.run == p.Runs("a") {
		return
	}
	p.run = p.Runs("a")
	p.note("native cancel")
	p.tell(func(m *Model) { m.NativeCancel("user", false) })
	require.NoError(p.t, p.NativeCancel("a", ""))
}

func (p *player) edit() {
	pending := slices.Concat(p.model.NextStep, p.model.NextTurn)
	id := "nobody"
	if len(pending) > 0 {
		id = pending[p.IntN(len(pending))]
	}
	if p.IntN(2) == 0 {
		p.note("remove %s", id)
		p.model.Remove(id)
		p.signal(signals.InboxRemove, signals.Remove{ID: id})
		return
	}
	m := p.message()
	p.note("replace %s by %s", id, m.ID)
	p.model.Replace(id, m.ID)
	p.signal(signals.InboxReplace, signals.Replace{ID: id, With: m})
}

func (p *player) clear() {
	p.note("clear")
	p.model.Clear()
	p.signal(signals.InboxClear, signals.Clear{})
}

func (p *player) maintain() {
	p.note("maintain")
	p.model.Maintain()
	p.signal(signals.MaintainAct, signals.Maintain{Task: "tidy"})
}

// onward lets something go on: who stands, or the clock.
func (p *player) onward() {
	held := p.Held()
	if len(held) == 0 {
		p.note("time passes")
		require.NoError(p.t, p.Advance(p.t.Context(), 20*time.Second))
		p.passed()
		return
	}
	n := p.IntN(len(held))
	p.note("onward from %s", p.standing()[n])
	p.StepHeld(n)
	switch h := held[n]; h.Name {
	case atTask:
		p.model.Returned()
		p.model.Maintained()
	case atHook:
		if p.model.Stage == Greeting {
			p.model.Greeted()
		} else {
			p.model.Objected("")
		}
	case atBody:
		p.bodyOver(h.Tool)
	default:
		p.stepOn()
	}
	p.settle()
}

// passed is what time brings: the rest of a stream, or the next attempt.
func (p *player) passed() {
	switch {
	case p.paused:
		p.paused, p.at = false, atEnd
	case p.model.Stage == Waiting:
		p.model.Retried()
		p.at = atPrepared
	}
}

// stepOn moves the step to its next point, or ends it: spec §4.4–4.7, §5 X3–X9.
func (p *player) stepOn() {
	cancelled, at := p.model.Cause != "", p.at
	users, how := p.users()
	p.at = ""
	switch {
	case at == atAssembled && cancelled:
		p.answered(Answer{})
	case at == atAssembled && how != "":
		p.answered(Answer{Ends: how})
	case at == atAssembled:
		p.at = atPrepared
	case at == atPrepared && cancelled:
		p.answered(Answer{Entered: true})
	case at == atPrepared:
		p.at = atCommitted
	case at == atCommitted && cancelled:
		p.answered(Answer{Entered: true, Committed: true, Users: users})
	case at == atCommitted && planOf(p.last()) == planPause && !p.retried["paused "+p.last()]:
		p.paused = true
	case at == atCommitted:
		p.at = atEnd
	default:
		p.answered(p.settled(users))
	}
}

// last is the message that the request ends with; empty if that is a tool result.
func (p *player) last() string {
	users, _ := p.users()
	if len(users) == 0 {
		return ""
	}
	return users[len(users)-1]
}

// users are the messages of the batch that enter, and how the turn ends if none does.
func (p *player) users() (in []string, ends string) {
	for _, id := range p.batch {
		switch planOf(id) {
		case planReject:
			return nil, "blocked"
		case planKept:
		default:
			in = append(in, id)
		}
	}
	if len(in) == 0 && !p.owed {
		return nil, "empty"
	}
	return in, ""
}

// settled is how the model's answer is settled, by the plan of the last message: spec §4.7.3.
func (p *player) settled(users []string) Answer {
	a := Answer{Entered: true, Committed: true, Users: users, Settled: "AM"}
	id := p.last()
	switch pl := planOf(id); {
	case p.cut:
		a.Settled = "AM!"
	case pl == planCut:
		a.Cut = true
	case pl == planFail:
		a.Settled, a.Ends = "AA", "error AUTH"
	case pl == planRetry && !p.retried[id]:
		p.retried[id] = true
		a.Settled, a.Later = "AA", true
	default:
		a.Calls = len(callsOf(pl))
	}
	return a
}

// answered ends the attempt on the model's side.
func (p *player) answered(a Answer) {
	id := p.last()
	p.cut, p.calls = false, nil
	if p.model.StepOpen { // a later attempt repeats no user, §4.5.7
		a.Users = nil
	}
	for _, tool := range callsOf(planOf(id))[:a.Calls] {
		p.calls = append(p.calls, part{id: tool + "-" + id, tool: tool})
	}
	if !a.Later {
		p.owed = false
	}
	p.model.Answered(a)
	p.model.Decide(a)
	p.startCalls()
}

// startCalls follows the schedule of spec §4.8; after a cancel nothing starts, and when nothing runs any more the rest
// is answered: X9, X10.
func (p *player) startCalls() {
	if p.model.Cause != "" {
		for i := range p.calls {
			if c := &p.calls[i]; !c.running && c.result == "" {
				c.result = "TR!(" + c.id + "," + work.CodeAbortedBeforeDispatch + ")"
			}
		}
		p.commit()
		return
	}
	for i := range p.calls {
		c := &p.calls[i]
		if c.running || c.result != "" {
			continue
		}
		if c.tool == "alone" && slices.ContainsFunc(p.calls[:i], func(b part) bool { return b.result == "" }) {
			return
		}
		if slices.ContainsFunc(p.calls[:i], func(b part) bool { return b.tool == "alone" && b.result == "" }) {
			return
		}
		c.running = true
	}
}

// bodyOver ends a body; a success that comes after a cancel is not one, X10.
func (p *player) bodyOver(tool string) {
	for i := range p.calls {
		c := &p.calls[i]
		if c.tool != tool {
			continue
		}
		c.running, c.result = false, "TR("+c.id+")"
		if p.model.Cause != "" {
			c.result = "TR!(" + c.id + "," + work.CodeAborted + ")"
		}
	}
	p.commit()
	p.startCalls()
}

// commit appends the results whose predecessors are all in the log, §4.8.5.
func (p *player) commit() {
	for i := range p.calls {
		c := &p.calls[i]
		switch {
		case c.done:
			continue
		case c.result == "":
			return
		}
		c.done, p.owed = true, true
		p.model.Result(c.result, nil, false)
	}
}

// compare lets the model settle and holds everything that can be seen against it.
func (p *player) compare() {
	t, m := p.t, p.model
	p.propose()
	p.events, m.Events = append(p.events, m.Events...), nil
	p.statuses, m.Statuses = append(p.statuses, m.Statuses...), nil
	s := p.state()
	require.Equal(t, m.Running, s.Status == "running", "status is %s, the model is %s", s.Status, m.Stage)
	require.Equal(t, m.Stage == Gone, s.Status == "closed", "status is %s, the model is %s", s.Status, m.Stage)
	require.Equal(t, slices.Concat(m.NextStep, m.NextTurn), inbox(s), "pending")
	require.Equal(t, len(p.statuses), len(p.told()), "statuses: %v, want %v", p.told(), p.statuses)
	require.Equal(t, m.Turn, s.Turn, "turn")
	want, have := p.stands(), p.standing()
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		require.Fail(t, "elsewhere", "%v stand, want %v; the model is %s, logged %v", have, want, m.Stage, p.events)
	}
}

// propose notes what the next step claims.
func (p *player) propose() {
	was := p.model.Stage
	before := p.model.Clone()
	p.model.Settle(Writer{})
	if p.model.Stage == Asking && was != Asking {
		p.at, p.batch, p.calls = atAssembled, slices.Clone(p.model.batch), nil
		if before.Turn != p.model.Turn {
			p.owed = false
		}
	}
}

func inbox(s signals.State) []string {
	var step, turn []string
	for _, m := range s.Inbox {
		if m.Target == session.NextStep {
			step = append(step, m.ID)
		} else {
			turn = append(turn, m.ID)
		}
	}
	return slices.Concat(step, turn)
}

// stands says who must stand where.
func (p *player) stands() []string {
	switch p.model.Stage {
	case Upkeep:
		return []string{atTask}
	case Greeting, Objecting:
		return []string{atHook}
	case Asking:
		if p.at != "" {
			return []string{p.at}
		}
	case Calling:
		var out []string
		for _, c := range p.calls {
			if c.running {
				out = append(out, atBody+" "+c.tool)
			}
		}
		return out
	}
	return nil
}

// finish holds the whole log against the model's, and the statuses as they were told.
func (p *player) finish() {
	log := p.log()
	require.Equal(p.t, strings.Join(p.events, " "), strings.Join(reduce(log, session.Inbox{}), " "), "log")
	require.Equal(p.t, p.statuses, p.told(), "statuses")
	p.c.schedules.Add(1)
	p.c.turns.Add(int64(p.model.Turn))
	p.c.rollovers.Add(int64(p.Runs("a") - 1))
}
