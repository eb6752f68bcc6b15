package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/session"
)

// A book is a log that the scenario itself writes; from then on it is looked at instead of the agent's.
type book struct {
	log   *session.Log
	given *session.State // the state that > keep noted, and its messages
	kept  string
}

func newBook(h session.Header) *book { return &book{log: session.NewLog(h)} }

// offline are acts that need no agent.
var offline = map[string]bool{"append": true, "replay": true, "keep": true, "import": true, "scatter": true,
	"create": true, "creating": true, "created": true, "resume": true}

// parseAppend reads `append ENTRY …` in the notation of traces, or `append JSON`: an event as a line of a log has it,
// without seq and time.
func parseAppend(s *setup, w *words) (act, error) {
	if w.peek() == "" && !w.done() {
		raw, err := w.value("an event")
		return quiet(func(r *run, _ context.Context) error { return r.text().line(raw) }), err
	}
	all := fields(strings.ReplaceAll(w.rest, "−", "-"))
	w.rest = ""
	if len(all) == 0 {
		return nil, errors.New("want `append ENTRY …` or `append JSON`")
	}
	return quiet(func(r *run, _ context.Context) error { return r.text().write(s, all) }), nil
}

// text is the log that the scenario writes.
func (r *run) text() *book {
	if r.book == nil {
		r.book = newBook(session.Header{Version: session.FormatVersion, ID: "text"})
	}
	return r.book
}

// line appends one event that was written as JSON.
func (b *book) line(raw json.RawMessage) error {
	at, err := json.Marshal(map[string]int64{"seq": b.log.State().Count(), "time": bookTime})
	if err != nil {
		return err
	}
	line := append(append(at[:len(at)-1], ','), bytes.TrimSpace(raw)[1:]...)
	records, err := session.ParseLog(append(line, '\n'))
	if err != nil {
		return err
	}
	_, err = b.log.Append(records[0])
	return err
}

// write appends entries of a trace.
func (b *book) write(s *setup, all []string) error {
	for _, e := range all {
		r, err := b.record(s, e)
		if err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
		if _, err := b.log.Append(r); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// take goes on with a copy of the agent's log, as it is exported.
func (r *run) take(ctx context.Context) error {
	records, err := r.log(ctx)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, rec := range records {
		if err := session.NewWriter(&out).Write(rec); err != nil {
			return err
		}
	}
	again, err := session.ParseLog(out.Bytes())
	if err != nil {
		return err
	}
	b := newBook(session.Header{Version: session.FormatVersion, ID: r.agent.ID()})
	for _, rec := range again {
		if _, err := b.log.Append(rec); err != nil {
			return err
		}
	}
	r.book = b
	return nil
}

// keep derives the history now; what is appended later must not change it.
func (r *run) keep(context.Context) error {
	b := r.text()
	b.given, b.kept = b.log.State().Clone(), r.messageWords(b.log.State().Messages())
	return nil
}

// replay folds the written log anew, as a fresh reader does.
func (r *run) replay(context.Context) error {
	b := r.text()
	state, err := session.Fold(b.log.Header().SeedLength, b.log.Records())
	if err != nil {
		return err
	}
	once, twice := asJSON(state.Messages()), asJSON(state.Messages())
	switch {
	case once != asJSON(b.log.State().Messages()) || once != twice:
		return errors.New("the same log derives to another history")
	case b.given != nil && r.messageWords(b.given.Messages()) != b.kept:
		return errors.New("what was derived earlier has changed")
	}
	return nil
}

// parseKept reads `kept: messages`, the history that > keep derived.
func parseKept(_ []string, rest string) (*watch, error) {
	return named("kept:", rest, func(_ context.Context, r *run) (string, error) {
		if r.book == nil || r.book.given == nil {
			return "nothing was kept", nil
		}
		return r.messageWords(r.book.given.Messages()), nil
	})
}

// parseAccount reads `account TURN REASON [dropped]` and `account none [dropped]`. See spec §7.4.
func parseAccount(args []string, rest string) (*watch, error) {
	return named("account", value(args, rest), func(ctx context.Context, r *run) (string, error) {
		s, err := r.fold(ctx)
		if err != nil {
			return "", err
		}
		a, out := s.Account(), "none"
		if a.Last != nil {
			out = fmt.Sprintf("%d %s", a.Last.Turn, a.Last.Reason.Kind)
		}
		if a.DroppedUnrun {
			out += " dropped"
		}
		return out, nil
	})
}

// finishBook wants everything that was written to have been looked at, and every rule to hold.
func (r *run) finishBook(ctx context.Context) error {
	gain, err := r.gain(ctx)
	if err != nil {
		return err
	}
	if len(gain) > 0 {
		return fmt.Errorf("the log gained what nobody looked at: %s", join(gain))
	}
	return r.replay(ctx)
}
