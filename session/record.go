package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Record is an event in its envelope. See spec §2.1.
type Record struct {
	Seq     int64 // position in the log, from 0
	Time    int64 // wall clock at append, Unix ms; never used for ordering
	Event   Event
	Surface *SurfaceOp // set on every surface-eligible event, nil elsewhere
	Sources []int64    // nil is absent; empty is allowed on assistant/message only
	// Ignorable lets a reader that does not know the type skip the event.
	Ignorable bool

	// data is the payload as it was read, so that unknown fields survive. To change the event of a record that was read,
	// make a new record.
	data json.RawMessage
}

// A SurfaceOp places an event on the surface: an append, or a replacement of the nodes from Start to End inclusive.
type SurfaceOp struct {
	Replace    bool
	Start, End int64 // seqs of surface nodes
}

// AppendOp is the surface operation of an ordinary message.
func AppendOp() *SurfaceOp { return &SurfaceOp{} }

// ReplaceOp shadows the surface nodes from start to end.
func ReplaceOp(start, end int64) *SurfaceOp { return &SurfaceOp{Replace: true, Start: start, End: end} }

// OnSurface reports whether events of this kind join the surface.
func OnSurface(e Event) bool {
	switch e.(type) {
	case SystemMessage, UserMessage, AssistantMessage, ToolResult:
		return true
	default:
		return false
	}
}

// NewRecord wraps an event that has no explicit surface operation: surface events append.
// Seq is left 0 for whoever appends it. timeMS is Unix milliseconds.
func NewRecord(timeMS int64, e Event, sources ...int64) Record {
	r := Record{Time: timeMS, Event: e}
	if OnSurface(e) {
		r.Surface = AppendOp()
	}
	if len(sources) > 0 {
		r.Sources = sources
	}
	if _, ok := e.(CancelRequested); ok {
		r.Ignorable = true
	}
	return r
}

type replaceWire struct {
	Op    string `json:"op"`
	Start *int64 `json:"start"`
	End   *int64 `json:"end"`
}

// MarshalJSON writes "append" or {op: replace, start, end}.
func (s SurfaceOp) MarshalJSON() ([]byte, error) {
	if !s.Replace {
		return []byte(`"append"`), nil
	}
	return json.Marshal(replaceWire{"replace", &s.Start, &s.End})
}

// UnmarshalJSON reads either form.
func (s *SurfaceOp) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte(`"append"`)) {
		*s = SurfaceOp{}
		return nil
	}
	w, err := decode[replaceWire](data)
	if err != nil || w.Op != "replace" || w.Start == nil || w.End == nil {
		return fmt.Errorf("surfaceOp: want \"append\" or {op: replace, start, end}, got %.60s", data)
	}
	*s = SurfaceOp{Replace: true, Start: *w.Start, End: *w.End}
	return nil
}

type recordWire struct {
	Seq       *int64          `json:"seq"`
	Time      int64           `json:"time"`
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data"`
	Surface   *SurfaceOp      `json:"surfaceOp,omitempty"`
	Sources   *[]int64        `json:"sourceEventSeqs,omitempty"`
	Ignorable bool            `json:"ignorable,omitempty"`
}

// MarshalJSON writes the record as one line of an exported log. See spec §2.7.
func (r Record) MarshalJSON() ([]byte, error) {
	if r.Event == nil {
		return nil, fmt.Errorf("record seq %d: no event", r.Seq)
	}
	data := r.data
	if data == nil {
		var err error
		if data, err = json.Marshal(r.Event); err != nil {
			return nil, fmt.Errorf("record seq %d %s: %w", r.Seq, r.Event.Type(), err)
		}
	}
	w := recordWire{Seq: &r.Seq, Time: r.Time, Type: r.Event.Type(), Data: data, Surface: r.Surface, Ignorable: r.Ignorable}
	if r.Sources != nil {
		w.Sources = &r.Sources
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads one line of a log. Unknown fields of the data are kept; an unknown type needs `ignorable`.
func (r *Record) UnmarshalJSON(line []byte) error {
	if !utf8.Valid(line) {
		return fmt.Errorf("record: %w", errNotUTF8)
	}
	w, err := decode[recordWire](line)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if w.Seq == nil || *w.Seq < 0 {
		return fmt.Errorf("record: seq is missing or negative")
	}
	if w.Type == "" {
		return fmt.Errorf("record seq %d: type is missing", *w.Seq)
	}
	if d := bytes.TrimSpace(w.Data); len(d) == 0 || d[0] != '{' {
		return fmt.Errorf("record seq %d %s: data is not an object", *w.Seq, w.Type)
	}
	if w.Data, err = canonical(w.Data); err != nil {
		return fmt.Errorf("record seq %d %s: data is not lossless JSON: %w", *w.Seq, w.Type, err)
	}
	e, err := unmarshalEvent(w.Type, w.Data)
	if err != nil {
		return fmt.Errorf("record seq %d %s: %w", *w.Seq, w.Type, err)
	}
	if _, ok := e.(Unknown); ok && !w.Ignorable {
		return &RuleError{Seq: *w.Seq, Rule: RuleType, Msg: fmt.Sprintf("unknown event type %q, and it is not marked ignorable: this log needs a newer version", w.Type)}
	}
	*r = Record{Seq: *w.Seq, Time: w.Time, Event: e, Surface: w.Surface, Ignorable: w.Ignorable, data: w.Data}
	if w.Sources != nil {
		r.Sources = *w.Sources
		if r.Sources == nil {
			r.Sources = []int64{}
		}
	}
	return nil
}

// canonical returns valid JSON in the one form that [json.Marshal] gives it, so that reading what was written changes
// nothing.
func canonical(data json.RawMessage) (json.RawMessage, error) {
	if err := losslessTokens(data); err != nil {
		return nil, err
	}
	return json.Marshal(data)
}

func unmarshalEvent(kind string, data []byte) (Event, error) {
	switch kind {
	case "agent/inbox/spliced":
		return decode[InboxSpliced](data)
	case "agent/inbox/moved":
		return decode[InboxMoved](data)
	case "turn/start":
		return decode[TurnStart](data)
	case "step/start":
		return decode[StepStart](data)
	case "system/message":
		return decode[SystemMessage](data)
	case "user/message":
		return decode[UserMessage](data)
	case "request/header":
		return decode[RequestHeader](data)
	case "request/context":
		return decode[RequestContext](data)
	case "assistant/chunk":
		return decode[AssistantChunk](data)
	case "assistant/message":
		return decode[AssistantMessage](data)
	case "assistant/attempt":
		return decode[AssistantAttempt](data)
	case "tool/call":
		return decode[ToolCall](data)
	case "tool/result":
		return decode[ToolResult](data)
	case "step/end":
		return decode[StepEnd](data)
	case "turn/end":
		return decode[TurnEnd](data)
	case "session/end-seed":
		return EndSeed{}, nil
	case "llm/retry":
		return decode[LLMRetry](data)
	case "llm/retry-started":
		return decode[LLMRetryStarted](data)
	case "cancel/requested":
		return decode[CancelRequested](data)
	}
	if isFeature(kind) {
		return Feature{Kind: kind, Data: bytes.Clone(data)}, nil
	}
	return Unknown{Kind: kind, Data: bytes.Clone(data)}, nil
}

// isCore reports whether an event type belongs to the core.
func isCore(kind string) bool {
	e, err := unmarshalEvent(kind, []byte("{}"))
	if _, ok := e.(Unknown); ok && err == nil {
		return false
	}
	return !isFeature(kind)
}

// isFeature reports whether a log-only event type belongs to a feature this project knows.
func isFeature(kind string) bool {
	switch kind {
	case "todo/write", "session/title":
		return true
	}
	for _, prefix := range []string{"compaction/", "approval/", "question/", "client/", "plan/"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// A Header is the immutable description of a session; it is not an event. See spec §2.2.
type Header struct {
	Version         int    `json:"version"`
	ID              string `json:"id"`
	CreatedAt       int64  `json:"createdAt"` // Unix ms
	CWD             string `json:"cwd,omitempty"`
	ParentSession   string `json:"parentSession,omitempty"`
	SeedLength      int64  `json:"seedLength,omitempty"`
	Origin          string `json:"origin,omitempty"`
	DelegationDepth int    `json:"delegationDepth,omitempty"`
	AgentPreset     string `json:"agentPreset,omitempty"`
}

// FormatVersion is the session format this package reads and writes.
const FormatVersion = 1
