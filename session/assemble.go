package session

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An Assembler turns the chunks of one attempt into a message. The zero value is ready. See spec §2.3.
type Assembler struct {
	blocks  []*partial // in order of first sight
	byIndex map[int]*partial
	finish  *Finish
	usage   *Usage
	chunks  int
}

// partial is a block in the making.
type partial struct {
	index  int
	kind   string
	text   []byte // text, reasoning or arguments
	id     string
	name   string
	closed Block // authoritative once set
}

// Add takes the next chunk. After a finish only usage still counts.
func (a *Assembler) Add(c Chunk) {
	a.chunks++
	if u, ok := c.(UsageChunk); ok {
		a.usage = &u.Usage
		return
	}
	if a.finish != nil {
		return
	}
	switch c := c.(type) {
	case BlockStart:
		a.block(c.Index, c.BlockType)
	case TextDelta:
		a.block(c.Index, "text").add("text", c.Text)
	case ReasoningDelta:
		a.block(c.Index, "reasoning").add("reasoning", c.Text)
	case ToolCallDelta:
		a.block(c.Index, "tool-call").addCall(c)
	case BlockEnd:
		a.block(c.Index, "").close(c.Block)
	case Finish:
		a.finish = &c
	}
}

// block returns the block of an index; kind counts when it is seen first.
func (a *Assembler) block(index int, kind string) *partial {
	if p := a.byIndex[index]; p != nil {
		return p
	}
	p := &partial{index: index, kind: kind}
	if a.byIndex == nil {
		a.byIndex = make(map[int]*partial)
	}
	a.byIndex[index] = p
	a.blocks = append(a.blocks, p)
	return p
}

// add ignores deltas after the end and of another kind than the block's.
func (p *partial) add(kind, text string) {
	if p.closed == nil && p.kind == kind {
		p.text = append(p.text, text...)
	}
}

func (p *partial) addCall(c ToolCallDelta) {
	if p.closed != nil || p.kind != "tool-call" {
		return
	}
	if p.id == "" {
		p.id = c.ID
	}
	if p.name == "" {
		p.name = c.Name
	}
	p.text = append(p.text, c.ArgumentsDelta...)
}

func (p *partial) close(b Block) {
	if p.closed == nil {
		p.closed = b
	}
}

// value is the block so far; nil for an open block of an unknown kind.
func (p *partial) value() Block {
	if p.closed != nil {
		return p.closed
	}
	switch p.kind {
	case "text":
		return Text{Text: string(p.text)}
	case "reasoning":
		return Reasoning{Text: string(p.text)}
	case "tool-call":
		return ToolCallBlock{ID: p.id, Name: p.name, Arguments: string(p.text)}
	}
	return nil
}

// Message is the content of a stream that ended normally; one without a finish counts as stop. A stream cut at the
// output ceiling loses its tool calls, and replay metadata follows the blocks that stay. See spec §2.3.
func (a *Assembler) Message() (Content, *ReplayState) {
	all, kept := Content{}, Content{}
	var keptAt []int
	used := make(map[string]bool)
	for _, p := range a.blocks {
		b := p.value()
		if b == nil {
			continue
		}
		c, isCall := b.(ToolCallBlock)
		if isCall {
			b = named(c, p.index, used)
		}
		all = append(all, b)
		if !isCall || a.Reason().Kind != FinishMaxTokens {
			kept, keptAt = append(kept, b), append(keptAt, len(all)-1)
		}
	}
	return kept, a.replay(len(all), keptAt)
}

// named gives a call an id that is valid and not yet used in the message.
func named(c ToolCallBlock, index int, used map[string]bool) ToolCallBlock {
	if !ValidID(c.ID) {
		c.ID = fmt.Sprintf("call-%d", index)
	}
	for used[c.ID] {
		longer := fmt.Sprintf("%s-%d", c.ID, index)
		if !ValidID(longer) {
			longer = fmt.Sprintf("call-%d-%d", index, len(used))
		}
		c.ID = longer
	}
	used[c.ID] = true
	return c
}

// replay keeps the entries of the kept blocks; entries that do not match the blocks are discarded.
func (a *Assembler) replay(blocks int, keptAt []int) *ReplayState {
	if a.finish == nil || a.finish.Replay == nil || len(a.finish.Replay.Blocks) != blocks {
		return nil
	}
	entries := make([]json.RawMessage, len(keptAt))
	for i, at := range keptAt {
		entries[i] = a.finish.Replay.Blocks[at]
	}
	return &ReplayState{Blocks: entries}
}

// VisiblePrefix is what stays of a stream that was cut: text and reasoning that is not white space only. See spec §2.3.
func (a *Assembler) VisiblePrefix() Content {
	out := Content{}
	for _, p := range a.blocks {
		switch b := p.value().(type) {
		case Text:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, b)
			}
		case Reasoning:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, b)
			}
		}
	}
	return out
}

// Finish is the finish chunk, or nil when the stream had none.
func (a *Assembler) Finish() *Finish { return a.finish }

// Reason is why the stream ended; stop when it did not say.
func (a *Assembler) Reason() FinishReason {
	if a.finish == nil {
		return FinishReason{Kind: FinishStop}
	}
	return a.finish.Reason
}

// Usage is the last reported usage, or nil.
func (a *Assembler) Usage() *Usage { return a.usage }

// Chunks is the number of chunks so far.
func (a *Assembler) Chunks() int { return a.chunks }
