package activities

import (
	"iter"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Requests rebuilds from a log what the model was sent for one step, one request per attempt. The log must be read from
// its beginning; the header says how much of it is another session's. See spec §4.6.2.
func Requests(header session.Header, records iter.Seq2[session.Record, error], turn, step int) ([]llm.Request, error) {
	state := session.NewSeededState(header.SeedLength)
	var out []llm.Request
	open := false // an attempt of the step has begun and is not settled
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		here, settles := streams(r.Event, turn, step)
		if here && !open {
			out = append(out, RequestAt(state.Clone(), header.ID))
		}
		if here {
			open = !settles
		}
		if err := state.Apply(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// streams reports whether an event belongs to an attempt of the step, and whether it settles it.
func streams(e session.Event, turn, step int) (here, settles bool) {
	switch e := e.(type) {
	case session.AssistantChunk:
		return e.Turn == turn && e.Step == step, false
	case session.AssistantMessage:
		return e.Turn == turn && e.Step == step, true
	case session.AssistantAttempt:
		return e.Turn == turn && e.Step == step, true
	default:
		return false, false
	}
}
