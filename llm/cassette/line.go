package cassette

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

const version = 1

// A line is one line of the file. Exactly one field is set.
type line struct {
	Header  *header   `json:"header,omitempty"`
	Prepare *prepared `json:"prepare,omitempty"`
	Stream  *stream   `json:"stream,omitempty"`
}

type header struct {
	Version  int    `json:"version"`
	Provider string `json:"provider"`
}

// prepared is what preparing a configuration came to.
type prepared struct {
	Config  session.CallConfig `json:"config"`
	Facts   *facts             `json:"facts,omitempty"`
	Failure *session.Failure   `json:"failure,omitempty"`
}

// facts are the fields of [llm.Prepared].
type facts struct {
	Config             session.CallConfig       `json:"config"`
	Defaults           *session.AdapterDefaults `json:"defaults,omitempty"`
	ContextWindow      int                      `json:"contextWindow,omitempty"`
	SystemPromptUpdate bool                     `json:"systemPromptUpdate,omitempty"`
	Images             bool                     `json:"images,omitempty"`
	Retry              llm.RetryPolicy          `json:"retry"`
	Idle               time.Duration            `json:"idle,omitempty"`
}

// stream is what a request was answered with.
type stream struct {
	Request Digest           `json:"request"`
	Chunks  chunks           `json:"chunks"`
	Failure *session.Failure `json:"failure,omitempty"`
	Cut     bool             `json:"cut,omitempty"` // the caller left, or cancelled, before the end
}

// chunks are chunks that go through JSON.
type chunks []session.Chunk

// MarshalJSON writes the chunks as objects with a type.
func (c chunks) MarshalJSON() ([]byte, error) {
	out := make([]json.RawMessage, len(c))
	for i, chunk := range c {
		raw, err := session.MarshalChunk(chunk)
		if err != nil {
			return nil, err
		}
		out[i] = raw
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads them back.
func (c *chunks) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return err
	}
	out := make(chunks, len(raws))
	for i, raw := range raws {
		chunk, err := session.UnmarshalChunk(raw)
		if err != nil {
			return fmt.Errorf("chunk %d: %w", i, err)
		}
		out[i] = chunk
	}
	*c = out
	return nil
}
