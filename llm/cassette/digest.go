package cassette

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A Digest stands for a request. Its parts are hashes, except for the configuration.
type Digest struct {
	Config   session.CallConfig `json:"config"`
	System   string             `json:"system,omitempty"`
	Tools    []string           `json:"tools,omitempty"`    // name and hash of each
	Messages []string           `json:"messages,omitempty"` // role and hash of each
}

// DigestOf digests what the model is sent. Two requests that a provider writes down alike have the same digest.
func DigestOf(req llm.Request) Digest {
	d := Digest{Config: req.Config}
	if req.System != "" {
		d.System = hash(req.System)
	}
	for _, t := range req.Tools {
		d.Tools = append(d.Tools, t.Name+":"+hash(t))
	}
	for _, m := range req.Messages {
		s := m.Source
		seen := []any{m.Role, m.Content, s.Provider, s.Model, s.Replay}
		d.Messages = append(d.Messages, string(m.Role)+":"+hash(seen))
	}
	return d
}

// hash is short: it tells requests of one test apart, and nothing depends on its strength.
func hash(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = fmt.Appendf(nil, "%v", err) // content that no provider could write down either
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Differences names the parts in which a request differs from a recorded one; empty if it does not.
func (d Digest) Differences(recorded Digest) []string {
	var out []string
	if was, is := text(recorded.Config), text(d.Config); was != is {
		out = append(out, fmt.Sprintf("config (recorded %s, asked %s)", was, is))
	}
	if d.System != recorded.System {
		out = append(out, "system prompt")
	}
	out = append(out, differences("tool", d.Tools, recorded.Tools)...)
	return append(out, differences("message", d.Messages, recorded.Messages)...)
}

func text(c session.CallConfig) string {
	raw, _ := json.Marshal(c) // strings and numbers; a temperature that is no number never gets this far
	return string(raw)
}

func differences(what string, asked, recorded []string) []string {
	var out []string
	if len(asked) != len(recorded) {
		out = append(out, fmt.Sprintf("number of %ss (recorded %d, asked %d)", what, len(recorded), len(asked)))
	}
	for i := range min(len(asked), len(recorded)) {
		if asked[i] != recorded[i] {
			out = append(out, fmt.Sprintf("%s %d (recorded %s, asked %s)", what, i+1, recorded[i], asked[i]))
		}
	}
	return out
}

// nearest returns the recording with the fewest differences.
func nearest(d Digest, recordings []*recording) *recording {
	return slices.MinFunc(recordings, func(a, b *recording) int {
		return len(d.Differences(a.stream.Request)) - len(d.Differences(b.stream.Request))
	})
}
