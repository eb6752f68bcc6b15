package explore

import (
	"fmt"
	"slices"
	"strings"
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

// A Writer says what happens to the log outside of steps and tasks.
type Writer struct {
	Writes  bool // it is being written: no step is claimed, no task begins
	Still   bool // and has been since before the last input: nothing ends, and no turn follows another
	Flushes bool // and so that idle can be said afterwards
	Moves   bool // the state is about to move to another run: no step is claimed
}

// Settle does what is owed without anything from outside.
func (m *Model) Settle(w Writer) {
	for m.owes(w) {
	}
}

func (m *Model) owes(w Writer) bool {
	switch m.Stage {
	case Opening:
		m.open()
		return true
	case Proposing:
		return m.propose(w.Writes || w.Moves)
	case Ending:
		return m.converge(w)
	case UpkeepWaits:
		return m.upkeep(w.Writes)
	case Rest:
		return m.rest(w.Writes)
	default:
		return false
	}
}

// open appends turn/start, unless the activity is cancelled already (X2). See §4.2.
func (m *Model) open() {
	if m.Cause != "" {
		m.Stage, m.normal = Ending, false
		return
	}
	m.Turn++
	m.Step, m.TurnOpen, m.first, m.cut, m.Stage = 0, true, true, false, Proposing
	m.log("TS%d", m.Turn)
}

// propose claims all of next-step, and for the first proposal of a turn the head of next-turn, §4.3; X3.
func (m *Model) propose(wait bool) bool {
	if m.Cause != "" {
		m.abort()
		return true
	}
	if wait {
		return false
	}
	if n := len(m.NextStep); n > 0 {
		m.log("IS-(next-step:%d)", n)
		m.batch, m.NextStep = m.NextStep, nil
	}
	if m.first && len(m.NextTurn) > 0 {
		m.log("IS-(next-turn:1)")
		m.batch = append(m.batch, m.NextTurn[0])
		m.NextTurn = m.NextTurn[1:]
	}
	m.first, m.Stage = false, Asking
	return false
}

// converge ends the drain, or opens the next turn if this one ended normally and something is pending. See §4.1, X13.
func (m *Model) converge(w Writer) bool {
	switch {
	case w.Still:
		return false
	case m.normal && m.Cause == "" && m.pending() > 0:
		m.Stage = Opening
		return true
	case w.Flushes:
		return false
	}
	m.Stage, m.Cause, m.Running = Rest, "", false
	m.Statuses = append(m.Statuses, "idle")
	return true
}

// upkeep lends the log to the task, or ends one that was cancelled before it began, §3.6.5.
func (m *Model) upkeep(wait bool) bool {
	switch {
	case m.Cause != "":
		m.Maintained()
		return true
	case !wait:
		m.Stage = Upkeep
	}
	return false
}

// rest replays a latched wake if something is pending, §3.1.5; a disposal closes.
func (m *Model) rest(wait bool) bool {
	latched := m.Latch
	m.Latch = false
	switch {
	case m.Disposing && !wait:
		m.Stage = Gone
	case !m.Disposing && latched && m.pending() > 0:
		m.start()
		return true
	}
	return false
}

// An Answer is how one attempt of a step ended, §4.4–4.7.
type Answer struct {
	Entered   bool     // step/start was logged
	Committed bool     // and so were the users
	Users     []string // that entered
	Settled   string   // AM, AM!, AM∅, AA, or nothing
	Calls     int      // tool calls of the message
	Cut       bool     // at the output ceiling
	Again     bool     // recovery: another attempt at once
	Later     bool     // recovery: another attempt after a wait
	Ends      string   // the turn ends so: blocked, empty, error CODE, aborted; nothing: it goes on
}

// Answered takes what a step came to: its own events first, then those that waited for it, D12. Decide with
// [Model.Decide], after what its gates asked for was applied (A3.8).
func (m *Model) Answered(a Answer) {
	m.Stage = Calling // the log is given back
	if a.Entered && !m.StepOpen {
		m.Step++
		m.StepOpen = true
		m.log("SS%d.%d", m.Turn, m.Step)
	}
	if a.Committed && len(a.Users) > 0 {
		m.log("UM(%s)", strings.Join(a.Users, ") UM("))
	}
	if a.Settled != "" {
		m.log("%s", a.Settled)
	}
	m.release()
	if a.Committed { // §4.3.5: what the gate kept out is given up
		m.drop(a.Users)
	}
}

// Decide acts on a step's outcome, §4.4.6, §4.7.3; a cancel beats everything but the tools of a message (X9).
func (m *Model) Decide(a Answer) {
	m.cut = m.cut || a.Cut
	switch {
	case a.Calls > 0:
		m.calls, m.ends = a.Calls, false
	case m.Cause != "" || a.Ends == "aborted":
		m.abort()
	case a.Later:
		m.Stage = Waiting
	case a.Again:
		m.Stage = Asking
	case a.Ends == "empty" && m.Step > 0: // the turn owes nothing, §4.4.6
		m.drop(nil)
		m.complete()
	case a.Ends == "empty":
		m.end("completed", false)
	case a.Ends != "":
		m.end(a.Ends, false)
	default:
		m.stepOver(false)
	}
}

// Retried starts the next attempt, §4.7.6.
func (m *Model) Retried() { m.Stage = Asking }

// Result commits one tool result with its contexts, which join next-step, §4.8.11, §5 rule 2.
func (m *Model) Result(name string, contexts []string, concludes bool) {
	m.log("%s", name)
	for _, id := range contexts {
		m.insert("next-step", id)
	}
	m.ends = m.ends || concludes
	if m.calls--; m.calls == 0 {
		m.stepOver(!m.ends)
	}
}

// stepOver ends the step and says what follows, §4.9.
func (m *Model) stepOver(owed bool) {
	m.endStep()
	switch {
	case m.Cause != "":
		m.abort()
	case owed || len(m.NextStep) > 0:
		m.Stage = Proposing
	case m.Objects:
		m.Stage = Objecting
	default:
		m.complete()
	}
}

// Objected ends the turn-stopping hook: a listener objects by what it put into next-step, §4.9.4–6; X12.
func (m *Model) Objected(failure string) {
	switch {
	case m.Cause != "":
		m.abort()
	case failure != "":
		m.end("error "+failure, false)
	case len(m.NextStep) > 0:
		m.Stage = Proposing
	default:
		m.complete()
	}
}

// Greeted ends the session-start hook; a failure is contained, §6.1.6.
func (m *Model) Greeted() { m.Stage = Opening }

func (m *Model) complete() {
	kind := "completed"
	if m.cut { // §2.4.2: sticky
		kind = "max-tokens"
	}
	m.end(kind, true)
}

// abort ends the turn with the first cause, §4.10.
func (m *Model) abort() { m.end("aborted "+m.Cause, false) }

// end closes step and turn, and gives up what was claimed and did not enter. See §4.3.5, §4.9.1, §4.10.
func (m *Model) end(reason string, normal bool) {
	m.drop(nil)
	m.endStep()
	m.log("TE(%s)", reason)
	m.TurnOpen, m.normal, m.Stage = false, normal, Ending
}

func (m *Model) endStep() {
	if m.StepOpen {
		m.log("SE")
		m.StepOpen = false
	}
}

func (m *Model) drop(entered []string) {
	for _, id := range m.batch {
		if !slices.Contains(entered, id) {
			m.Dropped = append(m.Dropped, id)
		}
	}
	m.batch = nil
}
