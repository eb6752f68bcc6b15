package scripted

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
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

// ending reads the piece that says how the stream ends.
func (p *parser) ending(word string, pos int) error {
	switch word {
	case "stop", "tool-calls", "max-tokens":
		p.end(session.FinishKind(word), nil)
	case "error":
		return p.failing(func(f *session.Failure) { p.end(session.FinishError, f) })
	case "throw":
		return p.failing(p.endWithoutFinish)
	case "fail-start":
		if p.chunks {
			return p.fail(pos, "fail-start before any block")
		}
		return p.failing(p.endWithoutFinish)
	case "abort":
		return p.abortPiece()
	case "empty", "none":
		return p.nothing(word, pos)
	case "cut":
		p.endWithoutFinish(nil)
	default:
		return p.fail(pos, "%s", keywords)
	}
	return nil
}

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

func (p *parser) usagePiece() error {
	var u session.Usage
	var err error
	if u.InputTokens, err = p.number("input tokens"); err != nil {
		return err
	}
	if u.OutputTokens, err = p.number("output tokens"); err != nil {
		return err
	}
	buckets := map[string]*int64{"cache-read": &u.CacheReadTokens, "cache-write": &u.CacheWriteTokens, "reasoning": &u.ReasoningTokens}
	for {
		key, ok := p.key("cache-read", "cache-write", "reasoning")
		if !ok {
			p.sendUsage(u)
			return nil
		}
		if *buckets[key], err = p.number(key); err != nil {
			return err
		}
	}
}

func (p *parser) chunkPiece() error {
	p.more()
	pos := p.pos
	raw, err := p.json("a chunk as a JSON object")
	if err != nil {
		return err
	}
	c, err := session.UnmarshalChunk([]byte(raw))
	if err != nil {
		return p.fail(pos, "a chunk as a JSON object (%v)", err)
	}
	p.raw(c)
	return nil
}

func (p *parser) replayPiece() error {
	p.more()
	pos := p.pos
	raw, err := p.json("the replay state as a JSON object")
	if err != nil {
		return err
	}
	var state *session.ReplayState
	if json.Unmarshal([]byte(raw), &state) != nil || state == nil {
		return p.fail(pos, `the replay state as a JSON object such as {"blocks":[null]}`)
	}
	p.replay = state
	return nil
}

func (p *parser) holdPiece() error {
	p.more()
	pos := p.pos
	name, err := p.word("the name of the hold")
	if err == nil && name == "" {
		err = p.fail(pos, "the name of the hold")
	}
	if err != nil {
		return err
	}
	p.hold(name)
	return nil
}

func (p *parser) delayPiece() error {
	d, err := p.duration("a delay")
	if err != nil {
		return err
	}
	p.delay(d)
	return nil
}

// nothing reads empty and none, which allow no chunk.
func (p *parser) nothing(word string, pos int) error {
	if p.chunks {
		return p.fail(pos, "%s before any block or usage", word)
	}
	if word == "none" {
		p.endWithoutFinish(nil)
		return nil
	}
	p.noUsage = true
	p.end(session.FinishStop, nil)
	return nil
}

func (p *parser) abortPiece() error {
	message, err := p.message("the provider aborted the answer")
	if err != nil {
		return err
	}
	p.end(session.FinishAborted, &session.Failure{Code: string(llm.Aborted), Message: message})
	return nil
}

// failing reads a failure and hands it to the ending it belongs to.
func (p *parser) failing(end func(*session.Failure)) error {
	f, err := p.failure()
	if err != nil {
		return err
	}
	end(f)
	return nil
}

func (p *parser) failure() (*session.Failure, error) {
	p.more()
	pos := p.pos
	code, err := p.word("a failure code")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(codes, llm.Code(code)) {
		return nil, p.fail(pos, "a failure code: one of %v", codes)
	}
	message, err := p.message("scripted failure " + code)
	if err != nil {
		return nil, err
	}
	f := &session.Failure{Code: code, Message: message}
	return f, p.failureFacts(f)
}

func (p *parser) failureFacts(f *session.Failure) error {
	for {
		key, ok := p.key("status", "retry-after", "request-id")
		if !ok {
			return nil
		}
		if err := p.failureFact(f, key); err != nil {
			return err
		}
	}
}

func (p *parser) failureFact(f *session.Failure, key string) error {
	switch key {
	case "status":
		pos := p.pos
		n, err := p.number("an HTTP status")
		if err == nil && n > math.MaxInt16 {
			err = p.fail(pos, "an HTTP status")
		}
		f.Status = int(n)
		return err
	case "retry-after":
		d, err := p.duration("a time to wait")
		f.ProviderRetryAfterMS = d.Milliseconds()
		return err
	default:
		id, err := p.word("a request id")
		f.RequestID = id
		return err
	}
}

// message reads an optional string.
func (p *parser) message(absent string) (string, error) {
	if !strings.HasPrefix(p.peek(), `"`) {
		return absent, nil
	}
	return p.str("the message")
}

// codes are the failures a script can name.
var codes = []llm.Code{
	llm.Auth, llm.Quota, llm.RateLimit, llm.ContextWindowExceeded, llm.InvalidRequest, llm.Server, llm.Transport,
	llm.Timeout, llm.Aborted, llm.StreamClosed, llm.MalformedResponse, llm.EmptyResponse, llm.MissingCredential,
	llm.UnsupportedContent, llm.NoAdapter, llm.Unknown,
}
