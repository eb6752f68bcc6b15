package scripted

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

func copyRequest(req llm.Request) llm.Request {
	req.Config.Stop = slices.Clone(req.Config.Stop)
	if req.Config.Temperature != nil {
		t := *req.Config.Temperature
		req.Config.Temperature = &t
	}
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		req.Messages[i] = copyMessage(req.Messages[i])
	}
	req.Tools = slices.Clone(req.Tools)
	for i := range req.Tools {
		req.Tools[i].Parameters = bytes.Clone(req.Tools[i].Parameters)
	}
	return req
}

func copyMessage(m session.Message) session.Message {
	m.Content = copyContent(m.Content)
	m.Source.Sections = slices.Clone(m.Source.Sections)
	m.Source.Replay = copyReplay(m.Source.Replay)
	return m
}

func copyContent(c session.Content) session.Content {
	c = slices.Clone(c)
	for i, b := range c {
		if r, ok := b.(session.ToolResultBlock); ok { // the only block that holds a reference
			r.Content = copyContent(r.Content)
			c[i] = r
		}
	}
	return c
}

func copyReplay(r *session.ReplayState) *session.ReplayState {
	if r == nil {
		return nil
	}
	blocks := slices.Clone(r.Blocks)
	for i := range blocks {
		blocks[i] = json.RawMessage(bytes.Clone(blocks[i]))
	}
	return &session.ReplayState{Blocks: blocks}
}
