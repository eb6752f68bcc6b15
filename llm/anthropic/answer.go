package anthropic

import (
	"cmp"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// answer turns events into chunks. Blocks are numbered by first sight; blocks of a kind that this package does not ask
// for are left out.
type answer struct {
	open    map[int64]*block
	replay  []replayEntry // one for each block
	calls   int
	content bool // something was said
	usage   session.Usage
	reason  sdk.StopReason // once it came
	details string         // why the model refused
	stopped bool
}

// A block is a block of the answer that may still grow.
type block struct {
	index int
	id    string // of a tool call
}

// event translates one event.
func (a *answer) event(e sdk.MessageStreamEventUnion) []session.Chunk {
	switch e.Type {
	case "message_start":
		return a.start(e.Message)
	case "content_block_start":
		return a.startBlock(e.Index, e.ContentBlock)
	case "content_block_delta":
		return a.delta(e.Index, e.Delta)
	case "message_delta":
		return a.messageDelta(e)
	case "message_stop":
		a.stopped = true
	}
	return nil
}

func (a *answer) start(m sdk.Message) []session.Chunk {
	u := m.Usage
	a.usage = split(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens)
	return []session.Chunk{session.UsageChunk{Usage: a.usage}}
}

func (a *answer) startBlock(number int64, c sdk.ContentBlockStartEventContentBlockUnion) []session.Chunk {
	switch c.Type {
	case "text":
		b := a.add(number, replayEntry{})
		return a.started(session.BlockStart{Index: b.index, BlockType: session.Text{}.BlockType()},
			c.Text, session.TextDelta{Index: b.index, Text: c.Text})
	case "thinking":
		b := a.add(number, replayEntry{Signature: c.Signature})
		a.content = true // thinking without a word is signed all the same
		return a.started(session.BlockStart{Index: b.index, BlockType: session.Reasoning{}.BlockType()},
			c.Thinking, session.ReasoningDelta{Index: b.index, Text: c.Thinking})
	case "redacted_thinking":
		b := a.add(number, replayEntry{Redacted: c.Data})
		a.content = true
		return []session.Chunk{session.BlockStart{Index: b.index, BlockType: session.Reasoning{}.BlockType()}}
	case "tool_use":
		b := a.add(number, replayEntry{})
		b.id = c.ID
		a.calls++
		return []session.Chunk{session.ToolCallDelta{Index: b.index, ID: c.ID, Name: c.Name, ArgumentsDelta: wholeInput(c)}}
	default:
		return nil
	}
}

// started is a block's start, with the text that may already be in it.
func (a *answer) started(start session.BlockStart, text string, delta session.Chunk) []session.Chunk {
	if text == "" {
		return []session.Chunk{start}
	}
	a.content = true
	return []session.Chunk{start, delta}
}

// wholeInput is the input that some servers put into the start of a call instead of streaming it.
func wholeInput(c sdk.ContentBlockStartEventContentBlockUnion) string {
	if raw := c.JSON.Input.Raw(); raw != "{}" && raw != "null" {
		return raw
	}
	return ""
}

func (a *answer) add(number int64, entry replayEntry) *block {
	if a.open == nil {
		a.open = map[int64]*block{}
	}
	b := &block{index: len(a.replay)}
	a.open[number] = b
	a.replay = append(a.replay, entry)
	return b
}

func (a *answer) delta(number int64, d sdk.MessageStreamEventUnionDelta) []session.Chunk {
	b, ok := a.open[number]
	if !ok {
		return nil
	}
	switch d.Type {
	case "text_delta":
		a.content = true
		return []session.Chunk{session.TextDelta{Index: b.index, Text: d.Text}}
	case "thinking_delta":
		return []session.Chunk{session.ReasoningDelta{Index: b.index, Text: d.Thinking}}
	case "signature_delta":
		a.replay[b.index].Signature += d.Signature
	case "input_json_delta":
		if d.PartialJSON != "" {
			return []session.Chunk{session.ToolCallDelta{Index: b.index, ID: b.id, ArgumentsDelta: d.PartialJSON}}
		}
	}
	return nil
}

// messageDelta reads the end of the message: why it ended, and the final counts.
func (a *answer) messageDelta(e sdk.MessageStreamEventUnion) []session.Chunk {
	if e.Delta.StopReason != "" {
		a.reason = e.Delta.StopReason
		a.details = e.Delta.StopDetails.Explanation
	}
	if !e.JSON.Usage.Valid() {
		return nil
	}
	a.usage = merge(a.usage, e.Usage)
	return []session.Chunk{session.UsageChunk{Usage: a.usage}}
}

// end decides how the answer ended. What breaks after the stop reason does no harm.
func (a *answer) end(call *vendor.Call, broken *llm.Error) (session.Finish, *llm.Error) {
	if a.reason == "" {
		if broken == nil {
			broken = call.Unfinished()
		}
		return session.Finish{}, broken
	}
	switch a.reason {
	case sdk.StopReasonMaxTokens:
		return a.finish(session.FinishMaxTokens), nil
	case sdk.StopReasonModelContextWindowExceeded:
		return session.Finish{}, call.Failf(llm.ContextWindowExceeded, nil, "ran out of context window in the middle of its answer")
	case sdk.StopReasonRefusal:
		return session.Finish{}, call.Failf(llm.InvalidRequest, nil, "refused to answer: %s", cmp.Or(a.details, "it gave no reason"))
	}
	switch {
	case a.calls == 0 && !a.content:
		return session.Finish{}, call.Failf(llm.EmptyResponse, nil, "answered with nothing at all")
	case a.calls > 0:
		return a.finish(session.FinishToolCalls), nil
	default:
		return a.finish(session.FinishStop), nil
	}
}

func (a *answer) finish(kind session.FinishKind) session.Finish {
	return session.Finish{Reason: session.FinishReason{Kind: kind}, Replay: replayState(a.replay)}
}
