package llmtest

import (
	"encoding/json"
	"net/http"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A Wire writes answers down the way a vendor's server does.
type Wire interface {
	// Path is where calls go to.
	Path() string
	// Key is the credential that a call carries.
	Key(h http.Header) string
	// Frames are the events of an answer. The last one only says that nothing follows.
	Frames(a Answer) []string
	// Garbage is an event that cannot be read.
	Garbage() string
	// Breaks are error events in the middle of a stream.
	Breaks() []Break
	// Refusals are responses that are no success.
	Refusals() []Refusal
	// RequestID is the header with the vendor's name of the request.
	RequestID() string
}

// An Answer is what a model says.
type Answer struct {
	Blocks []Piece
	Usage  session.Usage
	End    string // End…
}

// How an answer ends.
const (
	EndStop      = "stop"
	EndCalls     = "calls"
	EndLength    = "length"
	EndWithheld  = "withheld"
	EndUndefined = "" // it does not
)

// A Piece is a block of an answer, in the parts in which it arrives.
type Piece struct {
	Kind     string // Thought, Said or Called
	Parts    []string
	ID, Name string // of a call
}

// The kinds of a piece.
const (
	Thought = "thought"
	Said    = "said"
	Called  = "called"
)

// A Refusal is a response that is no success.
type Refusal struct {
	Name   string
	Status int
	Body   string
	Code   llm.Code // what it means
}

// A Break is an error event in the middle of a stream.
type Break struct {
	Name  string
	Frame string
	Code  llm.Code
}

// object is JSON in the making.
type object = map[string]any

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps, slices, strings and numbers are given
	}
	return string(raw)
}
