package scripted

import (
	"strings"
	"unicode/utf8"

	"github.com/everturn/everturn/session"
)

func (p *parser) prose(want string, add func(text string, chunks int, open bool)) error {
	text, err := p.str(want)
	if err != nil {
		return err
	}
	chunks, open, err := p.blockOptions(text)
	if err != nil {
		return err
	}
	add(text, chunks, open)
	return nil
}

func (p *parser) toolPiece() error {
	id, err := p.word("the call id")
	if err != nil {
		return err
	}
	name, err := p.word("the tool name")
	if err != nil {
		return err
	}
	arguments, err := p.arguments()
	if err != nil {
		return err
	}
	chunks, open, err := p.blockOptions(arguments)
	if err != nil {
		return err
	}
	p.builder.tool(session.ToolCallBlock{ID: dash(id), Name: dash(name), Arguments: arguments}, chunks, open)
	return nil
}

// dash reads - as the empty word.
func dash(word string) string {
	if word == "-" {
		return ""
	}
	return word
}

// arguments reads a JSON value as it is written, or a string as raw text.
func (p *parser) arguments() (string, error) {
	if strings.HasPrefix(p.peek(), `"`) {
		return p.str("the raw arguments")
	}
	return p.json("the arguments (JSON such as {}, or raw text in double quotes)")
}

func (p *parser) blockOptions(text string) (chunks int, open bool, err error) {
	chunks = 1
	for {
		if _, ok := p.key("chunks"); ok {
			if chunks, err = p.chunkCount(text); err != nil {
				return 0, false, err
			}
			continue
		}
		if p.peek() != "open" {
			return chunks, open, nil
		}
		p.pos += len("open")
		open = true
	}
}

func (p *parser) chunkCount(text string) (int, error) {
	most := max(utf8.RuneCountInString(text), 1)
	pos := p.pos
	n, err := p.number("chunks")
	if err == nil && (n < 1 || n > int64(most)) {
		err = p.fail(pos, "chunks from 1 to %d, the characters of the block", most)
	}
	return int(n), err
}
