package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

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
