package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/everturn/everturn/session"
)

// parseScatter reads `scatter N`: log-only events come between those of the written log, in N ways; none may change the
// history. See spec §9.1.
func parseScatter(_ *setup, w *words) (act, error) {
	n, err := w.number("how often")
	return quiet(func(r *run, _ context.Context) error {
		for seed := range n {
			if err := r.text().scattered(uint64(seed)); err != nil {
				return fmt.Errorf("way %d: %w", seed+1, err)
			}
		}
		return nil
	}), err
}

// scattered writes the log once more, with other events in between.
func (b *book) scattered(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, seed))
	again, moved, extra := session.NewLog(b.log.Header()), map[int64]int64{}, 0
	for _, r := range b.log.Records() {
		for range random.IntN(4) {
			if _, err := again.Append(session.NewRecord(bookTime, logOnly(again.State(), random))); err == nil {
				extra++
			}
		}
		new, err := again.Append(renumbered(r, moved))
		if err != nil {
			return err
		}
		moved[r.Seq] = new.Seq
	}
	switch {
	case extra == 0:
		return errors.New("nothing came in between")
	case asJSON(again.State().Messages()) != asJSON(b.log.State().Messages()):
		return fmt.Errorf("the history is another one: %s", asJSON(again.State().Messages()))
	}
	return nil
}

// logOnly is an event that is no message; it may not fit, and is then refused.
func logOnly(s *session.State, random *rand.Rand) session.Event {
	turn, _ := s.Turn()
	step, _ := s.Step()
	m := plain(fmt.Sprintf("x%d", s.Count()))
	all := []session.Event{
		session.Feature{Kind: "todo/write", Data: json.RawMessage(`{"todos":[]}`)},
		session.Feature{Kind: "session/title", Data: json.RawMessage(`{"title":"x"}`)},
		session.CancelRequested{Cause: session.Cause{Kind: session.CauseUser}, Via: "api"},
		session.InboxSpliced{Target: session.NextStep, Start: len(s.Inbox().NextStep), Inserted: []session.Message{m}},
		session.InboxSpliced{Target: session.NextStep, RemovedCount: 1, Outcome: session.OutcomeCanceled},
		session.RequestContext{Provider: "scripted", Model: m.ID},
		session.AssistantChunk{Turn: turn, Step: step, Chunk: session.TextDelta{Text: "never"}},
		session.AssistantAttempt{Turn: turn, Step: step},
		session.LLMRetry{RetryID: m.ID, Turn: turn, Step: step, Provider: "scripted", Mode: "normal", Retry: 1},
	}
	return all[random.IntN(len(all))]
}

// renumbered is a record whose references follow the events they mean.
func renumbered(r session.Record, moved map[int64]int64) session.Record {
	out := session.Record{Time: r.Time, Event: r.Event, Surface: r.Surface, Ignorable: r.Ignorable}
	for _, seq := range r.Sources {
		out.Sources = append(out.Sources, moved[seq])
	}
	if r.Sources != nil && out.Sources == nil {
		out.Sources = []int64{}
	}
	if r.Surface != nil && r.Surface.Replace {
		out.Surface = session.ReplaceOp(moved[r.Surface.Start], moved[r.Surface.End])
	}
	if a, ok := r.Event.(session.AssistantAttempt); ok {
		seqs := make([]int64, len(a.ChunkSeqs))
		for i, seq := range a.ChunkSeqs {
			seqs[i] = moved[seq]
		}
		a.ChunkSeqs, out.Event = seqs, a
	}
	return out
}
