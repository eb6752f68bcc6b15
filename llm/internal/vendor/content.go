package vendor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/session"
)

// The fixed texts that stand for content a route cannot carry. They are part of the prompt, so they never change
// without need. See spec §9.5.
const (
	ImageStandIn  = "[an image is not shown here]"
	noMessageText = "[no content]"
)

// ArtifactStandIn stands for a stored body.
func ArtifactStandIn(a session.Artifact) string {
	return fmt.Sprintf("[a stored body of %d bytes (%s) is not shown here]", a.Bytes, a.MediaType)
}

// Text writes content down as text, with stand-ins for what is not text. Reasoning and tool calls are left out.
func Text(content session.Content) string {
	var parts []string
	for _, b := range content {
		switch b := b.(type) {
		case session.Text:
			parts = append(parts, b.Text)
		case session.Image:
			parts = append(parts, ImageStandIn)
		case session.Artifact:
			parts = append(parts, ArtifactStandIn(b))
		}
	}
	return strings.Join(parts, "\n")
}

// OrNoContent replaces a blank text, which vendors refuse.
func OrNoContent(text string) string {
	if strings.TrimSpace(text) == "" {
		return noMessageText
	}
	return text
}

// Arguments is a tool call's arguments as the JSON object that vendors demand. Text that is none is wrapped into one,
// so that the model still sees what it wrote.
func Arguments(raw string) json.RawMessage {
	if strings.TrimSpace(raw) == "" {
		return json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &object) == nil && object != nil {
		return json.RawMessage(raw)
	}
	wrapped, _ := json.Marshal(map[string]string{"malformed": raw}) // a map of strings always marshals
	return wrapped
}
