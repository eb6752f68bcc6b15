// Package vendor holds what the providers of this module share: how the failures of a vendor's HTTP API are classified,
// and how history is written down for a route that cannot carry all of it.
package vendor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A Fault is what a vendor said when it refused or broke a call.
type Fault struct {
	Provider string
	Status   int         // HTTP status; 0 for an error inside a stream
	Header   http.Header // of the response; may be nil
	Kind     string      // the vendor's error type
	Code     string      // the vendor's error code
	Message  string
}

// maxBody is how much of an error's body is read.
const maxBody = 64 << 10

// Refusal reads the fault of a response whose status is not a success.
func Refusal(provider string, resp *http.Response) Fault {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody)) // what could be read is what there is to tell
	f := Parse(provider, raw)
	f.Status, f.Header = resp.StatusCode, resp.Header
	return f
}

// Parse reads the fault of an error object, or of whatever else a proxy put in its place.
func Parse(provider string, raw []byte) Fault {
	f := Fault{Provider: provider}
	var body envelope
	if json.Unmarshal(raw, &body) != nil {
		f.Message = plain(string(raw))
		return f
	}
	e := body.fault()
	f.Kind, f.Code, f.Message = e.Type, text(e.Code), e.Message
	if n, err := strconv.Atoi(f.Code); err == nil && n >= 400 && n < 600 {
		f.Status = n // some routers put the status of the model behind them into the code
	}
	return f
}

type envelope struct {
	Error  json.RawMessage `json:"error"`
	Detail json.RawMessage `json:"detail"`
	inner
}

type inner struct {
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
}

// fault finds the error object: under `error`, as a text under `error` or `detail`, or at the top.
func (b envelope) fault() inner {
	var e inner
	switch {
	case len(b.Error) > 0 && json.Unmarshal(b.Error, &e) == nil:
		return e
	case len(b.Error) > 0:
		return inner{Message: text(b.Error)}
	case len(b.Detail) > 0:
		return inner{Message: text(b.Detail)}
	default:
		return b.inner
	}
}

// text is a JSON string's text, or the JSON itself.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// plain keeps a short text body and drops a page of markup.
func plain(body string) string {
	body = strings.TrimSpace(body)
	if strings.HasPrefix(body, "<") {
		return ""
	}
	return body
}

// Failure classifies the fault.
func (f Fault) Failure() session.Failure {
	return session.Failure{
		Code:                 string(f.code()),
		Message:              f.message(),
		Status:               f.Status,
		ProviderRetryAfterMS: retryAfter(f.Header),
		RequestID:            RequestID(f.Header),
	}
}

// maxMessage is how much of a vendor's message is kept, in bytes.
const maxMessage = 2000

func (f Fault) message() string {
	what := "broke off the answer"
	if f.Status != 0 {
		what = strings.TrimSpace(fmt.Sprintf("answered %d %s", f.Status, http.StatusText(f.Status)))
	}
	msg := f.Message
	if msg == "" {
		msg = strings.TrimSpace(f.Kind + " " + f.Code)
	}
	if msg == "" {
		msg = "without saying why"
	}
	if len(msg) > maxMessage {
		msg = strings.ToValidUTF8(msg[:maxMessage], "") + "…"
	}
	return fmt.Sprintf("%s %s: %s", f.Provider, what, msg)
}

// RequestID is the vendor's name of the request, "" if it gave none.
func RequestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// Scrub takes the key out of a failure's message, in case the vendor repeated it.
func Scrub(f session.Failure, key llm.Secret) session.Failure {
	if !key.IsZero() {
		f.Message = strings.ReplaceAll(f.Message, key.Reveal(), key.String())
	}
	return f
}
