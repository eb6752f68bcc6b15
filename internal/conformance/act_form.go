package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

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
	"promote":        parsePromote,
	"reorder":        parseReorder,
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
			b.Acts = append(b.Acts, r.since(p).act)
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

// parseSignal reads an act that is sent as a signal: there is no receipt. It may be a direct one.
func parseSignal(s *setup, w *words) (act, error) {
	direct := w.take("direct")
	p, err := s.part(w)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *run) outcome {
		p := r.since(p)
		if direct && p.sent != nil {
			r.inserts = append(r.inserts, p.sent.ID)
		}
		if direct || p.sent == nil {
			return outcome{err: r.site.client.Backend.Signal(ctx, r.agent.ID(), p.act.Act, p.body())}
		}
		err := r.signal(ctx, p)
		return outcome{err: err}
	}, nil
}

// signal sends a message the way programs do.
func (r *run) signal(ctx context.Context, p payload) (err error) {
	m := p.message()
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
		p := r.since(p)
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
		if !slices.Contains(aboutCalls, name) {
			_ = json.Unmarshal(raw, &m) // an odd payload names no message
		}
		return r.sent(m.ID, receipt, err)
	}, nil
}

// aboutCalls are the acts whose id is not a message's.
var aboutCalls = []string{signals.Approve, signals.DenyCall, signals.AnswerAsked, signals.GiveResult}

// parseAgain reads an act that is sent twice with the same request id, as a client does that lost the first answer; the
// receipt is the second one's.
func parseAgain(s *setup, w *words) (act, error) {
	p, err := s.part(w)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *run) outcome {
		p := r.since(p)
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
