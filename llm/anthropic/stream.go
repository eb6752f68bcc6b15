package anthropic

import (
	"context"
	"errors"
	"iter"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// stream performs one request, once.
func (p *Provider) stream(ctx context.Context, config session.CallConfig, model Model, req llm.Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		load := p.images
		if !model.Images {
			load = nil
		}
		params, err := p.params(config, model, req, vendor.NewPictures(ctx, load, true, req.Messages))
		if err != nil {
			yield(nil, err)
			return
		}
		call := &vendor.Call{Provider: p.name, Key: p.key}
		events := p.messages.NewStreaming(ctx, params, option.WithResponseInto(&call.Response))
		defer func() { _ = events.Close() }() // nothing is read any more
		var a answer
		for !a.stopped && events.Next() {
			for _, chunk := range a.event(events.Current()) {
				if !yield(chunk, nil) {
					return
				}
			}
		}
		finish, failure := a.end(call, broken(ctx, call, events.Err()))
		if failure != nil {
			yield(nil, failure)
			return
		}
		yield(finish, nil)
	}
}

// broken explains why the events ended; nil if they just did.
func broken(ctx context.Context, call *vendor.Call, err error) *llm.Error {
	var said *sdk.Error
	inStream := call.Response != nil && call.Response.StatusCode < 300
	if inStream && errors.As(err, &said) && ctx.Err() == nil {
		return call.Fail(vendor.Parse(call.Provider, []byte(said.RawJSON())).Failure(), nil)
	}
	return call.Broken(ctx, err)
}
