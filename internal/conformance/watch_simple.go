package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// named is a watch of one value that is compared as it stands.
func named(key, value string, look func(context.Context, *run) (string, error)) (*watch, error) {
	if value == "" {
		return nil, fmt.Errorf("what is to be seen is missing")
	}
	return &watch{key: key, want: strings.Join(strings.Fields(value), " "), look: look}, nil
}

// arriving is named for what may take a moment.
func arriving(w *watch, err error) (*watch, error) {
	if w != nil {
		w.waits = true
	}
	return w, err
}

// value puts together what stands behind a key without a colon.
func value(args []string, rest string) string {
	return strings.TrimSpace(strings.Join(args, " ") + " " + rest)
}

func (r *run) state(ctx context.Context) (signals.State, error) {
	if r.agent == nil {
		return signals.State{}, errors.New("there is no agent yet")
	}
	return r.agent.State(ctx)
}

func parseStatus(args []string, rest string) (*watch, error) {
	return named("status", value(args, rest), func(ctx context.Context, r *run) (string, error) {
		if r.closed {
			return "closed", nil
		}
		s, err := r.state(ctx)
		return s.Status, err
	})
}

func parseStatusTrace(args []string, rest string) (*watch, error) {
	return arriving(named("status-trace", value(args, rest), func(_ context.Context, r *run) (string, error) { return r.notices.statuses(), nil }))
}

func parseNotices(_ []string, rest string) (*watch, error) {
	w, err := arriving(named("notices:", rest, func(_ context.Context, r *run) (string, error) { return r.notices.fresh(), nil }))
	if err == nil {
		w.then = func(r *run, got string) { r.notices.mark(got) }
	}
	return w, err
}

// parseReceipt reads `receipt DISPOSITION [found|not-found]`, and of a batch `receipt done: started, done found`.
func parseReceipt(args []string, rest string) (*watch, error) {
	want := strings.Join(args, " ")
	if rest != "" {
		want += ": " + rest
	}
	return named("receipt", want, func(_ context.Context, r *run) (string, error) { return r.last.words(), nil })
}

// parseRefused reads `refused CODE`.
func parseRefused(args []string, rest string) (*watch, error) {
	return named("refused", value(args, rest), func(_ context.Context, r *run) (string, error) {
		if r.last.err != nil && r.last.refusal() == "" {
			return r.last.err.Error(), nil
		}
		if r.last.err == nil {
			return "no refusal, but " + r.last.words(), nil
		}
		return r.last.refusal(), nil
	})
}

// parseFails reads `fails "a part of what the error says"`.
func parseFails(args []string, rest string) (*watch, error) {
	part, err := strconv.Unquote(value(args, rest))
	if err != nil {
		return nil, fmt.Errorf("want a part of the error in double quotes")
	}
	w, err := named("fails", value(args, rest), func(_ context.Context, r *run) (string, error) {
		if r.last.err == nil {
			return "no error, but " + r.last.words(), nil
		}
		return oneLine(r.last.err.Error()), nil
	})
	w.compare = func(got string) verdict {
		if !strings.Contains(got, part) || strings.HasPrefix(got, "no error, but ") {
			return differs
		}
		return holds
	}
	return w, err
}

func parseSurface(args []string, rest string) (*watch, error) {
	return named("surface", value(args, rest), func(ctx context.Context, r *run) (string, error) {
		s, err := r.fold(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(len(s.Surface())), nil
	})
}

func (r *run) fold(ctx context.Context) (*session.State, error) {
	records, err := r.log(ctx)
	if err != nil {
		return nil, err
	}
	return session.Fold(r.from.seed, records)
}

// parseInbox reads `inbox next-step: a; next-turn: b,c` and `inbox empty`.
func parseInbox(args []string, rest string) (*watch, error) {
	want := strings.Join(args, " ")
	if rest != "" {
		want += ": " + rest
	}
	return named("inbox", want, func(ctx context.Context, r *run) (string, error) {
		s, err := r.state(ctx)
		r.revision = s.Revision
		return inboxWords(s.Inbox), err
	})
}

func inboxWords(pending []signals.Pending) string {
	var out []string
	for _, list := range []string{session.NextStep, session.NextTurn} {
		var ids []string
		for _, p := range pending {
			if p.Target == list {
				ids = append(ids, p.ID)
			}
		}
		if ids != nil {
			out = append(out, list+": "+strings.Join(ids, ","))
		}
	}
	if out == nil {
		return "empty"
	}
	return strings.Join(out, "; ")
}

// parseTools reads `tools running|ran|order|most: …`.
func parseTools(args []string, rest string) (*watch, error) {
	if len(args) != 1 || !slices.Contains([]string{"running", "ran", "order", "most"}, args[0]) {
		return nil, fmt.Errorf("want `tools running|ran|order|most: …`")
	}
	return arriving(named("tools "+args[0]+":", rest, func(_ context.Context, r *run) (string, error) { return r.bodies.see(args[0]), nil }))
}

// parseGateLog reads `gate KIND: calls`.
func parseGateLog(args []string, rest string) (*watch, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("want `gate KIND: calls`")
	}
	return arriving(named("gate "+args[0]+":", rest, func(_ context.Context, r *run) (string, error) { return r.gateLog.see(args[0]), nil }))
}

// parseSeqs reads `seqs FIRST–LAST`: the log's numbers, which have no gap.
func parseSeqs(args []string, rest string) (*watch, error) {
	return named("seqs", strings.ReplaceAll(value(args, rest), "-", "–"), func(ctx context.Context, r *run) (string, error) {
		records, err := r.log(ctx)
		if err != nil || len(records) == 0 {
			return "none", err
		}
		for i, rec := range records {
			if rec.Seq != int64(i) {
				return fmt.Sprintf("event %d has the seq %d", i, rec.Seq), nil
			}
		}
		return fmt.Sprintf("0–%d", len(records)-1), nil
	})
}

// parseWaiting reads `waiting NAME`: the waiter has not come back, and rightly.
func parseWaiting(args []string, rest string) (*watch, error) {
	name := value(args, rest)
	return named("waiting", name, func(ctx context.Context, r *run) (string, error) {
		idle, err := r.isIdle(ctx)
		if err != nil {
			return "", err
		}
		if idle || len(r.waiters[name]) > 0 || r.waiters[name] == nil {
			return "nobody", nil
		}
		return name, nil
	})
}

// parseCalls reads `calls: running,finished`: how far the calls of the step are, in model order.
func parseCalls(_ []string, rest string) (*watch, error) {
	return arriving(named("calls:", rest, func(ctx context.Context, r *run) (string, error) {
		s, err := r.agent.State(ctx)
		if err != nil {
			return "", err
		}
		var out []string
		for _, c := range s.Calls {
			out = append(out, c.State)
		}
		return listed(out), nil
	}))
}
