package explore

import (
	"slices"
	"strings"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// check holds every law that can be seen in a state and in the move that led to it.
func (n *node) check() {
	n.model.Settle(n.writer())
	if err := driver.Check(&n.state); err != nil {
		n.failf("%w", err)
	}
	for _, law := range []func(){n.checkLog, n.checkModel, n.checkTrace, n.checkFates, n.checkOpen, n.checkQuiet, n.checkTold, n.checkRefs} {
		if n.err == nil {
			law()
		}
	}
	n.model.Events, n.model.Statuses, n.model.Dropped = nil, nil, nil
}

// writer says what happens to the log outside of steps and tasks.
func (n *node) writer() Writer {
	w := Writer{Moves: n.state.Rolling}
	if id, in := n.persist(); id != "" {
		w.Writes, w.Still, w.Flushes = true, id == n.writing, in.Publish
	}
	return w
}

// persist names the one that runs.
func (n *node) persist() (string, work.PersistIn) {
	for _, r := range n.open {
		if e, ok := r.effect.(driver.StartPersist); ok {
			return r.id, e.In
		}
	}
	return "", work.PersistIn{}
}

// checkLog: the driver knows where the log is, and what is pending there.
func (n *node) checkLog() {
	s, l := &n.state, n.log
	if l.Count() != s.Log.Next() {
		n.failf("the log has %d events, the driver says %d", l.Count(), s.Log.Next())
	}
	if len(s.Log.Waiting) > 0 {
		return
	}
	box := l.Inbox()
	n.same("next-turn in the log", messageIDs(box.NextTurn), pendingIDs(s.NextTurn))
	n.same("next-step in the log", messageIDs(box.NextStep), pendingIDs(s.NextStep))
	turn, turnOpen := l.Turn()
	step, stepOpen := l.Step()
	if turn != s.Turn || turnOpen != s.TurnOpen || stepOpen != s.StepOpen || stepOpen && step != s.Step {
		n.failf("the log is at %d.%d, the driver at %d.%d", turn, step, s.Turn, s.Step)
	}
}

func messageIDs(list []session.Message) []string {
	var ids []string
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

func (n *node) same(what string, want, have []string) {
	if !slices.Equal(want, have) {
		n.failf("%s: %v, the driver has %v", what, want, have)
	}
}

// stages says where the model stands in a phase of the driver.
var stages = map[driver.Phase]Stage{
	driver.Idle: Rest, driver.Maintaining: Upkeep, driver.Starting: Greeting, driver.Claiming: Proposing, driver.Stepping: Asking,
	driver.Retrying: Waiting, driver.Tools: Calling, driver.Stopping: Objecting, driver.Draining: Ending, driver.Closed: Gone,
}

// checkModel: the driver stands where the reference does.
func (n *node) checkModel() {
	s, m := &n.state, n.model
	n.same("next-turn", m.NextTurn, pendingIDs(s.NextTurn))
	n.same("next-step", m.NextStep, pendingIDs(s.NextStep))
	n.same("dropped", m.Dropped, n.dropped)
	stage := m.Stage
	if stage == UpkeepWaits {
		stage = Upkeep
	}
	if stage != stages[s.Phase] {
		n.failf("the driver is %s, it must be %s", s.Phase, m.Stage)
	}
	if m.Latch != s.Latch || m.Disposing != s.Disposing || m.Running != (s.Status() == driver.StatusRunning) {
		n.failf("latch %t, disposing %t, status %s: must be %t, %t, running %t", s.Latch, s.Disposing, s.Status(), m.Latch, m.Disposing, m.Running)
	}
	cause := ""
	if s.Cancelled != nil {
		cause = causeText(*s.Cancelled)
	}
	if cause != m.Cause {
		n.failf("the activity's cause is %q, it must be %q", cause, m.Cause)
	}
	n.same("status", m.Statuses, n.statuses)
	n.same("waits for the writer", m.Held, reduce(s.Log.Waiting, n.log.Inbox()))
}

// checkTrace: what was logged is what the reference logs.
func (n *node) checkTrace() {
	have := reduce(n.fresh, n.before)
	if want := strings.Join(n.model.Events, " "); want != strings.Join(have, " ") {
		n.failf("logged:  %s\nmust be: %s", strings.Join(have, " "), want)
	}
}

// reduce is the part of a trace that the reference is about: inbox, boundaries, settlements, results and cancels.
func reduce(records []session.Record, box session.Inbox) []string {
	tracer := session.Tracer{Inbox: box}
	var out []string
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.InboxSpliced, session.InboxMoved, session.TurnStart, session.StepStart, session.UserMessage, session.AssistantMessage,
			session.AssistantAttempt, session.ToolResult, session.StepEnd, session.CancelRequested:
			out = append(out, tracer.Trace([]session.Record{r}))
		case session.TurnEnd:
			out = append(out, tracer.Trace([]session.Record{session.NewRecord(0, e)}))
		}
	}
	return out
}

// checkFates: what was claimed has entered or was given up when the turn ends, and what was accepted is in its list.
func (n *node) checkFates() {
	for _, f := range n.fates {
		if f.At == claimed && !n.state.TurnOpen {
			n.failf("message %s was claimed, and neither entered nor dropped", f.ID)
		}
		if f.At == accepted && len(n.state.Log.Waiting) == 0 {
			n.failf("message %s was accepted, and is in no list", f.ID)
		}
	}
}

// roles names what the driver waits for, by effect id.
func (n *node) roles() map[string]string {
	s, roles := &n.state, map[string]string{}
	add := func(id, role string) {
		if id != "" {
			roles[id] = role
		}
	}
	add(s.Log.Lent, "log")
	add(s.Awaiting, "awaited")
	add(s.FlushAt, "flush")
	for _, c := range s.Calls {
		add(c.Effect, "call "+c.ID)
		if c.Ask != nil {
			add(c.Ask.Timer, "deadline "+c.ID)
		}
	}
	return roles
}

// checkOpen: the driver waits for exactly what runs.
func (n *node) checkOpen() {
	roles := n.roles()
	for _, r := range n.open {
		if roles[r.id] == "" {
			n.failf("%s runs, and the driver does not wait for it", r.id)
		}
	}
	if len(roles) != len(n.open) {
		n.failf("the driver waits for %v, %d effects are open", roles, len(n.open))
	}
}

// checkQuiet: idle is said only when nothing runs and nothing is latched, and what is not idle waits for something: from
// every state the answers to what is open lead on, until the agent is idle, closed, or a person is asked.
func (n *node) checkQuiet() {
	busy := slices.ContainsFunc(n.open, func(r running) bool { return r.id != n.state.FlushAt })
	asks := slices.ContainsFunc(n.state.Calls, func(c driver.Call) bool { return c.Ask != nil })
	flush, _ := n.persist()
	quiet := n.model.Stage == Gone || n.model.Stage == Rest && flush == ""
	switch {
	case n.state.Quiet() != quiet:
		n.failf("idle is said: %t, it must be: %t", n.state.Quiet(), quiet)
	case quiet && busy:
		n.failf("idle is said, and %s runs", n.open[0].id)
	case !quiet && !busy && !asks && !n.state.Rolling:
		n.failf("dead end: nothing runs, and the agent is not idle")
	case n.state.Quiet() && n.state.Log.Broken == "" && len(n.state.Log.Tail) > 0:
		n.failf("idle is said, and %d events are not in the store", len(n.state.Log.Tail))
	}
}

// checkTold: what runs when the activity is cancelled is told so, and nothing is started afterwards. See spec §3.4.6, §5
// rule 4.
func (n *node) checkTold() {
	for _, r := range n.open {
		if must := n.model.Cause != "" && listens(r.effect); must != r.cancelled {
			n.failf("%s was told of a cancel: %t", r.id, r.cancelled)
		}
	}
}

// listens reports whether a cancel is told to an effect: not to those that only write down what was.
func listens(e driver.Effect) bool {
	switch e := e.(type) {
	case driver.StartStep:
		return e.In.Mode == work.StepRun
	case driver.StartTool:
		return e.In.Mode != work.ToolSettle
	case driver.StartHook, driver.StartMaintain:
		return true
	default:
		return false
	}
}

// checkRefs: nobody waits but for a disposal or a maintenance task, while they last.
func (n *node) checkRefs() {
	m := n.model
	may := len(n.state.Disposers)
	if m.Stage == Upkeep || m.Stage == UpkeepWaits {
		may++
	}
	if len(n.refs) != may {
		n.failf("%v wait for a receipt, %d may", n.refs, may)
	}
	if n.closed != (m.Stage == Gone) {
		n.failf("closed: %t, it must be %t", n.closed, m.Stage == Gone)
	}
}
