package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// answer turns events into chunks. Blocks are numbered by first sight; the deltas alone make them, so no block is
// announced or closed.
type answer struct {
	blocks    int
	text      *int
	reasoning *int
	calls     []*call
	finish    string // the vendor's finish reason, once it came
	counted   bool   // usage came with or after it
}

// A call is a tool call of the answer.
type call struct {
	block  int
	number int64 // the vendor's index, -1 if it gives none
	id     string
	named  bool
}

// complete reports whether nothing can follow that matters.
func (a *answer) complete() bool { return a.finish != "" && a.counted }

// event translates one event.
func (a *answer) event(e sdk.ChatCompletionChunk) []session.Chunk {
	var out []session.Chunk
	for _, choice := range e.Choices {
		if choice.Index != 0 {
			continue
		}
		out = append(out, a.delta(choice.Delta)...)
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	if e.JSON.Usage.Valid() {
		a.counted = a.finish != ""
		out = append(out, session.UsageChunk{Usage: usage(e.Usage)})
	}
	return out
}

func (a *answer) delta(d sdk.ChatCompletionChunkChoiceDelta) []session.Chunk {
	var out []session.Chunk
	if thought := reasoning(d.JSON.ExtraFields); thought != "" {
		out = append(out, session.ReasoningDelta{Index: a.block(&a.reasoning), Text: thought})
	}
	if said := d.Content + d.Refusal; said != "" { // a refusal is an answer like any other
		out = append(out, session.TextDelta{Index: a.block(&a.text), Text: said})
	}
	for _, t := range d.ToolCalls {
		out = append(out, a.toolCall(t))
	}
	return out
}

// reasoning reads the field that OpenAI's own models do not have: one name is DeepSeek's, the other everybody else's.
func reasoning(fields map[string]respjson.Field) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if f, ok := fields[name]; ok && json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// block returns the number of a block that exists once, and makes it on first sight.
func (a *answer) block(at **int) int {
	if *at == nil {
		n := a.newBlock()
		*at = &n
	}
	return **at
}

func (a *answer) newBlock() int {
	a.blocks++
	return a.blocks - 1
}

func (a *answer) toolCall(t sdk.ChatCompletionChunkChoiceDeltaToolCall) session.Chunk {
	c := a.find(t)
	if c == nil {
		c = &call{block: a.newBlock(), number: -1}
		if t.JSON.Index.Valid() {
			c.number = t.Index
		}
		a.calls = append(a.calls, c)
	}
	if c.id == "" {
		c.id = t.ID
	}
	out := session.ToolCallDelta{Index: c.block, ID: c.id, ArgumentsDelta: t.Function.Arguments}
	if !c.named {
		out.Name = t.Function.Name
		c.named = out.Name != ""
	}
	return out
}

// find returns the call that a delta continues. Servers differ: some number their calls, some give every call the number
// 0, some give none and only name a call when they begin it.
func (a *answer) find(t sdk.ChatCompletionChunkChoiceDeltaToolCall) *call {
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		if t.JSON.Index.Valid() && c.number != t.Index {
			continue
		}
		if t.ID != "" && c.id != "" && t.ID != c.id {
			return nil
		}
		if t.ID == "" && !t.JSON.Index.Valid() && c.named && t.Function.Name != "" {
			return nil
		}
		return c
	}
	return nil
}

// end decides how the answer ended. What breaks after the finish reason does no harm.
func (a *answer) end(call *vendor.Call, broken *llm.Error) (session.Finish, *llm.Error) {
	if a.finish == "" {
		if broken == nil {
			broken = call.Unfinished()
		}
		return session.Finish{}, broken
	}
	switch a.finish {
	case "length":
		return finish(session.FinishMaxTokens), nil
	case "content_filter":
		return session.Finish{}, call.Failf(llm.InvalidRequest, nil, "withheld the answer: its content filter objected")
	case "insufficient_system_resource", "error":
		return session.Finish{}, call.Failf(llm.Server, nil, "gave up on the answer: %s", a.finish)
	}
	switch {
	case a.blocks == 0:
		return session.Finish{}, call.Failf(llm.EmptyResponse, nil, "answered with nothing at all")
	case len(a.calls) > 0:
		return finish(session.FinishToolCalls), nil
	default:
		return finish(session.FinishStop), nil
	}
}

func finish(kind session.FinishKind) session.Finish {
	return session.Finish{Reason: session.FinishReason{Kind: kind}}
}
