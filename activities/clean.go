package activities

import (
	"strings"

	"github.com/everturn/everturn/session"
)

// What user code and providers say goes into the log only if the log can hold it: text that is no UTF-8 is mended where
// it comes in, since a refused event would stop the agent. See spec §2.1.

// signed fills in what the maker of a message left out; id is used if its own cannot name a message.
func signed(m session.Message, plugin, id string) session.Message {
	if !session.ValidID(m.ID) {
		m.ID = id
	}
	if m.Role == "" {
		m.Role = session.RoleUser
	}
	if m.Source.Kind == "" {
		m.Source = session.Source{Kind: session.SourcePlugin, Plugin: plugin}
	}
	m.Content = clean(m.Content)
	return m
}

// clean is content with valid text.
func clean(in session.Content) session.Content {
	out := make(session.Content, 0, len(in))
	for _, b := range in {
		switch b := b.(type) {
		case nil:
		case session.Text:
			out = append(out, session.Text{Text: valid(b.Text)})
		case session.Reasoning:
			out = append(out, session.Reasoning{Text: valid(b.Text)})
		case session.ToolResultBlock:
			b.Content = clean(b.Content)
			out = append(out, b)
		default:
			out = append(out, b)
		}
	}
	return out
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// readable is a finish whose failure the log can hold.
func readable(c session.Chunk) session.Chunk {
	f, ok := c.(session.Finish)
	if !ok || f.Reason.Failure == nil {
		return c
	}
	failure := *f.Reason.Failure
	failure.Message, failure.Code, failure.RequestID = clip(failure.Message), valid(failure.Code), valid(failure.RequestID)
	f.Reason.Failure = &failure
	return f
}
