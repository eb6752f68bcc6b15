package conformance

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// parseMessage reads `message NAME: STATE …`: what the agent says of a message.
func parseMessage(args []string, rest string) (*watch, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("want `message NAME: STATE`")
	}
	return arriving(named("message "+args[0]+":", rest, func(ctx context.Context, r *run) (string, error) {
		m, err := r.agent.Message(ctx, r.setup.message(args[0]).ID)
		return messageWords(m), err
	}))
}

// parseLogged reads `logged NAME: STATE …`: what the log says of a message.
func parseLogged(args []string, rest string) (*watch, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("want `logged NAME: STATE`")
	}
	return arriving(named("logged "+args[0]+":", rest, func(ctx context.Context, r *run) (string, error) {
		records, err := r.log(ctx)
		track := session.Track(r.setup.message(args[0]).ID, r.from.seed)
		for _, rec := range records {
			track.Add(rec)
		}
		f := track.Fate()
		return messageWords(signals.MessageState{State: cmp.Or(f.State, "unknown"), Turn: f.Turn, Step: f.Step, Kind: f.Kind, Target: f.Target,
			Consumed: f.Consumed, Edited: f.Edited, Cause: f.Cause, ReplacedBy: f.ReplacedBy, Reason: f.Reason}), err
	}))
}

// messageWords writes `pending next-turn edited`, `claimed 1.1 consumed`, `ended 1.1 completed`, `dropped 1.1 blocked`,
// `discarded replaced b`, `unknown`.
func messageWords(m signals.MessageState) string {
	out := []string{m.State}
	add := func(on bool, word string) {
		if on {
			out = append(out, word)
		}
	}
	add(m.Turn > 0, fmt.Sprintf("%d.%d", m.Turn, m.Step))
	add(m.Consumed && m.State == session.FateClaimed, "consumed")
	add(m.State == session.FateEnded, string(m.Kind))
	for _, word := range []string{m.Target, m.Reason, m.Cause, m.ReplacedBy} {
		add(word != "", word)
	}
	add(m.Edited, "edited")
	return strings.Join(out, " ")
}
