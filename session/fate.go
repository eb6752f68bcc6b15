package session

import "cmp"

// The states of a message. See [Fate].
const (
	FatePending   = "pending"
	FateClaimed   = "claimed"   // by a turn that is open
	FateEnded     = "ended"     // it entered a step, and the turn is over
	FateDropped   = "dropped"   // claimed, but it did not enter its step
	FateDiscarded = "discarded" // left the inbox without being claimed
)

// Why a message was discarded.
const (
	Removed   = "removed"
	Cleared   = "cleared"   // with all others; of a list of one the log cannot tell it from removed
	Cancelled = "cancelled" // with the work that it waited for
	Replaced  = "replaced"  // by another message, or by another text of its own id
)

// Why a claimed message was dropped.
const (
	DropBlocked     = "blocked"
	DropAborted     = "aborted"
	DropError       = "error"
	DropRewritten   = "rewritten"   // a gate kept it out of the step
	DropInterrupted = "interrupted" // the run vanished before it entered
)

// A Fate is what became of one message so far. See spec §2.4.1, §4.3.
type Fate struct {
	State      string   // empty: nothing is known of it
	Target     string   // pending: the list
	Turn, Step int      // that claimed it; the step may not have been entered
	Kind       TurnKind // ended, dropped: how the turn ended
	Consumed   bool     // it entered a step: it is a user message of the log
	Edited     bool     // pending, claimed: it was replaced under its own id
	Cause      string   // discarded
	ReplacedBy string   // id, of cause replaced
	Reason     string   // dropped, or claimed and certain to be
}

// A Tracker follows one message through a log. The zero value is not ready; see [Track].
type Tracker struct {
	id         string
	seed       int64
	inbox      Inbox
	turn, step int
	entered    bool // a message of the open step was logged
	cancelling bool // the last events are a cancel and what it discards
	fate       Fate
}

// Track follows a message. The first seedLength events were inherited from another session.
func Track(id string, seedLength int64) *Tracker { return &Tracker{id: id, seed: seedLength} }

// Fate is what became of the message so far.
func (t *Tracker) Fate() Fate { return t.fate }

// Add takes the next record of a valid log.
func (t *Tracker) Add(r Record) {
	if r.Seq == t.seed && t.seed > 0 { // what the parent had pending is not inherited
		t.inbox = Inbox{}
		if t.fate.State == FatePending {
			t.fate = Fate{}
		}
	}
	switch e := r.Event.(type) {
	case CancelRequested:
		t.cancelling = !e.KeepInbox
	case InboxSpliced:
		t.cancelling = t.cancelling && e.Outcome == OutcomeCanceled
		t.splice(e)
	default:
		t.cancelling = false
		t.note(r)
	}
}

// note takes what is no removal.
func (t *Tracker) note(r Record) {
	switch e := r.Event.(type) {
	case InboxMoved:
		if t.inbox.ApplyMove(e) == nil {
			if list, _, ok := t.inbox.Find(t.id); ok {
				t.fate.Target = list
			}
		}
	case TurnStart:
		t.turn, t.step = e.Turn, 0
	case StepStart:
		t.step, t.entered = e.Step, false
	case UserMessage:
		if r.Surface != nil && !r.Surface.Replace {
			t.enter(e.ID)
		}
	case RequestHeader, RequestContext, AssistantChunk, AssistantMessage, AssistantAttempt:
		t.keptOut()
	case StepEnd:
		if t.entered {
			t.keptOut()
		}
	case TurnEnd:
		t.end(e)
	}
}

func (t *Tracker) splice(e InboxSpliced) {
	_, _, before := t.inbox.Find(t.id)
	if t.inbox.Apply(e) != nil {
		return // the log's own check reports it
	}
	list, at, after := t.inbox.Find(t.id)
	switch {
	case before && after:
		t.fate.Edited = t.fate.Edited || list == e.Target && at >= e.Start && at < e.Start+len(e.Inserted)
	case after:
		t.fate = Fate{State: FatePending, Target: list}
	case before && e.Outcome == OutcomeCanceled:
		t.fate = t.discarded(e)
	case before:
		t.fate = Fate{State: FateClaimed, Turn: t.turn, Step: t.step + 1, Edited: t.fate.Edited}
	}
}

// discarded reads the cause from the form of the splice and from what is before it.
func (t *Tracker) discarded(e InboxSpliced) Fate {
	f := Fate{State: FateDiscarded}
	switch {
	case len(e.Inserted) > 0:
		f.Cause, f.ReplacedBy = Replaced, e.Inserted[0].ID
	case t.cancelling:
		f.Cause = Cancelled
	case e.RemovedCount > 1:
		f.Cause = Cleared
	default:
		f.Cause = Removed
	}
	return f
}

// enter notes a message that a step begins with.
func (t *Tracker) enter(id string) {
	t.entered = true
	if id == t.id && t.fate.State == FateClaimed && t.fate.Turn == t.turn {
		t.fate.Consumed, t.fate.Reason = true, ""
	}
}

// keptOut: the messages of the step are logged, and this one, which was claimed for it, is not among them.
func (t *Tracker) keptOut() {
	if f := &t.fate; f.State == FateClaimed && !f.Consumed && f.Turn == t.turn && f.Step == t.step {
		f.Reason = DropRewritten
	}
}

func (t *Tracker) end(e TurnEnd) {
	f := &t.fate
	if f.State != FateClaimed || f.Turn != e.Turn {
		return
	}
	f.State, f.Kind, f.Edited = FateEnded, e.Reason.Kind, false
	if !f.Consumed {
		f.State, f.Reason = FateDropped, cmp.Or(f.Reason, DropReason(e.Reason.Kind))
	}
}

// DropReason is why a message did not enter that was claimed when its turn ended.
func DropReason(k TurnKind) string {
	switch k {
	case TurnBlocked:
		return DropBlocked
	case TurnAborted:
		return DropAborted
	case TurnErrored:
		return DropError
	case TurnInterrupted:
		return DropInterrupted
	default:
		return DropRewritten
	}
}
