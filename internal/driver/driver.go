package driver

import (
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// A Driver decides for one agent. It is not safe for concurrent use.
type Driver struct {
	state   *State
	now     int64
	events  []session.Record
	effects []Effect
	replies int // open acts of a batch: receipts are collected instead of sent
	batch   []Receipt
	last    []string // messages that were given up last, by this input
}

// New makes the driver of an agent that is about to be born; carry out the returned effects first. in says how: its
// identity and time are filled in here.
func New(s State, in work.SetupIn, nowMS int64) (*Driver, []Effect) {
	s.Phase = Birth
	d := &Driver{state: &s, now: nowMS}
	in.Ident, in.CreatedAt = s.ident(), nowMS
	d.effect(StartSetup{In: in})
	_, effects := d.take()
	return d, effects
}

// Restore makes the driver of a state that another run handed over. Feed [Resumed] first.
func Restore(s State) *Driver { return &Driver{state: &s} }

// State is the driver's state; treat it as read-only.
func (d *Driver) State() *State { return d.state }

// Handle takes one input at nowMS (Unix ms) and returns what was logged and what must be carried out.
func (d *Driver) Handle(nowMS int64, in Input) ([]session.Record, []Effect) {
	d.now, d.last = nowMS, nil
	rolling := d.state.Rolling
	d.state.Rolling = false // the phase says again whether now is a good moment
	d.apply(in)
	if s := d.state; s.Rules > work.Rules { // architecture A3.12: a newer worker must go on
		d.effect(Defect{Message: fmt.Sprintf("driver: the agent goes by rules %d, this worker knows %d: a newer worker must take it", s.Rules, work.Rules)})
	}
	d.advance()
	d.nameLater()
	d.waits()
	if d.state.Rolling && !rolling {
		d.effect(Rollover{})
	}
	return d.take()
}

// apply dispatches one input; it does not advance.
func (d *Driver) apply(in Input) {
	switch in := in.(type) {
	case Sent: // §3.1
		d.onSent(in)
	case Removed: // §3.3
		d.onRemoved(in)
	case Replaced: // §3.3
		d.onReplaced(in)
	case Cleared: // §3.3
		d.onCleared(in)
	case Promoted:
		d.onPromoted(in)
	case Reordered:
		d.onReordered(in)
	case CancelAsked: // §3.4, §5
		d.onCancel(in)
	case DisposeAsked: // §6.3
		d.onDispose(in)
	case Batch:
		d.onBatch(in)
	case Born: // §6.1
		d.onBorn(in)
	case StepDone: // §4.4–4.7
		d.onStepDone(in)
	case StepLost:
		d.onStepLost(in)
	case ToolDone: // §4.8
		d.onToolDone(in)
	case ToolLost:
		d.onToolLost(in)
	case Persisted: // §4.11
		d.onPersisted(in)
	case PersistFailed:
		d.onPersistFailed(in)
	case TimerFired:
		d.onTimer(in)
	case Decided: // §4.8, pipeline 2
		d.onDecided(in)
	case Answered:
		d.onAnswered(in)
	case PolicyAsked:
		d.onPolicy(in)
	case PlanAsked:
		d.onPlan(in)
	case MaintainAsked: // §3.6
		d.onMaintainAsked(in)
	case MaintainDone:
		d.onMaintainDone(in)
	case MaintainLost:
		d.onMaintainLost(in)
	case HookDone: // §4.9.4, §6.1.6
		d.onHookDone(in.ID, in.Out)
	case HookLost:
		d.onHookDone(in.ID, work.HookOut{Failure: &session.Failure{Code: work.CodeUnknown, Message: "the hook was lost: " + in.Message}})
	case SpawnAsked: // §6.4
		d.onSpawn(in)
	case ChildStarted:
		d.onChildStarted(in)
	case ChildFailed:
		d.onChildFailed(in)
	case ChildTold:
		d.onChildTold(in)
	case ChildClosed:
		d.onChildClosed(in)
	case ChildSeen:
		d.onChildSeen(in)
	case ConfigureAsked: // architecture A3.12
		d.onConfigureAsked(in)
	case ConfigureDone:
		d.onConfigureDone(in)
	case ConfigureLost:
		d.onConfigureLost(in)
	case Reset: // A3.12
		d.onReset(in)
	case RollAsked:
		d.onRoll(in)
	case Resumed:
		d.onResumed()
	default:
		d.effect(Defect{Message: fmt.Sprintf("driver: unknown input %T", in)})
	}
}

// advance asks the phase what is owed next until it only waits.
func (d *Driver) advance() {
	for d.owes() {
	}
}

// owes carries out one thing that the phase owes and reports whether to ask again.
func (d *Driver) owes() bool {
	switch d.state.Phase {
	case Idle:
		return d.idle()
	case Opening:
		return d.openTurn()
	case Claiming:
		return d.propose()
	case Stepping:
		return d.attempt()
	case Tools:
		return d.callsOwe()
	case Draining:
		return d.drain()
	case Maintaining:
		return d.maintain()
	default: // Birth, Starting, Retrying, Stopping and Closed only wait
		return false
	}
}

func (d *Driver) take() ([]session.Record, []Effect) {
	events, effects := d.events, d.effects
	d.events, d.effects = nil, nil
	return events, effects
}

func (d *Driver) effect(e Effect) { d.effects = append(d.effects, e) }

func (d *Driver) notify(name string, data any) { d.effect(Notify{Name: name, Data: data}) }

// effectID gives the next effect its name, unique in the agent's life.
func (d *Driver) effectID(kind string) string {
	d.state.Effects++
	return fmt.Sprintf("%s-%d", kind, d.state.Effects)
}

// reply answers a caller; inside a batch the receipt joins the batch's own.
func (d *Driver) reply(ref string, r Receipt) {
	r.Revision = d.state.Revision
	if d.replies > 0 {
		d.batch = append(d.batch, r)
		return
	}
	d.replyLate(ref, r)
}

// replyLate answers a caller whose own input is over, whatever the one at hand is.
func (d *Driver) replyLate(ref string, r Receipt) {
	r.Revision = d.state.Revision
	if r.Disposition == Refused && ref == "" {
		d.notify("agent/refused", r)
	}
	if ref != "" {
		d.effect(Reply{Ref: ref, Receipt: r})
	}
}

// seen reports whether a request was accepted before, and answers it.
func (d *Driver) seen(ref, request, id string) bool {
	if request == "" || !d.state.Seen.has(requestKey(request)) {
		return false
	}
	d.reply(ref, Receipt{ID: id, Disposition: Duplicate})
	return true
}

// remember notes an accepted request, so that a repetition changes nothing.
func (d *Driver) remember(request string) {
	if request != "" {
		d.state.Seen.add(requestKey(request))
	}
}

// onBatch applies all acts before the driver advances. Acts have no Ref of their own: the batch's receipt holds theirs,
// in order. See architecture D24.
func (d *Driver) onBatch(in Batch) {
	if d.seen(in.Ref, in.Request, "") {
		return
	}
	d.remember(in.Request)
	d.replies++
	for _, act := range in.Acts {
		if isAct(act) {
			d.apply(act)
			continue
		}
		d.reply("", Receipt{Disposition: Refused, Code: RefusedInvalid, Message: fmt.Sprintf("%T cannot be part of a batch", act)})
	}
	d.replies--
	receipts := d.batch
	d.batch = nil
	for _, r := range receipts {
		if in.Ref == "" && r.Disposition == Refused {
			d.notify("agent/refused", r)
		}
	}
	d.reply(in.Ref, Receipt{Disposition: Done, Receipts: receipts})
}

// isAct reports whether an input is something a caller asks for, and not an answer or another batch.
func isAct(in Input) bool {
	switch in.(type) {
	case Sent, Removed, Replaced, Cleared, Promoted, Reordered, CancelAsked, DisposeAsked, Decided, Answered, PolicyAsked, PlanAsked:
		return true
	default:
		return false
	}
}
