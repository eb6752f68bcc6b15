package scripted

import (
	"fmt"
	"strings"
)

// Parse reads a script, one answer a line. Its errors are [*SyntaxError]. The package comment has the grammar.
func Parse(text string) (Script, error) {
	var script Script
	for i, line := range strings.Split(text, "\n") {
		p := parser{scanner: scanner{line: line, num: i + 1}}
		if !p.more() {
			continue
		}
		answer, err := p.parse()
		if err != nil {
			return nil, err
		}
		script = append(script, answer)
	}
	return script, nil
}

// MustParse is for scripts that stand in the program: it panics on a syntax error.
func MustParse(text string) Script {
	script, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return script
}

// ParseAnswer reads the answer of one line.
func ParseAnswer(line string) (Answer, error) {
	script, err := Parse(line)
	if err != nil {
		return Answer{}, err
	}
	if len(script) != 1 {
		return Answer{}, fmt.Errorf("scripted: want the answer of one line, got %d answers", len(script))
	}
	return script[0], nil
}

// A parser reads the pieces of one line.
type parser struct {
	scanner
	builder
}

const keywords = "text, reasoning, tool, whitespace, usage, no-usage, chunk, replay, hold, delay, stop, tool-calls, " +
	"max-tokens, error, abort, throw, fail-start, empty, cut or none"

func (p *parser) parse() (Answer, error) {
	for p.more() {
		pos, word := p.pos, p.peek()
		if p.ended && word != "no-usage" && word != "replay" {
			return Answer{}, p.fail(pos, "nothing after the end of the answer")
		}
		p.pos += len(word)
		if err := p.piece(word, pos); err != nil {
			return Answer{}, err
		}
	}
	return p.answer(), nil
}

// piece reads the rest of the piece that word at pos begins.
func (p *parser) piece(word string, pos int) error {
	switch word {
	case "text":
		return p.prose("the text", p.builder.text)
	case "reasoning":
		return p.prose("the reasoning", p.builder.reasoning)
	case "tool":
		return p.toolPiece()
	case "whitespace":
		p.builder.text(" \n\t", 1, false)
	case "usage":
		return p.usagePiece()
	case "no-usage":
		p.noUsage = true
	case "chunk":
		return p.chunkPiece()
	case "replay":
		return p.replayPiece()
	case "hold":
		return p.holdPiece()
	case "delay":
		return p.delayPiece()
	default:
		return p.ending(word, pos)
	}
	return nil
}
