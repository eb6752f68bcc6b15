package conformance

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/session"
)

// say describes a message: `message NAME: text "…"`, content or size, and source.
func (s *setup) say(args []string, value string) error {
	if len(args) != 1 {
		return fmt.Errorf("want `message NAME: text \"…\"`")
	}
	m := plain(args[0])
	w := &words{value}
	for !w.done() {
		if err := describe(&m, w); err != nil {
			return err
		}
	}
	s.messages[args[0]] = m
	return nil
}

func describe(m *session.Message, w *words) error {
	word, err := w.bare("text, blocks, size, content, id or source")
	if err != nil {
		return err
	}
	switch word {
	case "text":
		text, err := w.text("the text")
		m.Content = session.TextContent(text)
		return err
	case "id":
		m.ID, err = w.text("the id")
		return err
	case "size":
		n, err := w.number("the size")
		m.Content = session.TextContent(strings.Repeat("x", max(n, 0)))
		return err
	case "blocks": // of text, hexadecimal, for what is no text
		return describeBlocks(m, w)
	case "content":
		return describeJSON(w, "the content", &m.Content)
	case "source":
		m.Source = session.Source{}
		return describeJSON(w, "the source", &m.Source)
	default:
		return fmt.Errorf("unknown word %q: want text, blocks, size, content, id or source", word)
	}
}

func describeBlocks(m *session.Message, w *words) error {
	m.Content = nil
	for !w.done() {
		raw, err := hex.DecodeString(w.peek())
		if err != nil {
			break // another word
		}
		m.Content = append(m.Content, session.Text{Text: string(raw)})
		w.take(w.peek())
	}
	if m.Content == nil {
		return fmt.Errorf("blocks: hexadecimal digits are missing in front of %q", w.rest)
	}
	return nil
}

func describeJSON(w *words, what string, into any) error {
	raw, err := w.value(what)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// plain is the message that is called name and says it.
func plain(name string) session.Message {
	return session.Message{ID: name, Role: session.RoleUser, Content: session.TextContent(name), Source: session.Source{Kind: session.SourceUser}}
}

// message is the message of a name.
func (s *setup) message(name string) session.Message {
	if m, ok := s.messages[name]; ok {
		return m
	}
	return plain(name)
}
