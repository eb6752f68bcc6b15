package driver

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// The world may be told what happens to an agent: when it waits for somebody, when a turn ended, when something failed.
// Each thing told is an effect that nobody waits for. What nobody asked to be told costs nothing.

// told reports whether a kind is to be told.
func (s *State) told(kind string) bool {
	return slices.Contains(s.Manifest.Tells, kind) || slices.Contains(s.Tells, kind)
}

// tell names what is told by the epoch too: a reset may give the same effect id once more.
func (d *Driver) tell(kind string, in work.TellIn) {
	s := d.state
	if !s.told(kind) {
		return
	}
	in.ID = fmt.Sprintf("%s/tell/%d.%s", s.Session, s.Epoch, d.effectID("tell"))
	in.Kind, in.Ident, in.Time, in.Title, in.Parent, in.Queue = kind, s.ident(), d.now, s.Title, s.Parent, s.Queue
	in.Turn, in.Step = s.Turn, s.Step
	d.effect(Tell{In: in})
}

// tellsOf are what is told of the beginning and the end of a wait.
func tellsOf(kind string) (began, ended string) {
	switch kind {
	case work.WaitQuestion:
		return session.ToldQuestionAsked, session.ToldQuestionAnswered
	case work.WaitClient:
		return session.ToldClientCalled, session.ToldClientAnswered
	default:
		return session.ToldApprovalAsked, session.ToldApprovalDecided
	}
}

// tellWait tells that a call waits, and for what.
func (d *Driver) tellWait(c *Call) {
	began, _ := tellsOf(c.Ask.Kind)
	w := work.Waits{ID: c.Ask.ID, Kind: cmp.Or(c.Ask.Kind, work.WaitApproval), CallID: c.ID, Tool: c.Name, Reason: c.Ask.Reason,
		Digest: c.Ask.Digest, Questions: c.Ask.Questions, DueMS: c.Ask.DueMS}
	if w.Blob = c.Blob; c.Blob == nil {
		w.Arguments = c.Arguments
	}
	d.tell(began, work.TellIn{Wait: &w})
}

// tellDecided tells how an approval ended, unless nobody was asked.
func (d *Driver) tellDecided(c *Call, v verdict) {
	if c.State == CallAsking || c.State == CallChecking {
		d.tellEnded(c, work.WaitEnded{Outcome: v.outcome, By: gist(v.by), Reason: gist(v.reason), Via: v.via, Edited: len(v.arguments) > 0})
	}
}

func (d *Driver) tellEnded(c *Call, e work.WaitEnded) {
	_, ended := tellsOf(c.Ask.Kind)
	e.ID, e.Kind, e.CallID, e.Tool = c.Ask.ID, cmp.Or(c.Ask.Kind, work.WaitApproval), c.ID, c.Name
	d.tell(ended, work.TellIn{Ended: &e})
}

// tellWaits tells everything that waits once more: what was told before belongs to an epoch that was given up.
func (d *Driver) tellWaits() {
	for i := range d.state.Calls {
		if c := &d.state.Calls[i]; c.State == CallAsking || c.State == CallChecking {
			d.tellWait(c)
		}
	}
}

// maxToldIDs bounds the messages that the end of a turn names.
const maxToldIDs = 16

// tellTurn tells the end of a turn. Its last message is in the log that the store holds: a Step wrote it.
func (d *Driver) tellTurn(reason session.TurnReason) {
	s := d.state
	head := s.Log.Head
	d.tell(session.ToldTurnEnded, work.TellIn{Reason: &reason, Ids: slices.Clone(s.Claimed[:min(len(s.Claimed), maxToldIDs)]), Head: &head})
}
