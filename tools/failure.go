package tools

import "errors"

// The codes this package gives to failures. They are stable on the wire.
const (
	InvalidArgs   = "INVALID_ARGS"        // the arguments do not fit the schema; the tool did not run
	InvalidOutput = "INVALID_TOOL_OUTPUT" // the tool ran and answered with something that cannot be shown
	Panicked      = "TOOL_PANIC"          // the tool's function panicked
)

// An Error is a tool failure with a stable code. The model reads Message; the log records Name and Code.
type Error struct {
	Name    string // class of the error, such as "FileError"
	Code    string // upper case, such as "NOT_FOUND"
	Message string
	Cause   error // for errors.Is and errors.As; never shown to the model
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Coded makes a tool failure that the log records with its name and code.
func Coded(name, code, message string) error {
	return &Error{Name: name, Code: code, Message: message}
}

// ErrorOf returns the name and code of a failed call. coded is false for an ordinary error, which has neither: the log
// then records no error details. See spec §4.8.
func ErrorOf(err error) (name, code string, coded bool) {
	var e *Error
	if !errors.As(err, &e) || e.Code == "" {
		return "", "", false
	}
	return e.Name, e.Code, true
}

// A Panic is the cause of a failure with code [Panicked].
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked, for an operator's log
}

func (p *Panic) Error() string { return "panic in a tool" }
