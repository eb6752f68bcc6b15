package scripted

import (
	"math"
	"slices"
	"strings"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

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
