package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/everturn/everturn/session"
)

// replayEntry is what one block of an answer needs to be sent back. Only thinking needs something.
type replayEntry struct {
	Signature string `json:"signature,omitempty"`        // of a thinking block
	Redacted  string `json:"redactedThinking,omitempty"` // the whole of an encrypted one
}

func (e replayEntry) blocks(r session.Reasoning) []sdk.ContentBlockParamUnion {
	switch {
	case e.Redacted != "":
		return []sdk.ContentBlockParamUnion{sdk.NewRedactedThinkingBlock(e.Redacted)}
	case e.Signature != "":
		return []sdk.ContentBlockParamUnion{sdk.NewThinkingBlock(e.Signature, r.Text)}
	default:
		return nil // the vendor refuses thinking that it did not sign
	}
}

// replayOf returns an entry for each block of the message, or nil if its thinking cannot be replayed: another route made
// it, or its content changed since.
func (h *history) replayOf(m session.Message) []replayEntry {
	s := m.Source
	if s.Provider != h.provider || s.Model != h.model || s.Replay == nil || len(s.Replay.Blocks) != len(m.Content) {
		return nil
	}
	entries := make([]replayEntry, len(m.Content))
	for i, raw := range s.Replay.Blocks {
		if len(raw) > 0 && json.Unmarshal(raw, &entries[i]) != nil {
			return nil
		}
	}
	return entries
}

// replayState makes the state of an answer; nil if no block needs anything.
func replayState(entries []replayEntry) *session.ReplayState {
	needed := false
	out := &session.ReplayState{Blocks: make([]json.RawMessage, len(entries))}
	for i, e := range entries {
		out.Blocks[i] = json.RawMessage("null")
		if e != (replayEntry{}) {
			needed = true
			out.Blocks[i], _ = json.Marshal(e) // two strings always marshal
		}
	}
	if !needed {
		return nil
	}
	return out
}
