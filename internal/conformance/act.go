package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// An act is what a line with > does.
type act func(ctx context.Context, r *run) outcome

// acts are the acts by their first word. The parser of each takes the rest of the line.
var acts = map[string]func(s *setup, w *words) (act, error){
	signals.Followup: sending(signals.Followup),
	signals.Steer:    sending(signals.Steer),
	signals.Inject:   sending(signals.Inject),
	"send":           sending(signals.SendTo),
	"cancel":         one(parseCancel),
	"remove":         one(parseRemove),
	"replace":        one(parseReplace),
	"clear":          one(parseClear),
	"batch":          parseBatch,
	"signal":         parseSignal,
	"direct":         parseDirect,
	"raw":            parseRaw,
	"again":          parseAgain,
	"idle":           parseIdle,
	"wait":           parseWait,
	"join":           parseJoin,
	"until":          parseUntil,
	"release":        parseRelease,
	"look":           func(*setup, *words) (act, error) { return quiet((*run).nothing), nil },
	"dispose":        func(*setup, *words) (act, error) { return quiet((*run).dispose), nil },
	"create":         func(*setup, *words) (act, error) { return quiet((*run).nothing), nil },
	"configure":      parseConfigure,
	"fault":          parseFault,
	"mend":           func(*setup, *words) (act, error) { return quiet((*run).mend), nil },
	"rebuild":        parseRebuild,
}

// parseAct reads an act.
func (s *setup) parseAct(text string) (act, error) {
	w := &words{text}
	name, err := w.bare("an act")
	if err != nil {
		return nil, err
	}
	parse, ok := acts[name]
	if !ok {
		return nil, fmt.Errorf("unknown act %q", name)
	}
	a, err := parse(s, w)
	if err == nil {
		err = w.end()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return func(ctx context.Context, r *run) outcome {
		if name == "rebuild" || name == "configure" || name == "fault" {
			return a(ctx, r)
		}
		if err := r.open(ctx); err != nil {
			return outcome{err: err}
		}
		return a(ctx, r)
	}, nil
}

// quiet is an act without a receipt.
func quiet(do func(*run, context.Context) error) act {
	return func(ctx context.Context, r *run) outcome { return outcome{err: do(r, ctx)} }
}

func (r *run) nothing(context.Context) error { return nil }

// A payload is an act of the wire, for an update or a part of a batch.
type payload struct {
	act  signals.Act
	sent *session.Message // the message it sends, if it sends one
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
	default:
		return signals.Clear{RequestID: uuid.NewString()}
	}
}

// sending reads `NAME [next-turn|next-step] [wake]`.
func sending(name string) func(*setup, *words) (act, error) {
	return func(s *setup, w *words) (act, error) {
		p, err := parseSend(name)(s, w)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, r *run) outcome {
			m, send := *p.sent, *p.act.Send
			receipt, err := r.agent.Receipt(ctx, name, message(m), send.Target, send.Wakeup)
			return r.sent(m.ID, receipt, err)
		}, nil
	}
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
	return payload{act: signals.Act{Act: signals.InboxRemove, Remove: &signals.Remove{RequestID: uuid.NewString(), ID: s.message(who).ID}}}, err
}

func parseReplace(s *setup, w *words) (payload, error) {
	who, err := w.bare("the name of a message")
	if err != nil {
		return payload{}, err
	}
	with, err := w.bare("the name of the other message")
	m := s.message(with)
	return payload{act: signals.Act{Act: signals.InboxReplace, Replace: &signals.Replace{RequestID: uuid.NewString(), ID: s.message(who).ID,
		With: signals.Send{ID: m.ID, Content: m.Content, Source: &m.Source}}}}, err
}

func parseClear(*setup, *words) (payload, error) {
	return payload{act: signals.Act{Act: signals.InboxClear}}, nil
}

// one makes an update of one act.
func one(parse func(*setup, *words) (payload, error)) func(*setup, *words) (act, error) {
	return func(s *setup, w *words) (act, error) {
		p, err := parse(s, w)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, r *run) outcome {
			receipt, err := r.agent.Act(ctx, p.act.Act, p.body())
			return outcome{receipt: &receipt, err: err}
		}, nil
	}
}

// parts are the acts that a batch may hold and that can be sent as signals.
var parts = map[string]func(*setup, *words) (payload, error){
	signals.Followup: parseSend(signals.Followup),
	signals.Steer:    parseSend(signals.Steer),
	signals.Inject:   parseSend(signals.Inject),
	"send":           parseSend(signals.SendTo),
	"cancel":         parseCancel,
	"remove":         parseRemove,
	"replace":        parseReplace,
	"clear":          parseClear,
}

func (s *setup) part(w *words) (payload, error) {
	name, err := w.bare("an act")
	if err != nil {
		return payload{}, err
	}
	parse, ok := parts[name]
	if !ok {
		return payload{}, fmt.Errorf("%q cannot stand here", name)
	}
	return parse(s, w)
}

// parseBatch reads `act; act`: they are applied before the agent goes on.
func parseBatch(s *setup, w *words) (act, error) {
	var all []payload
	for more := true; more; more = w.take(";") {
		p, err := s.part(w)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return func(ctx context.Context, r *run) outcome {
		b := signals.Batch{RequestID: uuid.NewString()}
		for _, p := range all {
			b.Acts = append(b.Acts, p.act)
		}
		receipt, err := r.agent.Act(ctx, signals.BatchActs, b)
		for i, inner := range receipt.Receipts {
			if all[i].sent != nil && inner.Disposition != signals.Refused {
				r.inserts = append(r.inserts, all[i].sent.ID)
			}
		}
		return outcome{receipt: &receipt, err: err}
	}, nil
}

// parseSignal reads an act that is sent as a signal: there is no receipt.
func parseSignal(s *setup, w *words) (act, error) {
	p, err := s.part(w)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *run) outcome {
		if p.sent == nil {
			return outcome{err: r.site.client.Backend.Signal(ctx, r.agent.ID(), p.act.Act, p.body())}
		}
		err := r.signal(ctx, p)
		return outcome{err: err}
	}, nil
}

// signal sends a message the way programs do.
func (r *run) signal(ctx context.Context, p payload) (err error) {
	m := message(*p.sent)
	switch p.act.Act {
	case signals.Followup:
		_, err = r.agent.Followup(ctx, m)
	case signals.Steer:
		_, err = r.agent.Steer(ctx, m)
	case signals.Inject:
		_, err = r.agent.Inject(ctx, m)
	default:
		_, err = r.agent.Send(ctx, m, p.act.Send.Target, p.act.Send.Wakeup)
	}
	if err == nil {
		r.inserts = append(r.inserts, p.sent.ID)
	}
	return err
}

// parseDirect reads an act that is sent as somebody's script may do it: with its body in the payload, however large.
func parseDirect(s *setup, w *words) (act, error) {
	p, err := s.part(w)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *run) outcome {
		receipt, err := r.agent.Act(ctx, p.act.Act, p.body())
		if p.sent != nil {
			return r.sent(p.sent.ID, receipt, err)
		}
		return outcome{receipt: &receipt, err: err}
	}, nil
}

// parseRaw reads `ACT JSON`: a payload as somebody's script may send it.
func parseRaw(_ *setup, w *words) (act, error) {
	name, err := w.bare("the name of an act")
	if err != nil {
		return nil, err
	}
	raw, err := w.value("the payload")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *run) outcome {
		receipt, err := r.agent.Act(ctx, name, raw)
		var m struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(raw, &m) // an odd payload names no message
		return r.sent(m.ID, receipt, err)
	}, nil
}

// parseAgain reads an act that is sent twice with the same request id, as a client does that lost the first answer; the
// receipt is the second one's.
func parseAgain(s *setup, w *words) (act, error) {
	p, err := s.part(w)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *run) outcome {
		if receipt, err := r.agent.Act(ctx, p.act.Act, p.body()); err != nil {
			return outcome{receipt: &receipt, err: err}
		}
		receipt, err := r.agent.Act(ctx, p.act.Act, p.body())
		if p.sent != nil {
			return r.sent(p.sent.ID, receipt, err)
		}
		return outcome{receipt: &receipt, err: err}
	}, nil
}

// sent notes an accepted message.
func (r *run) sent(id string, receipt signals.Receipt, err error) outcome {
	if err == nil && id != "" {
		r.inserts = append(r.inserts, id)
	}
	return outcome{receipt: &receipt, err: err}
}

// refusal is the code of a refused act.
func (o outcome) refusal() string {
	var refused *agents.RefusedError
	if errors.As(o.err, &refused) {
		return refused.Code
	}
	return ""
}

// words is the receipt as scenarios write it.
func (o outcome) words() string {
	if o.err != nil {
		return "refused " + o.refusal()
	}
	if o.receipt == nil {
		return "none"
	}
	return receiptWords(*o.receipt)
}

func receiptWords(r signals.Receipt) string {
	out := string(r.Disposition)
	switch {
	case r.Code != "":
		out += " " + r.Code
	case r.Found != nil && *r.Found:
		out += " found"
	case r.Found != nil:
		out += " not-found"
	}
	var inner []string
	for _, i := range r.Receipts {
		inner = append(inner, receiptWords(i))
	}
	if inner != nil {
		out += ": " + strings.Join(inner, ", ")
	}
	return out
}
