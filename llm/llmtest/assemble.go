package llmtest

import (
	"iter"
	"strconv"

	"github.com/everturn/everturn/session"
)

// draft is a block in the making.
type draft struct {
	index int
	kind  string
	text  string
	id    string
	name  string
}

// collect runs a stream to its end and assembles its content. See spec §2.3.
func collect(chunks iter.Seq2[session.Chunk, error]) Outcome {
	var out Outcome
	var drafts []*draft
	for chunk, err := range chunks {
		if err != nil {
			out.Err = err
			break
		}
		out.Chunks = append(out.Chunks, chunk)
		drafts = apply(drafts, chunk)
		switch c := chunk.(type) {
		case session.UsageChunk:
			out.Usage = c.Usage
		case session.Finish:
			out.Finish = c
		}
	}
	out.Content = content(drafts)
	return out
}

func apply(drafts []*draft, chunk session.Chunk) []*draft {
	switch c := chunk.(type) {
	case session.BlockStart:
		drafts, _ = at(drafts, c.Index, c.BlockType)
	case session.TextDelta:
		var d *draft
		drafts, d = at(drafts, c.Index, "text")
		d.text += c.Text
	case session.ReasoningDelta:
		var d *draft
		drafts, d = at(drafts, c.Index, "reasoning")
		d.text += c.Text
	case session.ToolCallDelta:
		var d *draft
		drafts, d = at(drafts, c.Index, "tool-call")
		d.text += c.ArgumentsDelta
		d.id, d.name = c.ID, d.name+c.Name
	}
	return drafts
}

func at(drafts []*draft, index int, kind string) ([]*draft, *draft) {
	for _, d := range drafts {
		if d.index == index {
			return drafts, d
		}
	}
	d := &draft{index: index, kind: kind}
	return append(drafts, d), d
}

func content(drafts []*draft) session.Content {
	var out session.Content
	used := map[string]bool{}
	for _, d := range drafts {
		switch d.kind {
		case "text":
			out = append(out, session.Text{Text: d.text})
		case "reasoning":
			out = append(out, session.Reasoning{Text: d.text})
		default:
			id := d.id
			if id == "" {
				id = "call-" + strconv.Itoa(d.index)
			}
			if used[id] {
				id += "-" + strconv.Itoa(d.index)
			}
			used[id] = true
			out = append(out, session.ToolCallBlock{ID: id, Name: d.name, Arguments: d.text})
		}
	}
	return out
}
