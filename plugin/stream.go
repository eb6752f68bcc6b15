package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// ErrRequestChanged is what a stream yields when a gate handed on another request than it was given.
var ErrRequestChanged = errors.New("a stream gate changed the request, which is frozen: it was not sent")

// Streamed runs the stream gate around send. A panic of a gate ends the stream with an error. See spec §4.7.1.
func (d *Definition) Streamed(ctx context.Context, in StreamCall, send func(context.Context, llm.Request) iter.Seq2[session.Chunk, error]) iter.Seq2[session.Chunk, error] {
	if len(d.Stream) == 0 {
		return send(ctx, in.Request)
	}
	next := func(ctx context.Context, given StreamCall) iter.Seq2[session.Chunk, error] {
		if !sameRequest(given.Request, in.Request) {
			return failing(ErrRequestChanged)
		}
		return send(ctx, in.Request)
	}
	for i := len(d.Stream) - 1; i >= 0; i-- {
		gate, inner := d.Stream[i], next
		next = func(ctx context.Context, given StreamCall) iter.Seq2[session.Chunk, error] {
			given.View, given.Request = copyView(given.View), copyRequest(given.Request)
			return gate(ctx, given, inner)
		}
	}
	return contained(func() iter.Seq2[session.Chunk, error] { return next(ctx, in) })
}

// contained turns a panic of the stream into an error. The loop's own panics are not touched.
func contained(open func() iter.Seq2[session.Chunk, error]) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		inLoop := false
		defer func() {
			if inLoop {
				return
			}
			if v := recover(); v != nil {
				yield(nil, panicked(v))
			}
		}()
		seq := open()
		if seq == nil {
			yield(nil, errors.New("a stream gate returned no stream"))
			return
		}
		seq(func(c session.Chunk, err error) bool {
			inLoop = true
			more := yield(c, err)
			inLoop = false
			return more
		})
	}
}

func failing(err error) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) { yield(nil, err) }
}

func sameRequest(a, b llm.Request) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func copyRequest(r llm.Request) llm.Request {
	r.Config = copyConfig(r.Config)
	r.Messages = cloneMessages(r.Messages)
	r.Tools = append([]session.ToolSchema(nil), r.Tools...)
	for i, t := range r.Tools {
		r.Tools[i].Parameters = bytes.Clone(t.Parameters)
	}
	return r
}
