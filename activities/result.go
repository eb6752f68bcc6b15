package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// The codes of results that only this package gives.
const (
	CodeOutputTooLarge = "OUTPUT_TOO_LARGE"
	CodeToolTimeout    = "TIMEOUT"
)

const (
	nameAbort       = "AbortError"
	nameUnknownTool = "UnknownToolError"
	nameTimeout     = "TimeoutError"
	nameTooLarge    = "OutputTooLargeError"
	nameStore       = "StoreError"
	nameUnavailable = "ToolUnavailableError"
)

// MaxToolOutput bounds the text of a result, in bytes; MaxToolMeta its presentation data.
const (
	MaxToolOutput = 4 << 20
	MaxToolMeta   = 16 << 10
)

// shape makes the answer of a body that has run.
func (c *call) shape(ctx context.Context, r tools.Result, failure error) (out work.ToolOut, err error) {
	if failure != nil {
		if out = c.failure(ctx, failure); c.ran {
			out.Content = c.noted(out.Content)
		}
	} else if out, err = c.success(ctx, r); err != nil {
		return out, err
	}
	out.Acts, err = c.take(ctx, c.acts)
	return out, err
}

// success is the result of a call. A large body is set aside; one that nobody could read is refused.
func (c *call) success(ctx context.Context, r tools.Result) (work.ToolOut, error) {
	if r.Delegate != nil {
		return c.delegate(ctx, *r.Delegate)
	}
	if r.Ask != nil {
		return c.askPeople(*r.Ask)
	}
	if r.Outside != nil {
		return work.ToolOut{Defer: &work.Deferral{Kind: work.WaitClient}, DeadlineMS: wholeMS(r.Outside.Deadline)}, nil
	}
	content, refused := c.readable(r.Content)
	if refused != nil {
		return *refused, nil
	}
	out := work.ToolOut{Content: content, Meta: meta(r.Meta), Concludes: r.ConcludesTurn}
	var err error
	if out.Contexts, err = c.contexts(ctx, "ctx", r.Contexts); err != nil {
		return out, err
	}
	out.Content, err = c.setAside(ctx, c.noted(content))
	return out, err
}

// readable is content that the log can hold; anything else is refused.
func (c *call) readable(in session.Content) (session.Content, *work.ToolOut) {
	if n := textSize(in); n > MaxToolOutput {
		out := failed(nameTooLarge, CodeOutputTooLarge, fmt.Sprintf(
			"Error: the tool answered with %d bytes of text, the limit is %d; ask for less, or in parts", n, MaxToolOutput))
		return nil, &out
	}
	content := clean(in)
	if _, err := tools.ResultOf(c.in.Call.Name, content); err != nil {
		out := coded(err)
		return nil, &out
	}
	return content, nil
}

// inlineAtWorst is what travels in an answer if the store fails, in bytes.
const inlineAtWorst = 96 << 10

// setAside keeps large content out of the answer, and at hand for what follows. If the store fails it stays in the
// answer, as far as that can carry it. See spec §9.4.4.
func (c *call) setAside(ctx context.Context, content session.Content) (session.Content, error) {
	c.whole = content
	short, err := c.inline(ctx, content)
	if err == nil || !fits(content, inlineAtWorst) {
		return short, err
	}
	c.Log(ctx, "large result kept in the answer", "session_id", c.in.Ident.Session, "call_id", c.in.Call.ID, "error", err)
	return content, nil
}

// fits reports whether content has at most limit bytes, encoded.
func fits(content session.Content, limit int) bool {
	raw, err := json.Marshal(content)
	return err == nil && len(raw) <= limit
}

// full is the content of an answer in full.
func (c *call) full(ctx context.Context, content session.Content) (session.Content, error) {
	ref, stored := storedBody(content)
	switch {
	case !stored:
		return content, nil
	case c.whole != nil:
		return c.whole, nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	return c.Store.Content(ctx, ref)
}

func textSize(content session.Content) (n int) {
	for _, b := range content {
		if t, ok := b.(session.Text); ok {
			n += len(t.Text)
		}
	}
	return n
}

// meta keeps presentation data that an event can hold.
func meta(raw json.RawMessage) json.RawMessage {
	if len(raw) <= MaxToolMeta && (raw == nil || json.Valid(raw) && utf8.Valid(raw)) {
		return raw
	}
	return fmt.Appendf(nil, `{"omitted":%d}`, len(raw))
}

// failure is the result of a body that failed. A failure because of the cancel says so, one of its own is kept. See
// spec §5.
func (c *call) failure(ctx context.Context, err error) work.ToolOut {
	if interrupted(ctx, err) {
		return failed(nameAbort, work.CodeAborted, "Error: tool call aborted")
	}
	out := coded(err)
	var own *plugin.ExecuteError
	out.SkipPost = errors.As(err, &own)
	return out
}

// interrupted reports whether a body failed because its context ended.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// coded is the error result of an error, with its name and code if it has them.
func coded(err error) work.ToolOut {
	if err == nil {
		return work.ToolOut{}
	}
	out := work.ToolOut{IsError: true, Content: session.TextContent(clip("Error: " + err.Error()))}
	if name, code, known := tools.ErrorOf(err); known {
		out.Error = &session.CodedError{Name: name, Code: code}
	}
	return out
}

func failed(name, code, text string) work.ToolOut {
	return work.ToolOut{IsError: true, Content: session.TextContent(text), Error: &session.CodedError{Name: name, Code: code}}
}

func beforeDispatch() work.ToolOut {
	return failed(nameAbort, work.CodeAbortedBeforeDispatch, "Error: tool call aborted before dispatch")
}

func notStarted() work.ToolOut {
	return failed(session.NameToolNotStarted, session.CodeToolNotStarted, session.TextToolNotStarted)
}

func outcomeUnknown() work.ToolOut {
	return failed(session.NameToolOutcomeUnknown, session.CodeToolOutcomeUnknown, session.TextToolOutcomeUnknown)
}

func unavailable(tool string) work.ToolOut {
	return failed(nameUnavailable, work.CodeToolUnavailable, fmt.Sprintf(
		"Error: no worker took the call of tool %q in time. Nothing was executed; the call may be made again later.", tool))
}
