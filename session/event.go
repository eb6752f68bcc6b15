package session

import "encoding/json"

// An Event is one fact of the log: [InboxSpliced], [InboxMoved], [TurnStart], [StepStart], [SystemMessage],
// [UserMessage], [RequestHeader], [RequestContext], [AssistantChunk], [AssistantMessage], [AssistantAttempt],
// [ToolCall], [ToolResult], [StepEnd], [TurnEnd], [EndSeed], [LLMRetry], [LLMRetryStarted], [CancelRequested],
// [Feature], [Unknown]. The set is closed. See spec §2.4.
type Event interface {
	Type() string // stable on the wire, never reused for another meaning
	isEvent()
}

// The inbox lists. See spec §1.
const (
	NextTurn = "next-turn"
	NextStep = "next-step"
)

// OutcomeCanceled marks a splice that removed messages other than by claim. See spec §2.4.1.
const OutcomeCanceled = "canceled"

// InboxSpliced is a list splice of one inbox list. See spec §2.4.1.
type InboxSpliced struct {
	Target       string    `json:"target"` // NextTurn or NextStep
	Start        int       `json:"start"`
	RemovedCount int       `json:"removedCount,omitempty"`
	Inserted     []Message `json:"inserted"`
	Outcome      string    `json:"outcome,omitempty"`
}

// InboxMoved is a change of order: the named messages, which are pending in either list, leave their places and stand
// from Start on in Target, in the order of IDs. Start counts without them. It is this project's own, beside spec §2.4.1,
// and not ignorable: a reader that skips it takes other messages for claimed. See docs/decisions/0014.
type InboxMoved struct {
	Target string   `json:"target"` // NextTurn or NextStep
	Start  int      `json:"start"`
	IDs    []string `json:"ids"`
}

// TurnStart opens a turn; Turn counts from 1.
type TurnStart struct {
	Turn int `json:"turn"`
}

// StepStart enters a proposed step; Step counts from 1 within its turn.
type StepStart struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// SystemMessage is a system prompt update in history. Empty content derives to nothing. See spec §8.4.
type SystemMessage struct {
	Turn    int     `json:"turn"`
	Step    int     `json:"step"`
	Message Message `json:"message"`
}

// UserMessage is an entered message; its data is the message itself.
type UserMessage struct {
	Message
}

// CallConfig is the call configuration of a request. See spec §1.
type CallConfig struct {
	Provider        string   `json:"provider"`
	Model           string   `json:"model"`
	ReasoningEffort string   `json:"reasoningEffort,omitempty"`
	Temperature     *float64 `json:"temperature,omitempty"`
	MaxTokens       int      `json:"maxTokens,omitempty"`
	Stop            []string `json:"stop,omitempty"`
}

// ToolSchema is what the model is told of a tool. Parameters is a JSON Schema object.
type ToolSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// AdapterDefaults marks which configuration values came from the route and not from the agent. See spec §8.3.
type AdapterDefaults struct {
	ReasoningEffort bool `json:"reasoningEffort,omitempty"`
	MaxTokens       bool `json:"maxTokens,omitempty"`
}

// HeaderContent is the non-history half of a request. System and Tools are omitted when empty. See spec §8.3.
type HeaderContent struct {
	Config          CallConfig       `json:"config"`
	AdapterDefaults *AdapterDefaults `json:"adapterDefaults,omitempty"`
	System          string           `json:"system,omitempty"`
	Tools           []ToolSchema     `json:"tools,omitempty"`
}

// The reasons of a request header. See spec §8.3.
const (
	HeaderInitial = "initial"
	HeaderResume  = "resume"
	HeaderChange  = "change"
	HeaderSeries  = "series"
)

// RequestHeader records a request header that differs from the last one, or anchors a new one. See spec §8.3.
type RequestHeader struct {
	Header       HeaderContent `json:"header"`
	Reason       string        `json:"reason"`
	StartsSeries bool          `json:"startsSeries,omitempty"`
}

// RequestContext records the route's facts when they differ from the last ones. ContextWindow is in tokens, 0 when the
// route does not say. See spec §8.7.
type RequestContext struct {
	Provider           string `json:"provider"`
	Model              string `json:"model"`
	ContextWindow      int    `json:"contextWindow,omitempty"`
	SystemPromptUpdate bool   `json:"systemPromptUpdate,omitempty"`
}

// AssistantChunk is one stream chunk, as it arrived.
type AssistantChunk struct {
	Turn  int
	Step  int
	Chunk Chunk
}

// AssistantMessage settles an attempt that produced a message. See spec §4.7.
type AssistantMessage struct {
	Turn        int     `json:"turn"`
	Step        int     `json:"step"`
	Message     Message `json:"message"`
	Usage       *Usage  `json:"usage,omitempty"`
	Interrupted bool    `json:"interrupted,omitempty"`
}

// AssistantAttempt settles an attempt that produced no message. It is never visible to the model. See spec §4.7.
type AssistantAttempt struct {
	Turn      int      `json:"turn"`
	Step      int      `json:"step"`
	ChunkSeqs []int64  `json:"chunkSeqs"`
	Failure   *Failure `json:"failure,omitempty"`
	Usage     *Usage   `json:"usage,omitempty"`
}

// ToolCall starts a tool call, before any gate or execution.
type ToolCall struct {
	Turn      int    `json:"turn"`
	Step      int    `json:"step"`
	CallID    string `json:"callId"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // raw text

	// ArgumentsBlob replaces Arguments while the event waits in the workflow and the text is too large for it; the
	// writer that persists the event puts the text back. It is never set in a persisted or exported log.
	ArgumentsBlob *Artifact `json:"argumentsBlob,omitempty"`
}

// CodedError names an error by a stable code.
type CodedError struct {
	Name string `json:"name"`
	Code string `json:"code"`
}

// ToolResult is a call's final outcome. Message has exactly one tool-result block. Meta is private presentation data.
type ToolResult struct {
	Turn    int             `json:"turn"`
	Step    int             `json:"step"`
	Message Message         `json:"message"`
	Error   *CodedError     `json:"error,omitempty"`
	Meta    json.RawMessage `json:"meta,omitempty"`
}

// StepEnd ends a step, however it ended.
type StepEnd struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// TurnEnd ends a turn, however it ended.
type TurnEnd struct {
	Turn   int        `json:"turn"`
	Reason TurnReason `json:"reason"`
}

// TurnReason says why a turn ended. Aborted is set for aborted, Error for error. See spec §2.4.2.
type TurnReason struct {
	Kind    TurnKind
	Aborted *Cause
	Error   *TurnError
}

// A TurnKind names a variant of [TurnReason].
type TurnKind string

// The ways a turn ends. See spec §2.4.2.
const (
	TurnCompleted   TurnKind = "completed"
	TurnMaxTokens   TurnKind = "max-tokens"
	TurnBlocked     TurnKind = "blocked"
	TurnAborted     TurnKind = "aborted"
	TurnErrored     TurnKind = "error"
	TurnInterrupted TurnKind = "interrupted"
)

// A Cause says who cancelled. Reason is set for hook. See spec §2.4.2.
type Cause struct {
	Kind   CauseKind `json:"kind"`
	Reason string    `json:"reason,omitempty"`
}

// A CauseKind names a variant of [Cause].
type CauseKind string

// The causes of a cancel.
const (
	CauseUser     CauseKind = "user"
	CauseParent   CauseKind = "parent"
	CauseHook     CauseKind = "hook"
	CauseDisposed CauseKind = "disposed"
	CauseLegacy   CauseKind = "legacy" // imports only
)

// TurnError is what ended a turn: a model failure with its facts, anything else with code UNKNOWN.
type TurnError = Failure

// EndSeed ends a seed: what lies before it was inherited or loaded. See spec §7.
type EndSeed struct{}

// LLMRetry is logged before the wait for another attempt. See spec §4.7.6.
type LLMRetry struct {
	RetryID  string  `json:"retryId"`
	Turn     int     `json:"turn"`
	Step     int     `json:"step"`
	Provider string  `json:"provider"`
	Mode     string  `json:"mode"` // normal, always, or the name of the gate that decided
	Policy   string  `json:"policy"`
	Failure  Failure `json:"failure"`
	DelayMS  int64   `json:"delayMs"`
	Retry    int     `json:"retry"` // counts from 1
	Maximum  int     `json:"maximum,omitempty"`
}

// LLMRetryStarted is logged after the wait.
type LLMRetryStarted struct {
	RetryID string `json:"retryId"`
	Turn    int    `json:"turn"`
	Step    int    `json:"step"`
	Retry   int    `json:"retry"`
}

// CancelRequested records a cancel that hit an activity. It is ignorable. See spec §2.4.
type CancelRequested struct {
	Cause     Cause  `json:"cause"`
	KeepInbox bool   `json:"keepInbox,omitempty"`
	Via       string `json:"via"` // api or native
	By        string `json:"by,omitempty"`
	Text      string `json:"text,omitempty"`
}

// Feature is a log-only event owned by a feature outside the core: todo/write, compaction/*, approval/*, question/*,
// client/*, plan/*, session/title. Data is the feature's JSON object.
type Feature struct {
	Kind string
	Data json.RawMessage
}

// Unknown is an event of a type this reader does not know. It is accepted only when marked ignorable. See spec §2.1.
type Unknown struct {
	Kind string
	Data json.RawMessage
}

func (InboxSpliced) Type() string     { return "agent/inbox/spliced" }
func (InboxMoved) Type() string       { return "agent/inbox/moved" }
func (TurnStart) Type() string        { return "turn/start" }
func (StepStart) Type() string        { return "step/start" }
func (SystemMessage) Type() string    { return "system/message" }
func (UserMessage) Type() string      { return "user/message" }
func (RequestHeader) Type() string    { return "request/header" }
func (RequestContext) Type() string   { return "request/context" }
func (AssistantChunk) Type() string   { return "assistant/chunk" }
func (AssistantMessage) Type() string { return "assistant/message" }
func (AssistantAttempt) Type() string { return "assistant/attempt" }
func (ToolCall) Type() string         { return "tool/call" }
func (ToolResult) Type() string       { return "tool/result" }
func (StepEnd) Type() string          { return "step/end" }
func (TurnEnd) Type() string          { return "turn/end" }
func (EndSeed) Type() string          { return "session/end-seed" }
func (LLMRetry) Type() string         { return "llm/retry" }
func (LLMRetryStarted) Type() string  { return "llm/retry-started" }
func (CancelRequested) Type() string  { return "cancel/requested" }
func (f Feature) Type() string        { return f.Kind }
func (u Unknown) Type() string        { return u.Kind }

func (InboxSpliced) isEvent()     {}
func (InboxMoved) isEvent()       {}
func (TurnStart) isEvent()        {}
func (StepStart) isEvent()        {}
func (SystemMessage) isEvent()    {}
func (UserMessage) isEvent()      {}
func (RequestHeader) isEvent()    {}
func (RequestContext) isEvent()   {}
func (AssistantChunk) isEvent()   {}
func (AssistantMessage) isEvent() {}
func (AssistantAttempt) isEvent() {}
func (ToolCall) isEvent()         {}
func (ToolResult) isEvent()       {}
func (StepEnd) isEvent()          {}
func (TurnEnd) isEvent()          {}
func (EndSeed) isEvent()          {}
func (LLMRetry) isEvent()         {}
func (LLMRetryStarted) isEvent()  {}
func (CancelRequested) isEvent()  {}
func (Feature) isEvent()          {}
func (Unknown) isEvent()          {}

// MarshalJSON writes the event's data; inserted is always there. See spec §2.7.
func (s InboxSpliced) MarshalJSON() ([]byte, error) {
	type plain InboxSpliced
	if s.Inserted == nil {
		s.Inserted = []Message{}
	}
	return json.Marshal(plain(s))
}

// MarshalJSON writes the event's data; chunkSeqs is always there.
func (a AssistantAttempt) MarshalJSON() ([]byte, error) {
	type plain AssistantAttempt
	if a.ChunkSeqs == nil {
		a.ChunkSeqs = []int64{}
	}
	return json.Marshal(plain(a))
}

// chunkWire is AssistantChunk on the wire; Chunk needs its own union reader.
type chunkWire struct {
	Turn  int             `json:"turn"`
	Step  int             `json:"step"`
	Chunk json.RawMessage `json:"chunk"`
}

// MarshalJSON writes the event's data.
func (a AssistantChunk) MarshalJSON() ([]byte, error) {
	raw, err := MarshalChunk(a.Chunk)
	if err != nil {
		return nil, err
	}
	return json.Marshal(chunkWire{a.Turn, a.Step, raw})
}

// UnmarshalJSON reads the event's data.
func (a *AssistantChunk) UnmarshalJSON(data []byte) error {
	w, err := decode[chunkWire](data)
	if err != nil {
		return err
	}
	c, err := UnmarshalChunk(w.Chunk)
	if err != nil {
		return err
	}
	*a = AssistantChunk{Turn: w.Turn, Step: w.Step, Chunk: c}
	return nil
}

type reasonWire struct {
	Kind   TurnKind   `json:"kind"`
	Reason *Cause     `json:"reason,omitempty"`
	Error  *TurnError `json:"error,omitempty"`
}

// MarshalJSON writes the variant with its kind.
func (r TurnReason) MarshalJSON() ([]byte, error) {
	return json.Marshal(reasonWire{r.Kind, r.Aborted, r.Error})
}

// UnmarshalJSON reads the variant.
func (r *TurnReason) UnmarshalJSON(data []byte) error {
	w, err := decode[reasonWire](data)
	if err != nil {
		return err
	}
	*r = TurnReason{Kind: w.Kind, Aborted: w.Reason, Error: w.Error}
	return nil
}

// MarshalJSON writes the feature's own data.
func (f Feature) MarshalJSON() ([]byte, error) { return rawOrEmpty(f.Data), nil }

// MarshalJSON writes the data as it was read.
func (u Unknown) MarshalJSON() ([]byte, error) { return rawOrEmpty(u.Data), nil }

func rawOrEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
