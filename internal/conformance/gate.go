package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// preStepOf is a pre-step gate of a scenario: by default it passes through.
func (w *world) preStepOf(kind string) plugin.PreStepGate {
	return func(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
		return w.preStep(ctx, kind, in, next)
	}
}

func (w *world) preStep(ctx context.Context, kind string, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
	var ids []string
	for _, m := range in.Messages {
		ids = append(ids, m.ID)
	}
	w.gateLog.add(kind, fmt.Sprintf("%d.%d(%s)", in.View.Turn, in.View.Step, strings.Join(ids, ",")))
	var after []deed
	for _, d := range w.deedsAt(kind, in.View.Turn, in.View.Step, 1) {
		done, err := w.common(ctx, d)
		if err != nil {
			return plugin.Decision{}, err
		}
		if !done {
			after = append(after, d)
		}
	}
	out, err := next(ctx, in)
	if err != nil {
		return out, err
	}
	for _, d := range after {
		w.decide(&out, d)
	}
	return out, nil
}

// decide changes a decision.
func (w *world) decide(out *plugin.Decision, d deed) {
	switch d.verb {
	case "reject":
		out.Reject, out.Reason = true, strings.Join(d.args, " ")
	case "empty":
		out.Messages = nil
	case "rewrite":
		out.Messages[0].Content = session.TextContent(d.args[0])
	case "add":
		m := w.message(d.args[0])
		m.Source = session.Source{Kind: session.SourcePlugin, Plugin: definitionName}
		out.Messages = append(out.Messages, m)
	case "series":
		out.StartsRequestSeries = true
	}
}

// request is the request gate.
func (w *world) request(ctx context.Context, in plugin.RequestProposal, next func(context.Context, plugin.RequestProposal) (session.CallConfig, error)) (session.CallConfig, error) {
	w.gateLog.add("request", fmt.Sprintf("%d.%d", in.View.Turn, in.View.Step))
	out, err := next(ctx, in)
	if err != nil {
		return out, err
	}
	for _, d := range w.deedsAt("request", in.View.Turn, in.View.Step, 0) {
		if _, err := w.common(ctx, d); err != nil {
			return out, err
		}
		configure(&out, in, d)
	}
	return out, nil
}

// requestError is the recovery gate: by default the route's policy decides.
func (w *world) requestError(ctx context.Context, in plugin.RequestFailure, next func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
	w.gateLog.add("request-error", fmt.Sprintf("%d.%d/%d(%s)", in.View.Turn, in.View.Step, in.Attempt, in.Failure.Code))
	deeds := w.deedsAt("request-error", in.View.Turn, in.View.Step, in.Attempt)
	out := plugin.Recovery{}
	for _, d := range deeds {
		if _, err := w.common(ctx, d); err != nil {
			return out, err
		}
		out.Retry = out.Retry || d.verb == "retry"
	}
	if out.Retry {
		return out, nil
	}
	return next(ctx, in)
}
