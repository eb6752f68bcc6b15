package session

import (
	"encoding/json"
	"fmt"
)

// A Chunk is one piece of a model's streamed answer: [BlockStart], [TextDelta], [ReasoningDelta], [ToolCallDelta],
// [BlockEnd], [UsageChunk], [Finish]. The set is closed. See spec §2.3.
type Chunk interface {
	ChunkType() string // stable on the wire
	isChunk()
}

// BlockStart announces the block of an index.
type BlockStart struct {
	Index     int    `json:"index"`
	BlockType string `json:"blockType"`
}

// TextDelta adds to a text block.
type TextDelta struct {
	Index int    `json:"index"`
	Text  string `json:"text"`
}

// ReasoningDelta adds to a reasoning block.
type ReasoningDelta struct {
	Index int    `json:"index"`
	Text  string `json:"text"`
}

// ToolCallDelta adds to a tool-call block.
type ToolCallDelta struct {
	Index          int    `json:"index"`
	ID             string `json:"id"`
	Name           string `json:"name,omitempty"`
	ArgumentsDelta string `json:"argumentsDelta"`
}

// BlockEnd closes a block with its authoritative value.
type BlockEnd struct {
	Index int
	Block Block
}

// UsageChunk reports tokens; the last one of a stream wins.
type UsageChunk struct {
	Usage Usage `json:"usage"`
}

// Finish ends a stream.
type Finish struct {
	Reason FinishReason `json:"reason"`
	Replay *ReplayState `json:"replayState,omitempty"`
}

// FinishReason says why a stream ended. Failure is set for aborted and error.
type FinishReason struct {
	Kind    FinishKind `json:"kind"`
	Failure *Failure   `json:"failure,omitempty"`
}

// A FinishKind names a variant of [FinishReason].
type FinishKind string

// The finish kinds.
const (
	FinishStop      FinishKind = "stop"
	FinishToolCalls FinishKind = "tool-calls"
	FinishMaxTokens FinishKind = "max-tokens"
	FinishAborted   FinishKind = "aborted"
	FinishError     FinishKind = "error"
)

// A Failure is what went wrong with a model call, in stable terms. See spec §2.3.
type Failure struct {
	Message              string `json:"message"`
	Code                 string `json:"code"`
	Status               int    `json:"status,omitempty"`               // HTTP status
	ProviderRetryAfterMS int64  `json:"providerRetryAfterMs,omitempty"` // milliseconds
	RequestID            string `json:"requestId,omitempty"`
}

// Usage counts tokens in disjoint buckets.
type Usage struct {
	InputTokens      int64 `json:"inputTokens"`
	OutputTokens     int64 `json:"outputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty"`
}

func (BlockStart) ChunkType() string     { return "block-start" }
func (TextDelta) ChunkType() string      { return "text-delta" }
func (ReasoningDelta) ChunkType() string { return "reasoning-delta" }
func (ToolCallDelta) ChunkType() string  { return "tool-call-delta" }
func (BlockEnd) ChunkType() string       { return "block-end" }
func (UsageChunk) ChunkType() string     { return "usage" }
func (Finish) ChunkType() string         { return "finish" }

func (BlockStart) isChunk()     {}
func (TextDelta) isChunk()      {}
func (ReasoningDelta) isChunk() {}
func (ToolCallDelta) isChunk()  {}
func (BlockEnd) isChunk()       {}
func (UsageChunk) isChunk()     {}
func (Finish) isChunk()         {}

// blockEndWire is BlockEnd on the wire; Block needs its own union reader.
type blockEndWire struct {
	Index int             `json:"index"`
	Block json.RawMessage `json:"block"`
}

// MarshalChunk writes a chunk as an object with a `type`.
func MarshalChunk(c Chunk) ([]byte, error) {
	if end, ok := c.(BlockEnd); ok {
		if end.Block == nil {
			return nil, fmt.Errorf("chunk block-end: block is nil")
		}
		raw, err := marshalTagged(end.Block.BlockType(), end.Block)
		if err != nil {
			return nil, err
		}
		return marshalTagged(c.ChunkType(), blockEndWire{Index: end.Index, Block: raw})
	}
	if c == nil {
		return nil, fmt.Errorf("chunk: is nil")
	}
	return marshalTagged(c.ChunkType(), c)
}

// UnmarshalChunk reads a chunk; an unknown type is an error.
func UnmarshalChunk(raw []byte) (Chunk, error) {
	tag, err := tagOf(raw)
	if err != nil {
		return nil, fmt.Errorf("chunk: %w", err)
	}
	switch tag {
	case "block-start":
		return decode[BlockStart](raw)
	case "text-delta":
		return decode[TextDelta](raw)
	case "reasoning-delta":
		return decode[ReasoningDelta](raw)
	case "tool-call-delta":
		return decode[ToolCallDelta](raw)
	case "block-end":
		w, err := decode[blockEndWire](raw)
		if err != nil {
			return nil, err
		}
		b, err := unmarshalBlock(w.Block)
		if err != nil {
			return nil, fmt.Errorf("chunk block-end: %w", err)
		}
		return BlockEnd{Index: w.Index, Block: b}, nil
	case "usage":
		return decode[UsageChunk](raw)
	case "finish":
		return decode[Finish](raw)
	default:
		return nil, fmt.Errorf("chunk: unknown type %q", tag)
	}
}
