// Package work is the contract between the workflow and the activities: names, inputs and answers.
//
// Every input and answer is a small struct: ids, hashes, what is new. Fields are only added, never reused for another
// meaning; unknown fields are ignored; testdata/wire holds golden JSON. Bodies above [InlineLimit] are blobs in the
// store, made by whoever produced them.
package work

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/session"
)

// The activities, by the names they are registered under.
const (
	Setup        = "Setup"
	Step         = "Step"
	Tool         = "Tool"
	Persist      = "Persist"
	Spill        = "Spill"
	CancelReason = "CancelReason"
	Look         = "Look"
	Hook         = "Hook"
	Maintain     = "Maintain"
	Configure    = "Configure"
	Reset        = "Reset"
)

// The sizes of architecture A3.4, in bytes.
const (
	InlineLimit  = 4 << 10   // a larger body is a blob
	ShortTail    = 4 << 10   // a longer tail is persisted before a Step, if the store takes it
	TailLimit    = 32 << 10  // a longer tail is never lent
	LendLimit    = 128 << 10 // what one Persist takes
	PayloadLimit = 256 << 10 // no argument or result is larger
)

// ContentMediaType marks an [session.Artifact] block that stands for stored message content: whoever persists or shows
// the message puts the stored blocks in its place.
const ContentMediaType = session.StoredContent

// ArgumentsMediaType marks stored tool-call arguments.
const ArgumentsMediaType = "text/vnd.everturn.arguments"

// A Head names a log prefix in the store: the last segment and how many events count.
type Head struct {
	Hash  string `json:"hash,omitempty"` // empty: no segment yet
	Count int64  `json:"count"`
}

// Ident identifies the agent an activity works for.
type Ident struct {
	Session    string `json:"session"`
	Definition string `json:"definition"`
	Epoch      int64  `json:"epoch"`
	Store      string `json:"store,omitempty"` // identity of the store the session was born in
	Spec       string `json:"spec,omitempty"`  // SHA-256 of the stored [Spec]

	Rules    int    `json:"rules,omitempty"`    // of the state: an older worker must not touch it
	Manifest string `json:"manifest,omitempty"` // digest of the one the state goes by; a worker with another one says so
}

// A Spec is the recorded data of one agent: what `Create` was given, and `configure` changed. It is stored under its
// digest. See architecture A3.12.
type Spec struct {
	Definition      string            `json:"definition"`
	Title           string            `json:"title,omitempty"`
	Provider        string            `json:"provider,omitempty"`
	Model           string            `json:"model,omitempty"`
	ReasoningEffort string            `json:"reasoningEffort,omitempty"`
	MaxTokens       int               `json:"maxTokens,omitempty"`
	CWD             string            `json:"cwd,omitempty"`
	Params          json.RawMessage   `json:"params,omitempty"` // an object
	Parent          string            `json:"parent,omitempty"`
	Sections        []Section         `json:"sections,omitempty"`
	Tools           *ToolFilter       `json:"tools,omitempty"`
	Queue           string            `json:"queue,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Webhooks        []Webhook         `json:"webhooks,omitempty"`
	Budget          int64             `json:"budget,omitempty"` // tokens
	ClientTools     []ClientTool      `json:"clientTools,omitempty"`
}

// A ClientTool is one that programs of the caller's run. See architecture A3.7.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema; nil: no arguments
	TimeoutMS   int64           `json:"timeoutMs,omitempty"`  // 0 means a day
	Parallel    bool            `json:"parallel,omitempty"`
}

// A Section is a part of the system prompt that belongs to one agent. See spec §8.1.
type Section struct {
	Name  string  `json:"name"`
	Order float64 `json:"order,omitempty"`
	Text  string  `json:"text"`
}

// A ToolFilter says which of its definition's tools an agent has. See spec §8.2.
type ToolFilter struct {
	Allow []string `json:"allow,omitzero"` // nil: all of them; empty: none
	Deny  []string `json:"deny,omitempty"`
}

// Recorded is what the workflow itself must know of a stored [Spec].
type Recorded struct {
	Spec     string          `json:"spec"` // SHA-256
	Title    string          `json:"title,omitempty"`
	Queue    string          `json:"queue,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // an object of strings, at most [MetadataLimit] bytes
	Rerouted bool            `json:"rerouted,omitempty"` // another declared call configuration than before
	Tells    []string        `json:"tells,omitempty"`    // what its webhooks are for
	Budget   int64           `json:"budget,omitempty"`   // tokens; 0: the definition's
}

// The sizes of recorded data, in bytes.
const (
	SpecLimit     = 64 << 10 // all of it
	ParamsLimit   = 16 << 10
	SectionLimit  = 16 << 10 // the text of one section
	MetadataLimit = 2 << 10
)

// A Manifest is what the workflow must know of a definition.
type Manifest struct {
	Rules       int    `json:"rules"`  // behaviour version of the worker that made it
	Digest      string `json:"digest"` // changes when the definition changes
	MaxParallel int    `json:"maxParallel,omitempty"`
	Profile     string `json:"profile,omitempty"`    // of the worker: embedded, or empty for stock
	Attributes  bool   `json:"attributes,omitempty"` // the search attributes are registered

	SessionStart bool     `json:"sessionStart,omitempty"` // a hook is registered at this point
	TurnStopping bool     `json:"turnStopping,omitempty"`
	Tasks        []string `json:"tasks,omitempty"` // maintenance tasks, by name

	Approvals *Approvals `json:"approvals,omitempty"` // nil: calls that must be asked about are always asked about
	Tells     []string   `json:"tells,omitempty"`     // what is told: to webhooks, and to the index of what waits
	Budget    int64      `json:"budget,omitempty"`    // tokens whose multiples are told; 0: none

	// Refreshes says that workers answer with their manifest when it is not this one, so that a task that is not among
	// Tasks is a worker's to refuse: a later deployment may have added it.
	Refreshes bool `json:"refreshes,omitempty"`
}

// Rules is the behaviour version of this worker.
const Rules = 4

// Worker is what every answer says about the worker that gave it.
type Worker struct {
	Rules    int    `json:"rules"`
	Manifest string `json:"manifest,omitempty"` // digest

	Refresh *Manifest `json:"refresh,omitempty"` // whole, if its digest is not the one of [Ident]
}

// An Echo repeats what a writer was lent; the workflow compares it. See architecture A3.2.
type Echo struct {
	FirstSeq int64  `json:"firstSeq"`
	Hash     string `json:"hash"`
}

// EchoOf is the echo of a lent tail that starts at seq first.
func EchoOf(first int64, tail []session.Record) Echo {
	h := sha256.New()
	for _, r := range tail {
		raw, err := json.Marshal(r)
		if err != nil {
			raw = []byte(err.Error()) // both sides see the same record, so both see the same error
		}
		h.Write(raw)
		h.Write([]byte{'\n'})
	}
	return Echo{FirstSeq: first, Hash: hex.EncodeToString(h.Sum(nil)[:12])}
}

// An Act is a call of plugin.Agent made inside a hook, gate or tool; the driver applies it before the answer that
// carries it. See architecture A3.8.
type Act struct {
	Kind      string           `json:"kind"` // send, cancel, spawn or plan
	Message   *session.Message `json:"message,omitempty"`
	Target    string           `json:"target,omitempty"`
	Wakeup    bool             `json:"wakeup,omitempty"`
	Cause     *session.Cause   `json:"cause,omitempty"`
	KeepInbox bool             `json:"keepInbox,omitempty"`
	Child     *Spawn           `json:"child,omitempty"`
	On        bool             `json:"on,omitempty"` // plan
}

// The kinds of an [Act].
const (
	ActSend   = "send"
	ActCancel = "cancel"
	ActSpawn  = "spawn"
	ActPlan   = "plan"
)

// A Spawn asks for a child agent. See spec §6.4, architecture A3.13.
type Spawn struct {
	ID      string          `json:"id"`                // session of the child
	Create  json.RawMessage `json:"create"`            // signals.Create
	Follows bool            `json:"follows,omitempty"` // a cancel of the parent's work cancels it
	Keep    bool            `json:"keep,omitempty"`    // of a delegated call: the child stays when it has answered
}

// Answered says where a child's answer can be read.
type Answered struct {
	Session string `json:"session"`
	Head    Head   `json:"head"`
}

// SetupIn asks a worker to give birth to an agent.
type SetupIn struct {
	Ident     Ident `json:"ident"`
	Spec      Spec  `json:"spec"`
	CreatedAt int64 `json:"createdAt"` // Unix ms

	Resume *ResumeFrom `json:"resume,omitempty"`
	Fork   *ForkFrom   `json:"fork,omitempty"`
}

// ResumeFrom asks for a new incarnation of a session whose workflow is gone. See spec §7.1, architecture A3.12.
type ResumeFrom struct {
	RunID string `json:"runId,omitempty"` // of the closed run, whose history may hold input that no log has; empty: none is left
}

// ForkFrom asks for a session that begins with another one's events. See spec §7.3.
type ForkFrom struct {
	Session string `json:"session"`
	At      int64  `json:"at"` // last event inherited; -1 means the last one there is
}

// Inherited is where a resumed or forked session stands.
type Inherited struct {
	Epoch    int64     `json:"epoch"`
	Head     Head      `json:"head"`
	Turn     int       `json:"turn"` // last one
	NextTurn []Pending `json:"nextTurn,omitempty"`
	NextStep []Pending `json:"nextStep,omitempty"`
	Policy   *Policy   `json:"policy,omitempty"` // of a resumed session, as it was last
	Plan     bool      `json:"plan,omitempty"`   // the same
}

// A Pending message, by id and size of its body.
type Pending struct {
	ID    string `json:"id"`
	Bytes int    `json:"bytes,omitempty"`
}

// SetupOut says that the agent is born.
type SetupOut struct {
	Spec     string     `json:"spec"`  // SHA-256 of the stored spec
	Store    string     `json:"store"` // identity of the store
	Model    string     `json:"model,omitempty"`
	Manifest Manifest   `json:"manifest"`
	Source   string     `json:"source,omitempty"` // startup or resume
	Log      *Inherited `json:"log,omitempty"`
	Acts     []Act      `json:"acts,omitempty"` // of the created hooks; applied before the agent may run
	Recorded *Recorded  `json:"recorded,omitempty"`
	Worker   Worker     `json:"worker"`
}

// The modes of a Step.
const (
	StepRun    = ""
	StepSettle = "settle" // no gates, no provider: settle what a lost execution left. See architecture A3.6.
)

// StepIn asks a worker to run one attempt of one proposed step. See spec §4.4–4.7.
type StepIn struct {
	ID       string           `json:"id"` // effect id
	Ident    Ident            `json:"ident"`
	Mode     string           `json:"mode,omitempty"`
	Turn     int              `json:"turn"`
	Step     int              `json:"step"`    // the proposed step's number
	Attempt  int              `json:"attempt"` // from 1
	Head     Head             `json:"head"`
	Tail     []session.Record `json:"tail,omitempty"`     // lent: persisted by the step before its own events
	Batch    []string         `json:"batch,omitempty"`    // ids of the claimed messages, in batch order
	Owed     bool             `json:"owed,omitempty"`     // tool results owe a request: an empty batch is fine
	Assembly string           `json:"assembly,omitempty"` // SHA-256 of the assembly of attempt 1
	Lost     string           `json:"lost,omitempty"`     // settle: cancelled or exhausted
	Now      int64            `json:"now,omitempty"`      // Unix ms at which the driver asked
	Rerouted bool             `json:"rerouted,omitempty"` // the request starts from the declared configuration, not from the last header's
	Plan     bool             `json:"plan,omitempty"`     // plan mode is on
}

// The outcomes of a Step.
const (
	StepMessage   = "message"   // assistant/message logged
	StepAttempt   = "attempt"   // assistant/attempt logged, with a failure
	StepRejected  = "rejected"  // the pre-step gate said no
	StepEmpty     = "empty"     // nothing entered and nothing owed
	StepCancelled = "cancelled" // cancelled before, or without, a settled message
	StepFailed    = "failed"    // a gate, the assembly, the preparation or a barrier failed
)

// StepOut is a Step's answer.
type StepOut struct {
	Echo        Echo               `json:"echo"`
	Head        Head               `json:"head"` // after everything the step wrote; equal to the given one if it wrote nothing
	Outcome     string             `json:"outcome"`
	Entered     bool               `json:"entered,omitempty"`   // step/start is in the log
	Committed   bool               `json:"committed,omitempty"` // the entered users are in the log
	Users       []string           `json:"users,omitempty"`     // ids of the user messages committed by this step
	Interrupted bool               `json:"interrupted,omitempty"`
	Finish      session.FinishKind `json:"finish,omitempty"`
	Calls       []Call             `json:"calls,omitempty"`
	Failure     *session.Failure   `json:"failure,omitempty"` // attempt and failed
	Recovery    *Recovery          `json:"recovery,omitempty"`
	Assembly    string             `json:"assembly,omitempty"`
	Acts        []Act              `json:"acts,omitempty"`
	Model       string             `json:"model,omitempty"` // provider/model used
	Usage       *session.Usage     `json:"usage,omitempty"`
	Reason      string             `json:"reason,omitempty"` // rejected
	Execution   int                `json:"execution,omitempty"`
	Worker      Worker             `json:"worker"`
}

// A Call is a tool call of the model with the traits of its tool.
type Call struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Arguments string            `json:"arguments,omitempty"` // raw text, if it is short
	Blob      *session.Artifact `json:"blob,omitempty"`      // else
	Parallel  bool              `json:"parallel,omitempty"`
	Effect    string            `json:"effect,omitempty"`
	TimeoutMS int64             `json:"timeoutMs,omitempty"`
	Queue     string            `json:"queue,omitempty"`
	Gated     bool              `json:"gated,omitempty"`  // a pre-execute gate or guard is registered: a stage of its own
	Posted    bool              `json:"posted,omitempty"` // a post-execute gate is registered: a stage of its own
}

// Recovery is the decision of the recovery gate: another attempt. See spec §4.7.4.
type Recovery struct {
	Provider string `json:"provider,omitempty"`
	Mode     string `json:"mode,omitempty"` // empty: a gate decided, without a wait and without a log entry
	Policy   string `json:"policy,omitempty"`
	DelayMS  int64  `json:"delayMs,omitempty"`
	Retry    int    `json:"retry,omitempty"`
	Maximum  int    `json:"maximum,omitempty"`
}

// ToolIn asks a worker to run one tool call. See spec §4.8.
type ToolIn struct {
	ID    string `json:"id"` // effect id
	Ident Ident  `json:"ident"`
	Mode  string `json:"mode,omitempty"` // ToolRun or ToolSettle
	Turn  int    `json:"turn"`
	Step  int    `json:"step"`
	Call  Call   `json:"call"`
	Key   string `json:"key"`            // idempotency key
	Lost  string `json:"lost,omitempty"` // settle: cancelled, exhausted or unavailable

	// Before are the keys under which the same call may have been made in what a reset gave up.
	Before []string `json:"before,omitempty"`

	Out  *ToolOut `json:"out,omitempty"`  // post: the outcome so far
	Head *Head    `json:"head,omitempty"` // where the calls of the step can be read, if From or Later is set
	From string   `json:"from,omitempty"` // id of the first parallel call not started yet: from it on their modes are asked again (C-158)

	// Later are the ids of all of them, for workers that do not know From.
	Later []string `json:"later,omitempty"`

	Child *Answered `json:"child,omitempty"` // collect

	Approved *Approved `json:"approved,omitempty"` // why it may run, if it had to be asked about
	Said     *Said     `json:"said,omitempty"`     // check
	Plan     bool      `json:"plan,omitempty"`     // plan mode is on
}

// EffectKey is the idempotency key of a call: session/epoch/turn.step/call. See architecture A3.7.
func EffectKey(session string, epoch int64, turn, step int, call string) string {
	return fmt.Sprintf("%s/%d/%d.%d/%s", session, epoch, turn, step, call)
}

// The modes of a Tool.
const (
	ToolRun    = ""       // the body; with the whole pipeline if the call is neither gated nor posted
	ToolSettle = "settle" // do not run the body: the effect ledger says what became of it
	ToolGate   = "gate"   // pipeline 1–3 of spec §4.8
	ToolPost   = "post"   // pipeline 7–8

	ToolCollect = "collect" // read the answer of the child agent that the call was delegated to
)

// The verdicts of a gate.
const (
	Allow = "allow"
	Deny  = "deny"  // the answer holds the error result; the post stage still runs
	Ask   = "ask"   // a person decides
	Fault = "fault" // the gate itself failed: the answer holds the error result; no post stage
)

// ToolOut is a call's outcome. Content above the inline limit is one artifact block of [ContentMediaType].
type ToolOut struct {
	Content   session.Content     `json:"content"`
	IsError   bool                `json:"isError,omitempty"`
	Error     *session.CodedError `json:"error,omitempty"`
	Meta      json.RawMessage     `json:"meta,omitempty"`
	Contexts  []session.Message   `json:"contexts,omitempty"`
	Concludes bool                `json:"concludes,omitempty"`
	Acts      []Act               `json:"acts,omitempty"`
	Worker    Worker              `json:"worker"`

	Verdict    string   `json:"verdict,omitempty"`    // gate
	Reason     string   `json:"reason,omitempty"`     // gate, ask: what the person is told
	Digest     string   `json:"digest,omitempty"`     // gate, check: of the tool and its arguments
	DeadlineMS int64    `json:"deadlineMs,omitempty"` // ask, delegate, defer: how long is waited; 0 means without end
	SkipPost   bool     `json:"skipPost,omitempty"`   // a wrapper failed: no post stage
	Exclusive  []string `json:"exclusive,omitempty"`  // ids, of the calls from From on: these must run alone now
	Alone      bool     `json:"alone,omitempty"`      // all of them must: it is not known which

	Delegate *Spawn    `json:"delegate,omitempty"` // the call waits for this child; DeadlineMS bounds it
	Defer    *Deferral `json:"defer,omitempty"`    // the call waits for people, or for a program of the caller's

	// Projection is what the model is shown in the place of a large Content: the driver logs it right after the result,
	// as a replacing one. See spec §9.4.
	Projection session.Content `json:"projection,omitempty"`
}

// HookIn asks a worker to run the hooks of one point.
type HookIn struct {
	ID    string `json:"id"`
	Ident Ident  `json:"ident"`
	Point string `json:"point"` // HookSessionStart or HookTurnStopping
	Turn  int    `json:"turn,omitempty"`
	N     int    `json:"n,omitempty"` // how often the point was reached in this turn, from 1
}

// The points of a hook.
const (
	HookSessionStart = "session-start"
	HookTurnStopping = "turn-stopping"
)

// HookOut is what the hooks did.
type HookOut struct {
	Acts    []Act            `json:"acts,omitempty"`
	Failure *session.Failure `json:"failure,omitempty"`
	Worker  Worker           `json:"worker"`
}

// MaintainIn asks a worker to run a maintenance task. The log is lent like to a Step. See spec §3.6.
type MaintainIn struct {
	ID    string           `json:"id"`
	Ident Ident            `json:"ident"`
	Task  string           `json:"task"`
	Args  json.RawMessage  `json:"args,omitempty"`
	Turn  int              `json:"turn"` // last turn
	Head  Head             `json:"head"`
	Tail  []session.Record `json:"tail,omitempty"`

	Rerouted bool `json:"rerouted,omitempty"` // as for a Step
}

// MaintainOut is its result.
type MaintainOut struct {
	Echo    Echo             `json:"echo"`
	Head    Head             `json:"head"`
	Result  json.RawMessage  `json:"result,omitempty"`
	Failure *session.Failure `json:"failure,omitempty"`
	Acts    []Act            `json:"acts,omitempty"`
	Worker  Worker           `json:"worker"`
}

// ConfigureIn asks a worker to change the recorded data of an agent.
type ConfigureIn struct {
	ID    string          `json:"id"`
	Ident Ident           `json:"ident"`          // its Spec is the one in force
	Base  string          `json:"base,omitempty"` // digest of the one that is changed: the one in force, or a later one that waits for a turn
	Patch json.RawMessage `json:"patch"`          // an object: absent fields stay, null gives one back to the definition
}

// ConfigureOut is the changed data, stored, or why it is refused.
type ConfigureOut struct {
	Recorded *Recorded `json:"recorded,omitempty"`
	Code     string    `json:"code,omitempty"` // refused: INVALID_SPEC
	Message  string    `json:"message,omitempty"`
	Worker   Worker    `json:"worker"`
}

// PersistIn asks for the tail to be written. It is called as a local activity, so it is not in the history.
type PersistIn struct {
	ID      string           `json:"id"`
	Ident   Ident            `json:"ident"`
	Head    Head             `json:"head"`
	Tail    []session.Record `json:"tail"`
	Publish bool             `json:"publish,omitempty"` // the drain ended: name the new head in the store
}

// PersistOut is the head after it.
type PersistOut struct {
	Echo Echo `json:"echo"`
	Head Head `json:"head"`
}

// SpillIn asks for a large message body to be stored, or, if the content is one artifact of [ContentMediaType], to be
// looked at: whatever the workflow accepts must be there and fit into the log. It is called as a local activity.
type SpillIn struct {
	Ident   Ident           `json:"ident"`
	Content session.Content `json:"content"`
}

// SpillOut is the stored body, or why it is refused.
type SpillOut struct {
	Blob    session.Artifact `json:"blob"`
	Code    string           `json:"code,omitempty"` // refused: INVALID or STORE
	Message string           `json:"message,omitempty"`
}

// The codes of a refused body.
const (
	SpillInvalid = "INVALID"
	SpillMissing = "STORE"
)

// LookIn asks whether the workflow of a child is still there: one that Parent started.
type LookIn struct {
	Session string `json:"session"`
	Parent  string `json:"parent"`
}

// LookOut says it.
type LookOut struct {
	Gone bool `json:"gone"`
}

// CancelReasonIn asks what the history says about a native cancellation.
type CancelReasonIn struct {
	Session string `json:"session"`
	RunID   string `json:"runId"`
}

// CancelReasonOut is the cancel it asks for. See architecture A3.9.
type CancelReasonOut struct {
	Cause     session.Cause `json:"cause"`
	KeepInbox bool          `json:"keepInbox,omitempty"`
	Dispose   bool          `json:"dispose,omitempty"`
	By        string        `json:"by,omitempty"`
	Text      string        `json:"text,omitempty"`
}

// ResetIn asks for what a run needs that was set back to an earlier point: an epoch of its own, which fences whoever still
// works for the abandoned one. See architecture A3.12.
type ResetIn struct {
	Ident Ident  `json:"ident"`
	RunID string `json:"runId"` // of the run that was set back
	Head  Head   `json:"head"`  // where its log ends in the store
	Turn  int    `json:"turn"`
	Step  int    `json:"step"` // the last one whose calls it knows
}

// ResetOut is the epoch the run goes on in.
type ResetOut struct {
	Epoch   int64            `json:"epoch"`
	Context *session.Message `json:"context,omitempty"` // tells the model what was done after the point, if anything was
	Worker  Worker           `json:"worker"`
}

// The codes of results and failures that the workflow and the activities agree on.
const (
	CodeAbortedBeforeDispatch = "ABORTED_BEFORE_DISPATCH"
	CodeAborted               = "ABORTED"
	CodeToolUnavailable       = "TOOL_UNAVAILABLE"
	CodeUnknownTool           = "UNKNOWN_TOOL"
	CodeWorkerLost            = "WORKER_LOST"
	CodeStore                 = "STORE"
	CodeChild                 = "CHILD_AGENT"
	CodeUnknown               = "UNKNOWN"
	CodeUnknownTask           = "UNKNOWN_TASK" // a worker does not know the maintenance task
	CodeNoAnswer              = "NO_ANSWER"    // nobody answered a question, or gave a result, in time
)

// These begin the retryable error of a worker that cannot work for an agent: another one takes the work. So does
// [ErrUnknownDefinition] for an agent that lives. See architecture A3.3, A3.12.
const (
	ErrWorkerTooOld = "WORKER_TOO_OLD" // its [Rules] are lower than the state's
	ErrWrongStore   = "WRONG_STORE"    // it has another store than the agent
)

// The types of non-retryable activity errors.
const (
	ErrUnknownDefinition = "UNKNOWN_DEFINITION"
	ErrFenced            = "FENCED"
	ErrInvalidSpec       = "INVALID_SPEC"
	ErrCreatedHook       = "CREATED_HOOK"
	ErrUntellable        = "WEBHOOK_REFUSED" // Tell: another try would fail too
	ErrUntold            = "NOT_TOLD"        // of the workflow that tells, and of a try that may be repeated

	// Of a resume or fork; see spec §7.3.
	ErrSessionNotFound = "SESSION_NOT_FOUND"
	ErrSessionExists   = "SESSION_ALREADY_EXISTS"
	ErrBoundary        = "INVALID_BOUNDARY"
	ErrOpenTurn        = "OPEN_TURN"
)
