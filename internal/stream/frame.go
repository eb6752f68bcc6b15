package stream

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/session"
)

// A Kind says what a frame tells.
type Kind string

// The kinds of frames.
const (
	KindStart  Kind = "start"  // an attempt's stream begins
	KindChunk  Kind = "chunk"  // one chunk of it
	KindEnd    Kind = "end"    // its outcome is in the log, or it was abandoned
	KindNotice Kind = "notice" // something happened to the agent; see Name
	KindGap    Kind = "gap"    // frames up to Revision were lost to this subscriber; load the log again
)

// The names of notices. See spec §2.5.
const (
	NoticeSession      = "session/created"
	NoticeCreated      = "agent/created"
	NoticeSessionStart = "agent/session-start"
	NoticeDisposed     = "agent/disposed"
	NoticeSessionGone  = "session/disposed"
	NoticeStatus       = "agent/status"
	NoticeInserted     = "agent/inbox/inserted"
	NoticeClaimed      = "agent/inbox/claimed"
	NoticeMoved        = "agent/inbox/moved"
	NoticeDiscarded    = "agent/inbox/discarded"
	NoticeDropped      = "agent/inbox/dropped"
	NoticeError        = "agent/error"
	NoticeEvent        = "session/event"
	NoticeToolResult   = "tools/result"
)

// A Frame is one piece of an agent's live feed. Which fields are set depends on its Kind.
type Frame struct {
	Session  string `json:"session"`
	Kind     Kind   `json:"kind"`
	Revision int64  `json:"revision,omitempty"` // given by the broker, rises by one per frame of an agent
	Time     int64  `json:"time,omitempty"`     // Unix ms

	// Start, chunk and end: the place in the stream. Frames are ordered by Turn, Step, Attempt, Execution and N; N counts
	// the frames of one execution from 0, which is its start.
	Turn      int           `json:"turn,omitempty"`
	Step      int           `json:"step,omitempty"`
	Attempt   int           `json:"attempt,omitempty"`
	Execution int           `json:"execution,omitempty"` // of the activity, from 1
	N         int           `json:"n"`
	AttemptID string        `json:"attemptId,omitempty"`
	Chunk     session.Chunk `json:"-"` // of a chunk; on the wire it is `chunk`
	Outcome   *Outcome      `json:"outcome,omitempty"`

	// Notice.
	Name string          `json:"name,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`

	// Hints: where in the log this should be found.
	Epoch       int64  `json:"epoch,omitempty"`
	Seq         int64  `json:"seq,omitempty"`
	Hash        string `json:"hash,omitempty"`
	Provisional bool   `json:"provisional,omitempty"` // told by a workflow task that may not commit
}

// An Outcome says how an attempt's stream ended: with the event at Seq, or abandoned.
type Outcome struct {
	Kind      OutcomeKind `json:"kind"`
	EventType string      `json:"eventType,omitempty"` // of the settlement
	Seq       int64       `json:"seq,omitempty"`       // of the settlement
}

// An OutcomeKind names a variant of [Outcome].
type OutcomeKind string

// The outcomes.
const (
	Committed OutcomeKind = "committed"
	Abandoned OutcomeKind = "abandoned"
)

// frameFields is Frame without its methods.
type frameFields Frame

type frameWire struct {
	frameFields
	Chunk json.RawMessage `json:"chunk,omitempty"`
}

// MarshalJSON writes the frame.
func (f Frame) MarshalJSON() ([]byte, error) {
	w := frameWire{frameFields: frameFields(f)}
	if f.Chunk != nil {
		var err error
		if w.Chunk, err = session.MarshalChunk(f.Chunk); err != nil {
			return nil, fmt.Errorf("frame: %w", err)
		}
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads a frame; unknown fields are ignored.
func (f *Frame) UnmarshalJSON(data []byte) error {
	var w frameWire
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	out := Frame(w.frameFields)
	if len(w.Chunk) > 0 {
		var err error
		if out.Chunk, err = session.UnmarshalChunk(w.Chunk); err != nil {
			return fmt.Errorf("frame: %w", err)
		}
	}
	*f = out
	return nil
}
