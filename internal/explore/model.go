package explore

import (
	"fmt"
	"slices"
)

// A Stage says where an agent of the [Model] stands.
type Stage string

// The stages. What an agent waits for is told to the model by whoever drives it.
const (
	Rest        Stage = "rest"        // no activity
	Upkeep      Stage = "upkeep"      // maintenance owns the idle phase, §3.6
	UpkeepWaits Stage = "upkeepWaits" // and waits for the log
	Greeting    Stage = "greeting"    // the session-start hook runs, §6.1.6
	Opening     Stage = "opening"     // a turn is owed, §4.2
	Proposing   Stage = "proposing"   // a step is owed, §4.3
	Asking      Stage = "asking"      // the step runs: gates, request, stream, §4.4–4.7
	Waiting     Stage = "waiting"     // between two attempts, §4.7.6
	Calling     Stage = "calling"     // tools run, §4.8
	Objecting   Stage = "objecting"   // the turn-stopping hook runs, §4.9.4
	Ending      Stage = "ending"      // the turn ended; the drain converges, §4.1
	Gone        Stage = "gone"        // disposed, §6.3
)

// A Model is an agent reduced to inbox, turns, cancel and idle. It knows messages by id only. See spec §3–§5.
type Model struct {
	NextTurn, NextStep []string
	Stage              Stage
	Cause              string // of the current activity's first cancel; empty: not cancelled
	Latch              bool
	Disposing          bool
	Greets, Objects    bool // hooks are registered at session-start and turn-stopping

	Turn, Step         int
	TurnOpen, StepOpen bool
	Running            bool // the status, §3.7

	Events   []string // what was logged since the last look, in the notation of §2.4.4
	Statuses []string // flips since the last look
	Dropped  []string // claimed, and given up, since the last look
	Held     []string // logged as soon as the step that runs has answered, deviation D12

	batch   []string // claimed by the proposal, not entered yet
	first   bool     // the proposal is the turn's first
	greeted bool
	normal  bool // the step loop was left normally
	cut     bool // a step of the turn was cut at the output ceiling
	calls   int  // results owed by the step
	broken  bool // one of its calls failed for good
	ends    bool // one of its results concluded the turn
	touched bool // a native cancel found the agent idle
}

// Lent reports whether a step or a maintenance task writes the log.
func (m *Model) Lent() bool { return m.Stage == Asking || m.Stage == Upkeep }

// Active reports whether there is something that a cancel could hit, §3.4.2.
func (m *Model) Active() bool { return m.Stage != Rest && m.Stage != Gone }

// Clone returns an independent copy.
func (m *Model) Clone() *Model {
	c := *m
	for _, list := range []*[]string{&c.NextTurn, &c.NextStep, &c.Events, &c.Statuses, &c.Dropped, &c.Held, &c.batch} {
		*list = slices.Clone(*list)
	}
	return &c
}

// log appends an event, D12: what arises while another writer has the log waits for it.
func (m *Model) log(format string, args ...any) {
	e := fmt.Sprintf(format, args...)
	if m.Lent() {
		m.Held = append(m.Held, e)
		return
	}
	m.Events = append(m.Events, e)
}

func (m *Model) list(target string) *[]string {
	if target == "next-step" {
		return &m.NextStep
	}
	return &m.NextTurn
}

func (m *Model) pending() int { return len(m.NextTurn) + len(m.NextStep) }

// Send inserts a message and sees to the wake; it returns the disposition of the receipt. See §3.1.
func (m *Model) Send(id, target string, wake bool) string {
	if m.Stage == Gone {
		return "refused"
	}
	if wake && m.Active() && m.Cause != "" { // §3.1.2: redirect until the cancelled activity has converged
		target = "next-turn"
	}
	m.insert(target, id)
	if !wake { // §3.2: an injection never runs anything
		if target == "next-step" && m.TurnOpen && m.Cause == "" {
			return "steered"
		}
		return "parked"
	}
	return m.wake(target)
}

// insert puts a message at the tail of a list, §3.1.3.
func (m *Model) insert(target, id string) {
	list := m.list(target)
	*list = append(*list, id)
	m.log("IS+(%s:%s)", target, id)
}

// wake follows the table of §3.1.4.
func (m *Model) wake(target string) string {
	ended := m.Stage == Ending && !m.normal // §4.1: the drain stops, so nobody reads the inbox any more
	switch {
	case m.Disposing, m.Cause == "disposed": // no latch
		return "parked"
	case m.Stage == Rest:
		m.start()
		return "started"
	case m.Stage == Upkeep, m.Stage == UpkeepWaits, m.Cause != "", ended:
		m.Latch = true
		return "queued"
	case target == "next-step" && m.TurnOpen:
		return "steered"
	default:
		return "queued"
	}
}

// start begins a drain: running, before turn/start. See §3.7, §4.1, §6.1.6.
func (m *Model) start() {
	m.Running, m.Latch, m.touched, m.Stage = true, false, false, Opening
	m.Statuses = append(m.Statuses, "running")
	if !m.greeted && m.Greets {
		m.Stage = Greeting
	}
	m.greeted = true
}

// Remove discards one pending message, §3.3.
func (m *Model) Remove(id string) bool {
	for _, target := range []string{"next-step", "next-turn"} {
		list := m.list(target)
		if i := slices.Index(*list, id); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
			m.log("ISx(%s:1)", target)
			return true
		}
	}
	return false
}

// Replace puts a message in a pending one's place, §3.3.
func (m *Model) Replace(id, with string) bool {
	for _, target := range []string{"next-step", "next-turn"} {
		list := m.list(target)
		if i := slices.Index(*list, id); i >= 0 {
			(*list)[i] = with
			m.log("ISr(%s:%s→%s)", target, id, with)
			return true
		}
	}
	return false
}

// Clear discards everything that is pending, next-step first, one event per non-empty list. See §3.3.
func (m *Model) Clear() {
	for _, target := range []string{"next-step", "next-turn"} {
		if list := m.list(target); len(*list) > 0 {
			m.log("ISx(%s:%d)", target, len(*list))
			*list = nil
		}
	}
}

// Cancel applies §3.4 and §5. What the activity runs is not abandoned: it ends when it is told to the model.
func (m *Model) Cancel(cause string, keep bool) {
	if !m.Active() { // §3.4.2, D6: a complete no-op
		return
	}
	m.log("CR(%s)", cause)
	if !keep { // §3.4.3a, §3.4.4
		m.Clear()
		m.Latch = false
	}
	if m.Cause != "" { // §3.4.3b: the first cause wins
		return
	}
	m.Cause = cause
	if m.Stage == Waiting { // X8
		m.abort()
	}
}

// NativeCancel is a cancel from Temporal: the second one that finds the agent idle disposes it. See architecture A3.9.
func (m *Model) NativeCancel(cause string, keep bool) {
	switch {
	case m.Active():
		m.Cancel(cause, keep)
	case m.Stage == Gone:
	case m.touched:
		m.Dispose()
	default:
		m.touched = true
	}
}

// Dispose cancels, and closes the agent once it has converged. See §6.3.
func (m *Model) Dispose() {
	if m.Stage == Gone || m.Disposing {
		return
	}
	m.Disposing = true
	m.Cancel("disposed", false)
	m.Latch = false // wakes are not latched after disposal began
}

// Maintain starts a task, from true idle only. See §3.6.1.
func (m *Model) Maintain() bool {
	if m.Stage != Rest || m.Disposing {
		return false
	}
	m.Stage, m.touched = UpkeepWaits, false
	return true
}

// Returned gives the log back: the task is over, and what it asked for is applied next (A3.8).
func (m *Model) Returned() {
	m.Stage = UpkeepWaits
	m.release()
}

// Maintained gives the idle phase back, §3.6.4.
func (m *Model) Maintained() { m.Stage, m.Cause = Rest, "" }

// release logs what waited for the writer, D12. The caller has left the stage in which the log is lent.
func (m *Model) release() {
	m.Events = append(m.Events, m.Held...)
	m.Held = nil
}
