package signals

import (
	"cmp"
	"strings"
)

// summaryLimit is the server's limit of a summary, in bytes, with room to spare.
const summaryLimit = 200

// Summary is what the Temporal UI calls the agent: its title, else the first line of its first message.
func (c Create) Summary() string {
	text := c.Title
	if text == "" && c.First != nil {
		text, _, _ = strings.Cut(strings.TrimSpace(cmp.Or(c.First.Text, c.First.Content.Text())), "\n")
	}
	if text = strings.TrimSpace(text); text == "" {
		return "agent · " + c.Definition
	}
	if len(text) <= summaryLimit {
		return text
	}
	return strings.ToValidUTF8(text[:summaryLimit-len("…")], "") + "…"
}
