package vendor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Client is a copy of the client that follows no redirect: a redirected call would carry the key to another host.
func Client(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	own := *c
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// A Call names the ways in which one HTTP call can fail.
type Call struct {
	Provider string
	Key      llm.Secret
	Response *http.Response // nil as long as there is none
}

// Fail makes the error of a failure, without the key in it.
func (c *Call) Fail(f session.Failure, cause error) *llm.Error {
	if f.RequestID == "" && c.Response != nil {
		f.RequestID = RequestID(c.Response.Header)
	}
	return &llm.Error{Failure: Scrub(f, c.Key), Cause: cause}
}

// Failf is Fail for a failure that is only a code and a message.
func (c *Call) Failf(code llm.Code, cause error, format string, args ...any) *llm.Error {
	return c.Fail(session.Failure{Code: string(code), Message: c.Provider + " " + fmt.Sprintf(format, args...)}, cause)
}

// Broken explains why reading the stream ended with err; nil if it just ended.
func (c *Call) Broken(ctx context.Context, err error) *llm.Error {
	switch {
	case ctx.Err() != nil:
		return c.Failf(llm.Aborted, ctx.Err(), "was cancelled")
	case c.Response != nil && c.Response.StatusCode >= 300:
		return c.Fail(Refusal(c.Provider, c.Response).Failure(), nil)
	case err == nil:
		return nil
	case malformed(err):
		return c.Failf(llm.MalformedResponse, err, "sent an event that cannot be read: %v", err)
	case timedOut(err):
		return c.Failf(llm.Timeout, err, "did not answer in time: %v", err)
	case c.Response == nil:
		return c.Failf(llm.Transport, err, "could not be reached: %v", err)
	default:
		return c.Failf(llm.Transport, err, "was cut off in the middle of its answer: %v", err)
	}
}

// Unfinished explains a stream that ended well before its answer did.
func (c *Call) Unfinished() *llm.Error {
	if kind := c.contentType(); kind != "" && kind != "text/event-stream" {
		return c.Failf(llm.MalformedResponse, nil, "answered with %s instead of an event stream (is the base URL right?)", kind)
	}
	return c.Failf(llm.StreamClosed, nil, "ended its answer without saying that it was complete")
}

func (c *Call) contentType() string {
	if c.Response == nil {
		return ""
	}
	kind, _, _ := mime.ParseMediaType(c.Response.Header.Get("Content-Type"))
	return kind
}

func malformed(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, bufio.ErrTooLong)
}

func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}
