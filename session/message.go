package session

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A Role says who speaks in a [Message].
type Role string

// The roles of a message. See spec §2.3.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// A Message is one contribution to the conversation. It is frozen at creation: treat every field as read-only.
// See spec §2.3.
type Message struct {
	ID      string  `json:"id"` // unique, 1–200 characters without control characters
	Role    Role    `json:"role"`
	Content Content `json:"content"`
	Source  Source  `json:"source"`
}

// Text returns the concatenated text blocks of the message.
func (m Message) Text() string { return m.Content.Text() }

// A Source says who made a message. Exactly the fields of its Kind are set. See spec §2.3.
type Source struct {
	Kind SourceKind `json:"kind"`

	Plugin   string       `json:"plugin,omitempty"` // plugin: the producer's name
	Form     string       `json:"form,omitempty"`   // plugin: instructions, catalog, snapshot, notice, relay, recall
	Sections []string     `json:"sections,omitempty"`
	Summary  string       `json:"summary,omitempty"` // form notice: at most 120 characters
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Replay   *ReplayState `json:"replayState,omitempty"`
	CallID   string       `json:"callId,omitempty"` // tool
}

// A SourceKind names a variant of [Source].
type SourceKind string

// The source kinds.
const (
	SourceUser   SourceKind = "user"
	SourcePlugin SourceKind = "plugin"
	SourceModel  SourceKind = "model"
	SourceTool   SourceKind = "tool"
)

// ReplayState is what a provider needs to replay its own message verbatim, for example signatures of thinking blocks.
// Blocks is aligned with the message's content: one entry per block, null where there is nothing to say.
type ReplayState struct {
	Blocks []json.RawMessage `json:"blocks,omitempty"`
}

// Content is the ordered list of blocks of a message.
type Content []Block

// A Block is one part of a message: [Text], [Reasoning], [Image], [Artifact], [ToolCallBlock], [ToolResultBlock].
// The set is closed.
type Block interface {
	BlockType() string // stable on the wire
	isBlock()
}

// Text is plain text.
type Text struct {
	Text string `json:"text"`
}

// Reasoning is text the model wrote for itself.
type Reasoning struct {
	Text string `json:"text"`
}

// Image refers to a stored picture; content never holds its bytes. See spec §9.5.
type Image struct {
	Attachment string `json:"attachment"` // SHA-256 of the stored bytes, hexadecimal
	MediaType  string `json:"mediaType,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"`
}

// Artifact stands for a stored body that is too large to keep inline. See spec §9.4.
type Artifact struct {
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	MediaType string `json:"mediaType"`
}

// StoredContent is the media type of an [Artifact] that stands for stored message content: whoever persists or shows the
// message puts the stored blocks in its place. It never appears in a persisted or exported log.
const StoredContent = "application/vnd.everturn.content+json"

// ToolCallBlock is the model's request to run a tool. Arguments is raw text, not necessarily JSON.
type ToolCallBlock struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolResultBlock answers the [ToolCallBlock] of the same id.
type ToolResultBlock struct {
	ToolCallID string  `json:"toolCallId"`
	Content    Content `json:"content"`
	IsError    bool    `json:"isError,omitempty"`
}

func (Text) BlockType() string            { return "text" }
func (Reasoning) BlockType() string       { return "reasoning" }
func (Image) BlockType() string           { return "image" }
func (Artifact) BlockType() string        { return "artifact" }
func (ToolCallBlock) BlockType() string   { return "tool-call" }
func (ToolResultBlock) BlockType() string { return "tool-result" }

func (Text) isBlock()            {}
func (Reasoning) isBlock()       {}
func (Image) isBlock()           {}
func (Artifact) isBlock()        {}
func (ToolCallBlock) isBlock()   {}
func (ToolResultBlock) isBlock() {}

// TextContent is the content of a message that is just text.
func TextContent(text string) Content { return Content{Text{Text: text}} }

// Text returns the concatenated text blocks.
func (c Content) Text() string {
	var out string
	for _, b := range c {
		if t, ok := b.(Text); ok {
			out += t.Text
		}
	}
	return out
}

// ToolCalls returns the tool-call blocks in order.
func (c Content) ToolCalls() []ToolCallBlock {
	var out []ToolCallBlock
	for _, b := range c {
		if t, ok := b.(ToolCallBlock); ok {
			out = append(out, t)
		}
	}
	return out
}

// MarshalJSON writes the blocks as objects with a `type`; nil content is `[]`.
func (c Content) MarshalJSON() ([]byte, error) {
	out := make([]json.RawMessage, len(c))
	for i, b := range c {
		if b == nil {
			return nil, fmt.Errorf("content block %d: is nil", i)
		}
		raw, err := marshalTagged(b.BlockType(), b)
		if err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
		out[i] = raw
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads blocks; a block of an unknown type is an error.
func (c *Content) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	out := make(Content, len(raws))
	for i, raw := range raws {
		b, err := unmarshalBlock(raw)
		if err != nil {
			return fmt.Errorf("content block %d: %w", i, err)
		}
		out[i] = b
	}
	*c = out
	return nil
}

// UnmarshalJSON reads a result. Its content holds no other result.
func (b *ToolResultBlock) UnmarshalJSON(data []byte) error {
	w, err := decode[struct {
		ToolCallID string            `json:"toolCallId"`
		Content    []json.RawMessage `json:"content"`
		IsError    bool              `json:"isError"`
	}](data)
	if err != nil {
		return err
	}
	out := ToolResultBlock{ToolCallID: w.ToolCallID, Content: make(Content, len(w.Content)), IsError: w.IsError}
	for i, raw := range w.Content {
		if tag, _ := tagOf(raw); tag == out.BlockType() {
			return errNestedResult
		}
		if out.Content[i], err = unmarshalBlock(raw); err != nil {
			return fmt.Errorf("tool-result block %d: %w", i, err)
		}
	}
	*b = out
	return nil
}

var (
	errNestedResult = errors.New("a tool-result cannot hold another one")
	errNoType       = errors.New("type is missing")
)

func unmarshalBlock(raw json.RawMessage) (Block, error) {
	tag, err := tagOf(raw)
	if err != nil {
		return nil, err
	}
	switch tag {
	case "text":
		return decode[Text](raw)
	case "reasoning":
		return decode[Reasoning](raw)
	case "image":
		return decode[Image](raw)
	case "artifact":
		return decode[Artifact](raw)
	case "tool-call":
		return decode[ToolCallBlock](raw)
	case "tool-result":
		return decode[ToolResultBlock](raw)
	default:
		return nil, fmt.Errorf("unknown block type %q", tag)
	}
}

// decode reads raw into a value of type T.
func decode[T any](raw []byte) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// tagOf reads the discriminating `type` of a union's object.
func tagOf(raw []byte) (string, error) {
	w, err := decode[struct {
		Type *string `json:"type"`
	}](raw)
	if err != nil {
		return "", err
	}
	if w.Type == nil {
		return "", errNoType
	}
	return *w.Type, nil
}

// marshalTagged writes v's object with the discriminating `type` first.
func marshalTagged(tag string, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"type":%q`, tag)
	if len(body) > 2 { // more than {}
		head = append(head, ',')
	}
	return append(head, body[1:]...), nil
}
