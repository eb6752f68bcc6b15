package llm

import (
	"errors"

	"github.com/everturn/everturn/session"
)

// A Code classifies a failed model call. It is stable on the wire.
type Code string

// The failure codes.
const (
	Auth                  Code = "AUTH"                    // the credential was refused
	Quota                 Code = "QUOTA"                   // the account has no credit left
	RateLimit             Code = "RATE_LIMIT"              // too many requests; the failure may say when to come back
	ContextWindowExceeded Code = "CONTEXT_WINDOW_EXCEEDED" // the request is too long for the model
	InvalidRequest        Code = "INVALID_REQUEST"         // the request was refused and would be again
	Server                Code = "SERVER"                  // the provider failed or is overloaded
	Transport             Code = "TRANSPORT"               // the connection failed, before or in the middle of the answer
	Timeout               Code = "TIMEOUT"                 // the stream was silent for too long
	Aborted               Code = "ABORTED"                 // the provider ended the call
	StreamClosed          Code = "STREAM_CLOSED"           // the stream ended as if complete, but its answer was not
	MalformedResponse     Code = "MALFORMED_RESPONSE"      // the answer could not be read
	EmptyResponse         Code = "EMPTY_RESPONSE"          // a normal stop without any content
	MissingCredential     Code = "MISSING_CREDENTIAL"      // no key is configured
	UnsupportedContent    Code = "UNSUPPORTED_CONTENT"     // the route cannot carry a block of the request
	NoAdapter             Code = "NO_ADAPTER"              // no provider serves the route
	Unknown               Code = "UNKNOWN"                 // an error without facts
)

// An Error is a failed model call with its facts. The message goes into the log, so it holds no credential. Cause is
// kept for errors.Is and is neither printed nor logged.
type Error struct {
	Failure session.Failure
	Cause   error
}

// Errorf makes an [Error] of a code and a message that a person can act on.
func Errorf(code Code, message string, cause error) *Error {
	return &Error{Failure: session.Failure{Code: string(code), Message: message}, Cause: cause}
}

func (e *Error) Error() string { return e.Failure.Code + ": " + e.Failure.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// FailureOf returns the facts of an error. A context error without facts is ABORTED or TIMEOUT, any other one UNKNOWN.
// The failure of a nil error is the zero value.
func FailureOf(err error) session.Failure {
	if err == nil {
		return session.Failure{}
	}
	var e *Error
	if errors.As(err, &e) && e != nil {
		return e.Failure
	}
	if f, ok := contextFailure(err); ok {
		return f
	}
	return session.Failure{Code: string(Unknown), Message: err.Error()}
}
