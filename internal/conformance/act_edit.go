package conformance

import (
	"github.com/google/uuid"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// parseOverlap reads `[queue|steer|interrupt|reject] [if-idle] [at-turn N]`.
func parseOverlap(w *words, send *signals.Send) error {
	for _, overlap := range []string{signals.OverlapQueue, signals.OverlapSteer, signals.OverlapInterrupt, signals.OverlapReject} {
		if w.take(overlap) {
			send.Overlap = overlap
		}
	}
	send.OnlyIfIdle = w.take("if-idle")
	if !w.take("at-turn") {
		return nil
	}
	turn, err := w.number("the number of a turn")
	send.ExpectedTurn = &turn
	return err
}

// parsePromote reads `NAME [next-turn|next-step] [seen]`.
func parsePromote(s *setup, w *words) (payload, error) {
	who, err := w.bare("the name of a message")
	p := signals.Promote{RequestID: uuid.NewString(), ID: s.message(who).ID}
	for _, list := range []string{session.NextTurn, session.NextStep} {
		if w.take(list) {
			p.Target = list
		}
	}
	return payload{seen: w.take("seen"), act: signals.Act{Act: signals.InboxPromote, Promote: &p}}, err
}

// parseReorder reads `NAME NAME … [seen]`.
func parseReorder(s *setup, w *words) (payload, error) {
	r := signals.Reorder{RequestID: uuid.NewString()}
	for !w.done() && w.peek() != ";" && w.peek() != "seen" {
		who, err := w.bare("the name of a message")
		if err != nil {
			return payload{}, err
		}
		r.IDs = append(r.IDs, s.message(who).ID)
	}
	return payload{seen: w.take("seen"), act: signals.Act{Act: signals.InboxReorder, Reorder: &r}}, nil
}

// since makes an edit one of the inbox as it was when the scenario looked at it last.
func (r *run) since(p payload) payload {
	if !p.seen {
		return p
	}
	a, revision := p.act, &r.revision
	switch {
	case a.Remove != nil:
		a.Remove = &signals.Remove{RequestID: a.Remove.RequestID, ID: a.Remove.ID, Revision: revision}
	case a.Replace != nil:
		a.Replace = &signals.Replace{RequestID: a.Replace.RequestID, ID: a.Replace.ID, With: a.Replace.With, Revision: revision}
	case a.Clear != nil:
		a.Clear = &signals.Clear{RequestID: a.Clear.RequestID, Revision: revision}
	case a.Promote != nil:
		a.Promote = &signals.Promote{RequestID: a.Promote.RequestID, ID: a.Promote.ID, Target: a.Promote.Target, Revision: revision}
	case a.Reorder != nil:
		a.Reorder = &signals.Reorder{RequestID: a.Reorder.RequestID, IDs: a.Reorder.IDs, Revision: revision}
	}
	return payload{act: a, sent: p.sent, seen: true}
}
