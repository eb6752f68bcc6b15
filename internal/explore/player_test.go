package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/soak"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A player plays a schedule on both sides.
type player struct {
	theatre
	*rand.Rand
	t       testing.TB
	id      string // of the agent
	clock   clock
	c       *soak.Run
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
	switch n := p.IntN(21); {
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
	case n == 18:
		p.together()
	case n == 19 && p.IntN(4) == 0:
		p.dispose()
	default:
		p.did("rollover asked for")
		p.roll()
	}
}

// did notes and counts an act.
func (p *player) did(what string, about ...any) {
	p.c.Met(what, 1)
	p.note("%s %v", what, about)
}

func (p *player) signal(name string, payload any) {
	require.NoError(p.t, p.Signal(p.t.Context(), p.id, name, payload))
}

func (p *player) dispose() {
	p.did("dispose")
	p.tell((*Model).Dispose)
	p.signal(signals.DisposeAgent, signals.Dispose{})
}

func (p *player) message() signals.Send {
	p.sent++
	id := fmt.Sprintf("m%d", p.sent*7+p.IntN(7)) // unique, and of any plan
	return signals.Send{ID: id, Text: "text of " + id}
}

// sends are all that a message can be: the aliases, and what none of them says.
var sends = []struct {
	act, target string
	wake        bool
}{
	{signals.Followup, session.NextTurn, true},
	{signals.Steer, session.NextStep, true},
	{signals.Inject, session.NextStep, false},
	{signals.SendTo, session.NextTurn, false},
}

// send is a message of one of the senders; the second one waits for its receipt.
func (p *player) send() {
	k, m := sends[p.IntN(13)/4], p.message() // the aliases are more common
	if k.act == signals.Followup && p.IntN(4) == 0 {
		p.interrupt(m)
		return
	}
	m.Target, m.Wakeup = k.target, k.wake
	p.did(k.act, m.ID)
	want := p.model.Send(m.ID, k.target, k.wake)
	if p.model.Latch {
		p.c.Met("wakes latched", 1)
	}
	if p.IntN(2) == 0 {
		p.signal(k.act, m)
		return
	}
	var r signals.Receipt
	require.NoError(p.t, p.Update(p.t.Context(), p.id, k.act, m, &r))
	require.Equal(p.t, want, string(r.Disposition), "receipt of %s", m.ID)
}

func (p *player) interrupt(m signals.Send) {
	p.did("interrupt", m.ID)
	m.Overlap = signals.OverlapInterrupt
	p.tell(func(model *Model) { model.Interrupt(m.ID) })
	p.signal(signals.Followup, m)
}

// tell tells the model of a cancel, and what follows from it at once.
func (p *player) tell(how func(*Model)) {
	was := p.model.Cause
	how(p.model)
	if was == "" && p.model.Cause != "" {
		p.c.Met("cancels that hit", 1)
		if p.paused { // X6: the stream ends there and then
			p.paused, p.cut, p.at = false, true, atEnd
		}
	}
}

func (p *player) cancel() {
	cause := p.cause()
	keep := p.IntN(2) == 0
	p.did(map[bool]string{false: "cancel", true: "cancel, keepInbox"}[keep], causeText(cause))
	p.tell(func(m *Model) { m.Cancel(causeText(cause), keep) })
	p.signal(signals.CancelTurn, signals.Cancel{Cause: &cause, KeepInbox: keep})
}

// together applies two acts before the agent goes on, architecture D24.
func (p *player) together() {
	cause, m := p.cause(), p.message()
	acts := []signals.Act{{Act: signals.CancelTurn, Cancel: &signals.Cancel{Cause: &cause}}, {Act: signals.Followup, Send: &m}}
	tell := []func(){
		func() { p.tell(func(m *Model) { m.Cancel(causeText(cause), false) }) },
		func() { p.model.Send(m.ID, session.NextTurn, true) },
	}
	if p.IntN(2) == 0 {
		slices.Reverse(acts)
		slices.Reverse(tell)
	}
	p.did("batch", acts[0].Act, acts[1].Act, m.ID)
	was := p.model.Stage
	tell[0]()
	tell[1]()
	if was != Greeting && p.model.Stage == Greeting && p.model.Cause != "" {
		p.model.Greeted() // the hook is cancelled before it starts
	}
	p.signal(signals.BatchActs, signals.Batch{Acts: acts})
}

func (p *player) cause() session.Cause {
	return []session.Cause{{Kind: session.CauseUser}, {Kind: session.CauseParent}, {Kind: session.CauseHook, Reason: "why"}}[p.IntN(3)]
}

// native cancels as Temporal's UI does; a run can be cancelled only once.
func (p *player) native() {
	if p.run == p.runs() {
		return
	}
	p.run = p.runs()
	p.did("native cancel")
	p.tell(func(m *Model) { m.NativeCancel("user", false) })
	p.cancelNatively()
}

func (p *player) edit() {
	pending := slices.Concat(p.model.NextStep, p.model.NextTurn)
	id := "nobody"
	if len(pending) > 0 {
		id = pending[p.IntN(len(pending))]
	}
	switch p.IntN(4) {
	case 0:
		target := []string{"", session.NextTurn, session.NextStep}[p.IntN(3)]
		p.did("promote", id, target)
		p.model.Promote(id, target)
		p.signal(signals.InboxPromote, signals.Promote{ID: id, Target: target})
		return
	case 1:
		p.reorder()
		return
	case 2:
		p.did("remove", id)
		p.model.Remove(id)
		p.signal(signals.InboxRemove, signals.Remove{ID: id})
		return
	}
	m := p.message()
	p.did("replace", id, m.ID)
	p.model.Replace(id, m.ID)
	p.signal(signals.InboxReplace, signals.Replace{ID: id, With: m})
}

// reorder shuffles a list.
func (p *player) reorder() {
	target := []string{session.NextTurn, session.NextStep}[p.IntN(2)]
	ids := slices.Clone(*p.model.list(target))
	p.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	if len(ids) == 0 {
		return
	}
	p.did("reorder", target, ids)
	p.model.Reorder(target, ids)
	p.signal(signals.InboxReorder, signals.Reorder{IDs: ids, Target: target})
}

func (p *player) clear() {
	p.did("clear")
	p.model.Clear()
	p.signal(signals.InboxClear, signals.Clear{})
}

func (p *player) maintain() {
	p.did("maintain")
	p.model.Maintain()
	p.signal(signals.MaintainAct, signals.Maintain{Task: "tidy"})
}
