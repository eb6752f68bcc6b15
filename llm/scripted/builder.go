package scripted

import (
	"time"

	"github.com/everturn/everturn/session"
)

// A builder collects the steps of one answer.
type builder struct {
	steps  []step
	index  int  // of the next block
	chunks bool // something was sent
	tools  bool // a tool is called

	usage   *session.Usage // of the end; nil means the default
	noUsage bool           // none, or already sent
	replay  *session.ReplayState

	ended  bool
	finish *session.FinishReason // nil for a stream that ends without one
	throw  *session.Failure
}

// defaultUsage is what an answer reports that says nothing of its own.
var defaultUsage = session.Usage{InputTokens: 10, OutputTokens: 5}

func (b *builder) emit(c session.Chunk) {
	b.chunks = true
	b.steps = append(b.steps, step{chunk: c})
}

func (b *builder) block() int {
	b.index++
	return b.index - 1
}

func (b *builder) text(text string, chunks int, open bool) {
	b.textParts(split(text, chunks), open, 0)
}

// textParts is a text block of the given deltas, each of which waits slow paces.
func (b *builder) textParts(parts []string, open bool, slow int) {
	i, all := b.block(), ""
	for _, part := range parts {
		b.emit(session.TextDelta{Index: i, Text: part})
		b.steps[len(b.steps)-1].slow = slow
		all += part
	}
	if !open {
		b.emit(session.BlockEnd{Index: i, Block: session.Text{Text: all}})
	}
}

func (b *builder) reasoning(text string, chunks int, open bool) {
	i := b.block()
	for _, part := range split(text, chunks) {
		b.emit(session.ReasoningDelta{Index: i, Text: part})
	}
	if !open {
		b.emit(session.BlockEnd{Index: i, Block: session.Reasoning{Text: text}})
	}
}

func (b *builder) tool(call session.ToolCallBlock, chunks int, open bool) {
	i := b.block()
	name := call.Name
	for _, part := range split(call.Arguments, chunks) {
		b.emit(session.ToolCallDelta{Index: i, ID: call.ID, Name: name, ArgumentsDelta: part})
		name = "" // the first delta says it
	}
	if !open {
		b.emit(session.BlockEnd{Index: i, Block: call})
	}
	b.tools = true
}

// raw sends any chunk and keeps the numbering of later blocks clear of it.
func (b *builder) raw(c session.Chunk) {
	b.emit(c)
	switch c := c.(type) {
	case session.BlockStart:
		b.index = max(b.index, c.Index+1)
	case session.TextDelta:
		b.index = max(b.index, c.Index+1)
	case session.ReasoningDelta:
		b.index = max(b.index, c.Index+1)
	case session.ToolCallDelta:
		b.index, b.tools = max(b.index, c.Index+1), true
	case session.BlockEnd:
		b.index = max(b.index, c.Index+1)
	case session.UsageChunk:
		b.noUsage = true
	case session.Finish:
		b.ended = true
	}
}

func (b *builder) sendUsage(u session.Usage) {
	b.emit(session.UsageChunk{Usage: u})
	b.noUsage = true
}

func (b *builder) hold(name string) { b.steps = append(b.steps, step{hold: name}) }

func (b *builder) delay(d time.Duration) { b.steps = append(b.steps, step{delay: d}) }

func (b *builder) end(kind session.FinishKind, failure *session.Failure) {
	b.ended, b.finish = true, &session.FinishReason{Kind: kind, Failure: failure}
}

func (b *builder) endWithoutFinish(throw *session.Failure) { b.ended, b.throw = true, throw }

// answer adds what every answer ends with.
func (b *builder) answer() Answer {
	if !b.ended {
		b.end(b.natural(), nil)
	}
	if b.finish != nil {
		if !b.noUsage && b.finish.Failure == nil {
			b.emit(session.UsageChunk{Usage: b.reported()})
		}
		b.emit(session.Finish{Reason: *b.finish, Replay: b.replay})
	}
	if b.throw != nil {
		b.steps = append(b.steps, step{failure: b.throw})
	}
	return Answer{b.steps}
}

func (b *builder) natural() session.FinishKind {
	if b.tools {
		return session.FinishToolCalls
	}
	return session.FinishStop
}

func (b *builder) reported() session.Usage {
	if b.usage != nil {
		return *b.usage
	}
	return defaultUsage
}

// split cuts a text into n parts of about equal length, never inside a character.
func split(text string, n int) []string {
	runes := []rune(text)
	if n <= 1 || n > len(runes) {
		return []string{text}
	}
	parts := make([]string, n)
	for i := range parts {
		parts[i] = string(runes[i*len(runes)/n : (i+1)*len(runes)/n])
	}
	return parts
}
