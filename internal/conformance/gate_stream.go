package conformance

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// chunks is the stream of an answer.
type chunks = iter.Seq2[session.Chunk, error]

// frozen keeps the requests that reached the stream gate, as they were.
type frozen struct {
	mu   sync.Mutex
	seen []string
}

func (f *frozen) add(request string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, request)
}

func (f *frozen) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// stream is the stream gate: by default it passes through.
func (w *world) stream(ctx context.Context, in plugin.StreamCall, next func(context.Context, plugin.StreamCall) chunks) chunks {
	w.gateLog.add("stream", fmt.Sprintf("%d.%d/%d", in.View.Turn, in.View.Step, in.Attempt))
	w.frozen.add(asJSON(in.Request))
	for _, d := range w.deedsAt("stream", in.View.Turn, in.View.Step, in.Attempt) {
		switch done, err := w.common(ctx, d); {
		case err != nil:
			return func(yield func(session.Chunk, error) bool) { yield(nil, err) }
		case done:
		case d.verb == "recording":
			return recording(d.args[0])
		case d.verb == "again":
			return again(next(ctx, in), func() chunks { return next(ctx, in) })
		case d.verb == "mutate":
			in.Request.Messages[0].Content[0] = session.Text{Text: "changed"}
		case d.verb == "substitute":
			in.Request.Messages = []session.Message{plain("other")}
		}
	}
	return next(ctx, in)
}

// recording answers without a provider.
func recording(text string) chunks {
	return func(yield func(session.Chunk, error) bool) {
		for _, c := range []session.Chunk{
			session.TextDelta{Text: text}, session.BlockEnd{Block: session.Text{Text: text}},
			session.Finish{Reason: session.FinishReason{Kind: session.FinishStop}},
		} {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// again goes over to a second stream if the first one fails before it brought anything.
func again(first chunks, second func() chunks) chunks {
	return func(yield func(session.Chunk, error) bool) {
		brought := false
		for c, err := range first {
			if end, ok := c.(session.Finish); ok && !brought && end.Reason.Kind == session.FinishError {
				second()(yield)
				return
			}
			if brought = true; !yield(c, err) {
				return
			}
		}
	}
}

// asked is what the model was asked, one text per attempt: what it was sent or, if a stream gate may have answered
// itself, what reached the gate. What was sent without having reached it comes last.
func (r *run) asked() []string {
	var sent []string
	for _, req := range r.requests() {
		sent = append(sent, asJSON(req))
	}
	if !r.has("stream") {
		return sent
	}
	all := r.frozen.list()
	for _, s := range sent {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
