package conformance

import (
	"context"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// A payload is an act of the wire, for an update or a part of a batch.
type payload struct {
	act  signals.Act
	sent *session.Message // the message it sends, if it sends one
	seen bool             // an edit of the inbox as it was when it was looked at last
}

// body is the payload by itself.
func (p payload) body() any {
	switch {
	case p.act.Send != nil:
		return *p.act.Send
	case p.act.Cancel != nil:
		return *p.act.Cancel
	case p.act.Remove != nil:
		return *p.act.Remove
	case p.act.Replace != nil:
		return *p.act.Replace
	case p.act.Promote != nil:
		return *p.act.Promote
	case p.act.Reorder != nil:
		return *p.act.Reorder
	default:
		return *p.act.Clear
	}
}

// sending reads `NAME [next-turn|next-step] [wake] [queue|steer|interrupt|reject] [if-idle] [at-turn N]`.
func sending(name string) func(*setup, *words) (act, error) {
	return func(s *setup, w *words) (act, error) {
		p, err := parseSend(name)(s, w)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, r *run) outcome {
			m, send := p.sent, *p.act.Send
			receipt, err := r.agent.Receipt(ctx, name, p.message(), send.Target, send.Wakeup)
			return r.sent(m.ID, receipt, err)
		}, nil
	}
}

// message is the message as programs send it, with what is to become of it if the agent is busy.
func (p payload) message() agents.Message {
	m := message(*p.sent)
	m.Overlap, m.OnlyIfIdle, m.ExpectedTurn = p.act.Send.Overlap, p.act.Send.OnlyIfIdle, p.act.Send.ExpectedTurn
	return m
}

// message is a message as programs send it.
func message(m session.Message) agents.Message {
	out := agents.Message{ID: m.ID, Source: &m.Source, Content: m.Content}
	if text, ok := onlyText(m.Content); ok {
		out.Text, out.Content = text, nil
	}
	return out
}

func onlyText(c session.Content) (string, bool) {
	if len(c) != 1 {
		return "", false
	}
	t, ok := c[0].(session.Text)
	return t.Text, ok
}

func parseSend(name string) func(s *setup, w *words) (payload, error) {
	return func(s *setup, w *words) (payload, error) {
		who, err := w.bare("the name of a message")
		if err != nil {
			return payload{}, err
		}
		m := s.message(who)
		send := signals.Send{RequestID: uuid.NewString(), ID: m.ID, Content: m.Content, Source: &m.Source}
		if name == signals.SendTo {
			if send.Target, err = w.bare("next-turn or next-step"); err != nil {
				return payload{}, err
			}
			send.Wakeup = w.take("wake")
		}
		if err := parseOverlap(w, &send); err != nil {
			return payload{}, err
		}
		return payload{act: signals.Act{Act: name, Send: &send}, sent: &m}, nil
	}
}

func parseCancel(_ *setup, w *words) (payload, error) {
	var args []string
	for !w.done() && w.peek() != ";" {
		word, err := w.bare("a cause")
		if err != nil {
			return payload{}, err
		}
		args = append(args, word)
	}
	cause, keep, err := parseCause(args)
	return payload{act: signals.Act{Act: signals.CancelTurn, Cancel: &signals.Cancel{RequestID: uuid.NewString(), Cause: &cause, KeepInbox: keep}}}, err
}

func parseRemove(s *setup, w *words) (payload, error) {
	who, err := w.bare("the name of a message")
	return payload{seen: w.take("seen"), act: signals.Act{Act: signals.InboxRemove, Remove: &signals.Remove{RequestID: uuid.NewString(), ID: s.message(who).ID}}}, err
}

func parseReplace(s *setup, w *words) (payload, error) {
	who, err := w.bare("the name of a message")
	if err != nil {
		return payload{}, err
	}
	with, err := w.bare("the name of the other message")
	m := s.message(with)
	return payload{seen: w.take("seen"), act: signals.Act{Act: signals.InboxReplace, Replace: &signals.Replace{RequestID: uuid.NewString(), ID: s.message(who).ID,
		With: signals.Send{ID: m.ID, Content: m.Content, Source: &m.Source}}}}, err
}

func parseClear(_ *setup, w *words) (payload, error) {
	return payload{seen: w.take("seen"), act: signals.Act{Act: signals.InboxClear, Clear: &signals.Clear{RequestID: uuid.NewString()}}}, nil
}

// one makes an update of one act.
func one(parse func(*setup, *words) (payload, error)) func(*setup, *words) (act, error) {
	return func(s *setup, w *words) (act, error) {
		p, err := parse(s, w)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, r *run) outcome {
			p := r.since(p)
			receipt, err := r.agent.Act(ctx, p.act.Act, p.body())
			return outcome{receipt: &receipt, err: err}
		}, nil
	}
}
