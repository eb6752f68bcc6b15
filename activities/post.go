package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// afterBody ends the call here, unless its post stage is one of its own. A call that was listed by a worker without a
// post gate is judged here.
func (c *call) afterBody(ctx context.Context, out work.ToolOut) (work.ToolOut, error) {
	if out.Delegate != nil || out.Defer != nil || c.in.Call.Posted && !out.SkipPost {
		return out, nil
	}
	if c.kind.posted() && !out.SkipPost && ctx.Err() == nil {
		return c.judge(ctx, out)
	}
	return c.final(ctx, out)
}

// post judges an outcome: a stage of its own. See spec §4.8, pipeline 7.
func (c *call) post(ctx context.Context) (work.ToolOut, error) {
	if c.in.Out == nil {
		return work.ToolOut{}, errors.New("post stage without an outcome")
	}
	return c.judge(ctx, *c.in.Out)
}

// judge runs the post gate over an outcome and ends the call.
func (c *call) judge(ctx context.Context, out work.ToolOut) (work.ToolOut, error) {
	seen, err := c.seen(ctx, out)
	if err != nil {
		return out, err
	}
	before, acts := c.acts.count(), out.Acts
	d, failure := c.kind.DecideResult(c.acts.at(ctx, "post"), seen)
	if failure != nil {
		if stopped := c.halted(ctx); stopped != nil {
			return out, stopped
		}
	}
	if out, err = c.judged(ctx, out, d, failure); err != nil {
		return out, err
	}
	own, err := c.take(ctx, c.acts)
	if err != nil {
		return out, err
	}
	out.Acts = slices.Concat(acts, own[before:])
	return c.close(ctx, out, !d.Block, c.edited() != nil && c.isNoted(seen.Content))
}

// seen is the outcome as gates and listeners see it.
func (c *call) seen(ctx context.Context, out work.ToolOut) (plugin.ToolOutcome, error) {
	call, _, err := c.materialise(ctx)
	if err != nil {
		return plugin.ToolOutcome{}, err
	}
	content, err := c.full(ctx, out.Content)
	return plugin.ToolOutcome{
		Call: call, Content: content, IsError: out.IsError, Error: out.Error, Meta: out.Meta, Concludes: out.Concludes && !out.IsError,
	}, err
}

// judged applies the decision: an acceptance keeps the tool's contexts and adds its own, a block drops the tool's.
func (c *call) judged(ctx context.Context, out work.ToolOut, d plugin.PostDecision, failure error) (work.ToolOut, error) {
	if failure != nil {
		return c.unjudged(ctx, out, failure), nil
	}
	contexts, err := c.contexts(ctx, "post", d.Contexts)
	if err != nil {
		return out, err
	}
	if d.Block {
		return work.ToolOut{IsError: true, Content: session.TextContent(valid(d.Feedback)), Contexts: contexts}, nil
	}
	contexts = slices.Concat(out.Contexts, contexts)
	content, failure := c.replacement(d)
	if content != nil {
		if out, err = c.withContent(ctx, out, content); err != nil {
			return out, err
		}
	}
	if failure != nil {
		out = coded(failure)
	}
	out.Contexts = contexts
	return out, nil
}

// unjudged is the outcome of a call whose post gate failed. If a cancel was the reason, a success is none any more and
// a failure keeps its own error. See spec §5 X10.
func (c *call) unjudged(ctx context.Context, out work.ToolOut, failure error) work.ToolOut {
	failed := c.failure(ctx, failure)
	cancelled := failed.Error != nil && failed.Error.Name == nameAbort
	switch {
	case cancelled && out.IsError:
		return out
	case cancelled:
		failed.Contexts = out.Contexts
	}
	return failed
}

// replacement is what an acceptance puts in the place of the content, nil for nothing.
func (c *call) replacement(d plugin.PostDecision) (session.Content, error) {
	if d.Value == nil {
		return d.Content, nil
	}
	r, err := tools.ResultOf(c.in.Call.Name, d.Value)
	if err == nil && r.Content == nil {
		r.Content = session.Content{}
	}
	return r.Content, err
}

// withContent is an outcome with other content; one that the log cannot hold is an error result.
func (c *call) withContent(ctx context.Context, out work.ToolOut, content session.Content) (work.ToolOut, error) {
	content, refused := c.readable(content)
	if refused != nil {
		return *refused, nil
	}
	var err error
	out.Content, err = c.setAside(ctx, content)
	return out, err
}

// final ends the call: the tool's own last transform, the projection of a large result, the notification. See spec §4.8,
// pipeline 8 and 9.
func (c *call) final(ctx context.Context, out work.ToolOut) (work.ToolOut, error) {
	tells, err := c.tellsEdit(ctx, out)
	if err != nil {
		return out, err
	}
	return c.close(ctx, out, true, tells)
}

func (c *call) close(ctx context.Context, out work.ToolOut, projects, tellsEdit bool) (work.ToolOut, error) {
	out, err := c.transform(ctx, out)
	if err == nil && tellsEdit {
		out, err = c.keepNote(ctx, out)
	}
	if err != nil {
		return out, err
	}
	if projects {
		out.Projection = c.project(ctx, out)
	}
	if len(c.kind.ToolResult) == 0 {
		return out, nil
	}
	seen, err := c.seen(ctx, out)
	if err != nil {
		return out, err
	}
	c.kind.Announce(seen)
	return out, nil
}

// transform applies the tool's own last say, once. A call that was stopped by a gate or a cancel has none.
func (c *call) transform(ctx context.Context, out work.ToolOut) (work.ToolOut, error) {
	stopped := c.in.Mode == work.ToolGate || out.Error != nil && out.Error.Name == nameAbort
	if c.tool == nil || c.tool.Final == nil || stopped {
		return out, nil
	}
	content, err := c.full(ctx, out.Content)
	if err != nil {
		return out, err
	}
	changed, failure := finally(c.tool, clean(content))
	replaced := coded(failure)
	if failure == nil {
		if replaced, err = c.withContent(ctx, out, changed); err != nil {
			return out, err
		}
	}
	replaced.Contexts, replaced.Acts = out.Contexts, out.Acts
	return replaced, nil
}

// finally contains a panic of the tool's transform.
func finally(t *tools.Tool, content session.Content) (out session.Content, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the last transform of tool %q panicked: %v", t.Name, v)
		}
	}()
	return t.Final(content), nil
}
