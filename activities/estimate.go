package activities

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Sizes in tokens are estimates: four characters to one. See spec §9.3.
const (
	charsPerToken = 4
	imageTokens   = 1000
)

func textTokens(text string) int {
	return (utf8.RuneCountInString(text) + charsPerToken - 1) / charsPerToken
}

func messageSize(m session.Message) int { return contentSize(m.Content) }

func contentSize(content session.Content) (n int) {
	for _, b := range content {
		switch b := b.(type) {
		case session.Text:
			n += textTokens(b.Text)
		case session.Reasoning:
			n += textTokens(b.Text)
		case session.ToolCallBlock:
			n += textTokens(b.Name) + textTokens(b.Arguments)
		case session.ToolResultBlock:
			n += contentSize(b.Content)
		case session.Image:
			n += imageTokens
		}
	}
	return n
}

// nodeSize is the size of what a node of the surface shows the model.
func nodeSize(r session.Record) int {
	switch e := r.Event.(type) {
	case session.UserMessage:
		return messageSize(e.Message)
	case session.AssistantMessage:
		return messageSize(e.Message)
	case session.ToolResult:
		return messageSize(e.Message)
	case session.SystemMessage:
		return messageSize(e.Message)
	}
	return 0
}

func nodesSize(nodes []session.Record) (n int) {
	for _, r := range nodes {
		n += nodeSize(r)
	}
	return n
}

// requestSize is the size of a request.
func requestSize(req llm.Request) int {
	n := textTokens(req.System)
	for _, m := range req.Messages {
		n += messageSize(m)
	}
	if raw, err := json.Marshal(req.Tools); err == nil && len(req.Tools) > 0 {
		n += textTokens(string(raw))
	}
	return n
}
