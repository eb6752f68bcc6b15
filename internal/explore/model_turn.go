package explore

import (
	"slices"
	"strings"
)

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

// Defect notes that a call failed for a reason of the system's own: the turn fails when all calls have results, §4.8.
func (m *Model) Defect() { m.broken = true }

// stepOver ends the step and says what follows, §4.9.
func (m *Model) stepOver(owed bool) {
	m.endStep()
	broken := m.broken
	m.broken = false
	switch {
	case m.Cause != "":
		m.abort()
	case broken:
		m.end("error UNKNOWN", false)
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
