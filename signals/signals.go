// Package signals is the wire contract between an agent and its callers, in any language.
//
// An agent is a workflow of type [WorkflowType] whose id is the session id. It takes the acts below as signals and, for
// a receipt, as updates of the same name with the same payload; queries read it. Every payload is a JSON object. Fields
// are only added, unknown ones are ignored; testdata/wire holds one golden file per type.
//
// By hand, for example from the Temporal UI: signal `followup` with `{"text": "hello"}`, or just `"hello"`.
package signals

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/session"
)

// WorkflowType is the type of every agent's workflow.
const WorkflowType = "EverturnAgent"

// TellWorkflowType is the type of the workflows that tell the world one thing each; their ids begin with the session id.
const TellWorkflowType = "EverturnTell"

// DefaultTaskQueue is where agents run unless something else is said.
const DefaultTaskQueue = "everturn"

// The acts, as names of signals and updates.
const (
	Followup     = "followup"      // payload Send: gets its own turn after the current one
	Steer        = "steer"         // payload Send: joins the running turn at its next step
	Inject       = "inject"        // payload Send: context for whenever a step next claims
	SendTo       = "send"          // payload Send with target and wakeup
	CancelTurn   = "cancel"        // payload Cancel
	DisposeAgent = "dispose"       // payload Dispose
	InboxRemove  = "inbox.remove"  // payload Remove
	InboxReplace = "inbox.replace" // payload Replace
	InboxClear   = "inbox.clear"   // payload Clear
	InboxPromote = "inbox.promote" // payload Promote
	InboxReorder = "inbox.reorder" // payload Reorder
	BatchActs    = "batch"         // payload Batch
	Approve      = "approve"       // payload Decision: let a waiting call run
	DenyCall     = "deny"          // payload Decision: refuse it
	AnswerAsked  = "answer"        // payload Answers: answer the questions of a call
	GiveResult   = "result"        // payload CallResult: of a call that a program of the caller's runs
	SetPolicy    = "policy"        // payload Policy: who is asked about calls from now on
	PlanMode     = "plan"          // payload Plan: plan first, or do again
	MaintainAct  = "maintain"      // payload Maintain: run a named task, from idle only
	SpawnChild   = "spawn"         // payload Spawn: start a child agent
	ConfigureAct = "configure"     // payload Configure: change the recorded data, from the next turn on
	RollAct      = "roll"          // payload Roll: go on in a new run, of the workers that are current
)

// ChildSays is the signal by which a child agent tells the one that owns it what has become of it: payload ChildNews. It is
// between agents; there is no update of the name.
const ChildSays = "child"

// Acts lists the acts in a fixed order.
var Acts = []string{Followup, Steer, Inject, SendTo, CancelTurn, DisposeAgent, InboxRemove, InboxReplace, InboxClear, InboxPromote, InboxReorder, BatchActs, Approve, DenyCall, AnswerAsked, GiveResult, SetPolicy, PlanMode, MaintainAct, SpawnChild, ConfigureAct, RollAct}

// The queries. [QueryWhenIdle] is also an update.
const (
	QueryState    = "state"    // no argument, result State
	QueryWhenIdle = "whenIdle" // argument WhenIdle, result Idle
	QueryLog      = "log"      // no argument, result Log
	QueryMessage  = "message"  // argument MessageID, result MessageState
)

// The search attributes. AgentTurn is an Int, the others are Keywords.
const (
	AttrStatus     = "AgentStatus"
	AttrDefinition = "AgentDefinition"
	AttrModel      = "AgentModel"
	AttrTurn       = "AgentTurn"
	AttrParent     = "AgentParent"
	AttrWaiting    = "AgentWaiting"
)

// What an agent waits for outside: the values of [AttrWaiting] and of Deferred.Kind.
const (
	WaitApproval = "approval" // a person decides whether a call may run
	WaitQuestion = "question" // people answer
	WaitClient   = "client"   // a program of the caller's runs a call
)

// The policies: what becomes of a call that must be asked about.
const (
	PolicyAsk       = "ask"        // a person decides, unless a remembered rule lets it run
	PolicyAllowList = "allow-list" // the same, and the rules of the definition count too
	PolicyNever     = "never"      // nobody is asked: it is denied
	PolicyAlways    = "always"     // nobody is asked: it runs
)

// MemoMetadata is the field of a workflow's memo that holds the recorded metadata of its agent, an object of strings.
const MemoMetadata = "metadata"

// MemoBorn is the field of a workflow's memo that says when its agent was born, in Unix ms, if that was in an earlier run.
const MemoBorn = "born"

// The limits of a message body, in bytes.
const (
	MaxInline = 4 << 10 // larger bodies are stored and referred to
	MaxRaw    = 1 << 20 // largest body inside a signal or update
	MaxBody   = 8 << 20 // largest stored body

	MaxRecorded = 64 << 10 // recorded data of an agent, or a change of it
)

// Create is the argument of the workflow. See spec §6.1.
type Create struct {
	Definition      string `json:"definition"`
	Title           string `json:"title,omitempty"`
	Provider        string `json:"provider,omitempty"` // overrides the definition's
	Model           string `json:"model,omitempty"`
	ReasoningEffort string `json:"reasoningEffort,omitempty"`
	MaxTokens       int    `json:"maxTokens,omitempty"`
	CWD             string `json:"cwd,omitempty"`
	Parent          string `json:"parent,omitempty"`

	First    *Send             `json:"first,omitempty"`    // a followup that comes with the birth
	Owned    bool              `json:"owned,omitempty"`    // Parent started it, owns it and is told of its end
	Bond     string            `json:"bond,omitempty"`     // by which Parent knows this incarnation
	Reports  bool              `json:"reports,omitempty"`  // and is told each time that it is idle
	Params   json.RawMessage   `json:"params,omitempty"`   // an object for prompt parts, gates, hooks and tools
	Sections []Section         `json:"sections,omitempty"` // of the system prompt, for this agent alone
	Tools    *ToolFilter       `json:"tools,omitempty"`    // all of the definition's if absent
	Queue    string            `json:"queue,omitempty"`    // task queue of its activities; the agent's own if empty
	Metadata map[string]string `json:"metadata,omitempty"` // for people and programs; the model does not see it
	Webhooks []Webhook         `json:"webhooks,omitempty"` // that are told what happens to this agent, beside the definition's
	Budget   int64             `json:"budget,omitempty"`   // tokens whose multiples are told, see plugin.Definition

	ClientTools []ClientTool `json:"clientTools,omitempty"` // that programs of the caller's run

	Resume *Resume `json:"resume,omitempty"` // of a session whose workflow is gone
	Fork   *Fork   `json:"fork,omitempty"`   // of another session's log
}

// A Section is a named part of the system prompt that belongs to one agent; it takes the place of the definition's section
// of the same name. An empty text takes that away. See spec §8.1.
type Section struct {
	Name  string  `json:"name"`
	Order float64 `json:"order,omitempty"` // ascending; -100 identity, 0 persona, 100–199 tool guidance
	Text  string  `json:"text"`
}

// A ToolFilter says which of its definition's tools an agent has, by name. A tool that is not left is not offered, and a
// call of it is one of an unknown tool. See spec §8.2.
type ToolFilter struct {
	Allow []string `json:"allow,omitzero"` // null or absent: all of them; empty: none
	Deny  []string `json:"deny,omitempty"` // taken away from those
}

// A ClientTool is offered to the model beside the tools of the definition. A call of it waits until a program of the
// caller's gives its result: act `result`.
type ClientTool struct {
	Name        string          `json:"name"` // none of the definition's
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of an object; absent: no arguments
	TimeoutMS   int64           `json:"timeoutMs,omitempty"`  // how long a result is waited for; 0 means 24 hours
	Parallel    bool            `json:"parallel,omitempty"`   // calls may wait beside others
}

// A Webhook is where somebody is told what happens to an agent. It names a secret that the workers know, and holds none.
type Webhook struct {
	URL    string   `json:"url"`
	Events []string `json:"events,omitempty"` // of session.Told; none: all of them
	Secret string   `json:"secret"`           // name
}

// Resume asks for a new incarnation of the session of the workflow's own id. See spec §7.1.
type Resume struct {
	RunID string `json:"runId,omitempty"` // of the closed run, whose history may hold input that no log has
}

// Fork asks for a session that begins with another one's events. See spec §7.3.
type Fork struct {
	Session string `json:"session"`
	At      int64  `json:"at"` // last event inherited; -1 means the last one there is
}

// Send is a message to the agent. Exactly one of Text, Content and Body is set.
type Send struct {
	RequestID string            `json:"requestId,omitempty"` // the same request is applied once
	ID        string            `json:"id,omitempty"`        // of the message; made up if empty
	Text      string            `json:"text,omitempty"`
	Content   session.Content   `json:"content,omitempty"`
	Body      *session.Artifact `json:"body,omitempty"`   // content that was stored before
	Source    *session.Source   `json:"source,omitempty"` // user if absent
	Target    string            `json:"target,omitempty"` // send only: next-turn or next-step
	Wakeup    bool              `json:"wakeup,omitempty"` // send only

	Overlap      string `json:"overlap,omitempty"`      // followup, send: what if the agent is busy; what the act says if absent
	OnlyIfIdle   bool   `json:"onlyIfIdle,omitempty"`   // else it is refused: PRECONDITION
	ExpectedTurn *int   `json:"expectedTurn,omitempty"` // open, or opened last if the agent is idle; else PRECONDITION
}

// What becomes of a message that meets active work. An idle agent begins with it at once, whatever the overlap.
const (
	OverlapQueue     = "queue"     // a turn of its own, after the current one
	OverlapSteer     = "steer"     // it joins the running turn
	OverlapInterrupt = "interrupt" // the turn is cancelled, what is pending stays, and this message comes first
	OverlapReject    = "reject"    // it is refused: BUSY
)

// MadeID is the id of the n-th message, from 1, that reached a run without one.
func MadeID(runID string, n int) string { return fmt.Sprintf("in-%s-%d", runID, n) }

// Cancel stops the current turn. See spec §3.4.
type Cancel struct {
	RequestID string         `json:"requestId,omitempty"`
	Cause     *session.Cause `json:"cause,omitempty"` // user if absent
	KeepInbox bool           `json:"keepInbox,omitempty"`
	By        string         `json:"by,omitempty"`
	Text      string         `json:"text,omitempty"`
	Bond      string         `json:"bond,omitempty"` // of a parent: only the child that it started is meant, see Create
}

// Dispose ends the agent. See spec §6.3.
type Dispose struct {
	RequestID string `json:"requestId,omitempty"`
	Bond      string `json:"bond,omitempty"` // of a parent: only the child that it started is meant, see Create
}

// Remove discards a pending message. See spec §3.3.
type Remove struct {
	RequestID string `json:"requestId,omitempty"`
	ID        string `json:"id"`
	Revision  *int64 `json:"revision,omitempty"` // of every edit: that the inbox must have, else it is refused: STALE_REVISION
}

// Replace puts another message in a pending one's place.
type Replace struct {
	RequestID string `json:"requestId,omitempty"`
	ID        string `json:"id"`
	With      Send   `json:"with"`
	Revision  *int64 `json:"revision,omitempty"` // see Remove
}

// Clear discards all pending messages.
type Clear struct {
	RequestID string `json:"requestId,omitempty"`
	Revision  *int64 `json:"revision,omitempty"` // see Remove
}

// Promote moves a pending message to the head of a list: a queued followup becomes a steer, or runs next. It wakes nobody.
type Promote struct {
	RequestID string `json:"requestId,omitempty"`
	ID        string `json:"id"`
	Target    string `json:"target,omitempty"`   // next-turn or next-step; the list it is in if empty
	Revision  *int64 `json:"revision,omitempty"` // see Remove
}

// Reorder gives one list of pending messages another order. It wakes nobody.
type Reorder struct {
	RequestID string   `json:"requestId,omitempty"`
	IDs       []string `json:"ids"`                // of all its messages
	Target    string   `json:"target,omitempty"`   // next-turn or next-step; the list of the first if empty
	Revision  *int64   `json:"revision,omitempty"` // see Remove
}

// Roll asks for a new run of the workflow at the next moment at which nothing is open. It is invisible in the log.
type Roll struct {
	RequestID string `json:"requestId,omitempty"`
}

// Decision answers a tool call that waits for a person.
type Decision struct {
	RequestID string `json:"requestId,omitempty"`
	ID        string `json:"id"` // of the approval, see State.Deferred
	By        string `json:"by,omitempty"`
	Reason    string `json:"reason,omitempty"`

	Digest    string          `json:"digest,omitempty"`    // what was looked at, see Deferred: refused if it is another call by now
	Arguments json.RawMessage `json:"arguments,omitempty"` // approve: an object in the place of the model's
	Remember  *Remember       `json:"remember,omitempty"`  // approve: let such calls run from now on
}

// Remember says which calls of the tool need no more decision. Without Args and Any it is the very same call.
type Remember struct {
	Args    Patterns `json:"args,omitempty"`    // by name of the argument: `*` stands for any text
	Any     bool     `json:"any,omitempty"`     // any call of the tool
	UntilMS int64    `json:"untilMs,omitempty"` // Unix ms; 0 means without end
}

// A Rule lets calls of a tool run without asking. Without Digest and Args it is any call of the tool.
type Rule struct {
	ID      string   `json:"id,omitempty"` // given by the agent; a rule is revoked by it
	Tool    string   `json:"tool"`
	Digest  string   `json:"digest,omitempty"`
	Args    Patterns `json:"args,omitempty"`
	UntilMS int64    `json:"untilMs,omitempty"`
	By      string   `json:"by,omitempty"`
}

// Policy switches what becomes of calls that must be asked about, gives rules and takes rules away; what is absent stays as
// it is. Calls that wait are judged anew.
type Policy struct {
	RequestID string   `json:"requestId,omitempty"`
	Mode      string   `json:"mode,omitempty"`
	Allow     []Rule   `json:"allow,omitempty"`
	Revoke    []string `json:"revoke,omitempty"` // ids of rules
	By        string   `json:"by,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

// A Question is asked by a call, see tool ask_user.
type Question struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Header  string   `json:"header,omitempty"`  // a few words
	Detail  string   `json:"detail,omitempty"`  // what one should know to answer
	Options []Option `json:"options,omitempty"` // none: free text
	Multi   bool     `json:"multi,omitempty"`   // more than one option may be chosen
	Free    bool     `json:"free,omitempty"`    // a text of one's own is taken besides the options
	Must    bool     `json:"must,omitempty"`    // it cannot be skipped
}

// An Option may be chosen as an answer.
type Option struct {
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
}

// An AnswerTo answers one question: with labels of options, a text, both, or by skipping it.
type AnswerTo struct {
	ID       string   `json:"id,omitempty"` // of the question; may be left out if there is only one
	Selected []string `json:"selected,omitempty"`
	Text     string   `json:"text,omitempty"`
	Skip     bool     `json:"skip,omitempty"`
}

// Plan switches plan mode, from the next step on. See plugin.PlanFirst.
type Plan struct {
	RequestID string `json:"requestId,omitempty"`
	On        bool   `json:"on"`
	By        string `json:"by,omitempty"`
}

// Answers answers the questions of a call.
type Answers struct {
	RequestID string     `json:"requestId,omitempty"`
	ID        string     `json:"id"` // see State.Deferred
	Answers   []AnswerTo `json:"answers,omitempty"`
	By        string     `json:"by,omitempty"`
}

// CallResult is the result of a call that a program of the caller's ran. One of Text, Value, Content and Body is set.
type CallResult struct {
	RequestID string            `json:"requestId,omitempty"`
	ID        string            `json:"id"` // see State.Deferred
	Text      string            `json:"text,omitempty"`
	Value     json.RawMessage   `json:"value,omitempty"` // shown to the model as JSON
	Content   session.Content   `json:"content,omitempty"`
	Body      *session.Artifact `json:"body,omitempty"`    // content that was stored before
	IsError   bool              `json:"isError,omitempty"` // the call failed; the model reads why
	By        string            `json:"by,omitempty"`
}

// Maintain runs a named maintenance task while the agent is idle. See spec §3.6.
type Maintain struct {
	RequestID string          `json:"requestId,omitempty"`
	Task      string          `json:"task"`
	Args      json.RawMessage `json:"args,omitempty"`
}

// Spawn starts a child agent: it is owned by the agent that takes the act. See spec §6.4.
type Spawn struct {
	RequestID string `json:"requestId,omitempty"`
	ID        string `json:"id,omitempty"`      // session of the child; made up if empty
	Create    Create `json:"create"`            // the definition is the parent's if empty
	Follows   bool   `json:"follows,omitempty"` // a cancel of the parent's work cancels the child too
}

// ChildNews is what a child tells the agent that owns it.
type ChildNews struct {
	ID     string `json:"id"`     // session of the child
	Bond   string `json:"bond"`   // that it was created with; without it nobody is heard
	Closed bool   `json:"closed"` // else idle
	Hash   string `json:"hash,omitempty"`
	Count  int64  `json:"count"` // events of its log in the store
}

// Configure changes the recorded data of an agent, from its next turn on. An absent field stays as it is, null gives it
// back to the definition; the keys of params and metadata are changed one by one, in the same way.
type Configure struct {
	RequestID       string                             `json:"requestId,omitempty"`
	Title           Change[string]                     `json:"title,omitzero"`
	Provider        Change[string]                     `json:"provider,omitzero"`
	Model           Change[string]                     `json:"model,omitzero"`
	ReasoningEffort Change[string]                     `json:"reasoningEffort,omitzero"`
	MaxTokens       Change[int]                        `json:"maxTokens,omitzero"`
	Params          Change[map[string]json.RawMessage] `json:"params,omitzero"`
	Sections        Change[[]Section]                  `json:"sections,omitzero"`
	Tools           Change[ToolFilter]                 `json:"tools,omitzero"`
	Queue           Change[string]                     `json:"queue,omitzero"`
	Metadata        Change[map[string]*string]         `json:"metadata,omitzero"`
	ClientTools     Change[[]ClientTool]               `json:"clientTools,omitzero"`
	Webhooks        Change[[]Webhook]                  `json:"webhooks,omitzero"`
	Budget          Change[int64]                      `json:"budget,omitzero"`
}

// Batch applies several acts before the agent goes on.
type Batch struct {
	RequestID string `json:"requestId,omitempty"`
	Acts      []Act  `json:"acts"`
}

// An Act names an act and carries its payload; the field of the act's kind is set.
type Act struct {
	Act     string   `json:"act"`
	Send    *Send    `json:"send,omitempty"` // followup, steer, inject, send
	Cancel  *Cancel  `json:"cancel,omitempty"`
	Remove  *Remove  `json:"remove,omitempty"`
	Replace *Replace `json:"replace,omitempty"`
	Clear   *Clear   `json:"clear,omitempty"`
	Promote *Promote `json:"promote,omitempty"`
	Reorder *Reorder `json:"reorder,omitempty"`
}

// A Receipt says what became of an act.
type Receipt struct {
	ID          string      `json:"id,omitempty"` // of the message
	Disposition Disposition `json:"disposition"`
	Revision    int64       `json:"revision"`        // of the inbox
	Seq         *int64      `json:"seq,omitempty"`   // of the insert event, if it is known already
	Found       *bool       `json:"found,omitempty"` // inbox.remove, inbox.replace, inbox.promote: it was still pending
	Code        string      `json:"code,omitempty"`  // refused: INBOX_FULL DUPLICATE_ID INVALID CLOSED TOO_LARGE STORE BUSY PRECONDITION STALE_REVISION UNKNOWN_TASK UNKNOWN_CALL STALE INVALID_SPEC
	Message     string      `json:"message,omitempty"`
	Receipts    []Receipt   `json:"receipts,omitempty"` // batch: one per act

	Result  json.RawMessage  `json:"result,omitempty"`  // maintain: what the task returned
	Failure *session.Failure `json:"failure,omitempty"` // maintain: why it failed
}

// A Disposition is the short form of a receipt.
type Disposition string

// The dispositions.
const (
	Started   Disposition = "started"   // the agent was idle and runs now
	Steered   Disposition = "steered"   // joins the running turn at its next step
	Queued    Disposition = "queued"    // gets a turn after the current one
	Parked    Disposition = "parked"    // waits for a wake
	Duplicate Disposition = "duplicate" // this request was accepted before
	Refused   Disposition = "refused"   // nothing changed
	Done      Disposition = "done"      // an edit, cancel or disposal was applied
)

// State is the answer to the query [QueryState].
type State struct {
	ID             string            `json:"id"`
	Definition     string            `json:"definition"`
	Title          string            `json:"title,omitempty"`
	Parent         string            `json:"parent,omitempty"`
	Spec           string            `json:"spec,omitempty"`     // digest of the recorded data
	Queue          string            `json:"queue,omitempty"`    // recorded
	Metadata       map[string]string `json:"metadata,omitempty"` // recorded
	Changing       bool              `json:"changing,omitempty"` // other recorded data waits for the next turn, or for a worker to check it
	Model          string            `json:"model,omitempty"`    // last provider/model used
	Status         string            `json:"status"`             // creating, idle, running, closed
	Turn           int               `json:"turn"`
	Step           int               `json:"step"`
	Attempt        int               `json:"attempt,omitempty"`
	Phase          string            `json:"phase"`
	Cancel         *session.Cause    `json:"cancel,omitempty"`
	WaitingFor     string            `json:"waitingFor,omitempty"` // in words
	Inbox          []Pending         `json:"inbox"`
	Calls          []CallState       `json:"calls"`
	Deferred       []Deferred        `json:"deferred"`
	Children       []string          `json:"children"`
	Maintenance    *Maintenance      `json:"maintenance,omitempty"` // the task that runs, or ran last
	Log            LogHead           `json:"log"`
	Revision       int64             `json:"revision"`
	IdleGeneration int64             `json:"idleGeneration"`
	Rules          int               `json:"rules"`
	Manifest       string            `json:"manifest,omitempty"` // digest
	LastError      *session.Failure  `json:"lastError,omitempty"`
	Approvals      *Approvals        `json:"approvals,omitempty"`
	Plan           bool              `json:"plan,omitempty"`  // plan mode is on
	Usage          *session.Usage    `json:"usage,omitempty"` // tokens since the workflow began
}

// A Pending message waits in the inbox.
type Pending struct {
	ID     string `json:"id"`
	Target string `json:"target"`
	Bytes  int    `json:"bytes"`
}

// A CallState is a tool call of the current step.
type CallState struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"` // waiting, running, finished, committed
}

// A Deferred call waits for somebody outside. By Kind it is answered with approve or deny, answer, or result.
type Deferred struct {
	ID     string `json:"id"` // what that act names
	CallID string `json:"callId"`
	Tool   string `json:"tool"`
	DueMS  int64  `json:"dueMs,omitempty"` // Unix ms; 0 means without end

	Kind      string            `json:"kind,omitempty"`      // empty from workers of before: an approval
	Digest    string            `json:"digest,omitempty"`    // of the tool and its arguments
	Reason    string            `json:"reason,omitempty"`    // why it is asked, shortened
	Arguments string            `json:"arguments,omitempty"` // the model's raw text, if it is short
	Blob      *session.Artifact `json:"blob,omitempty"`      // else
	Questions json.RawMessage   `json:"questions,omitempty"` // a list of Question
	Checking  bool              `json:"checking,omitempty"`  // somebody's answer is being checked
}

// Approvals is the policy in force.
type Approvals struct {
	Policy string `json:"policy"`
	Rules  []Rule `json:"rules,omitempty"` // remembered
}

// A Maintenance is a maintenance task that runs or ran.
type Maintenance struct {
	Request string           `json:"request,omitempty"` // the act that asked for it
	Task    string           `json:"task"`
	Done    bool             `json:"done"`
	Result  json.RawMessage  `json:"result,omitempty"`
	Failure *session.Failure `json:"failure,omitempty"`
}

// A LogHead says where the log is.
type LogHead struct {
	Epoch   int64  `json:"epoch"`
	Hash    string `json:"hash,omitempty"` // last segment in the store
	Count   int64  `json:"count"`          // events in the store
	Tail    int    `json:"tail"`           // events after them
	Waiting int    `json:"waiting"`        // events that wait for a writer
	Lent    bool   `json:"lent,omitempty"`
	Problem string `json:"problem,omitempty"` // why the store refused last
	StoreID string `json:"storeId,omitempty"`
}

// Log is the answer to the query [QueryLog]: what the store does not hold yet.
type Log struct {
	Head     LogHead          `json:"head"`
	Tail     []session.Record `json:"tail"`
	Waiting  []session.Record `json:"waiting,omitempty"` // come after them; their seq is not known yet
	Revision int64            `json:"revision"`          // of the inbox that all this comes to
}

// WhenIdle asks whether the agent is idle. With After, only a return to idle after that generation counts.
type WhenIdle struct {
	After *int64 `json:"after,omitempty"`
}

// Idle answers [WhenIdle].
type Idle struct {
	Idle       bool  `json:"idle"`
	Generation int64 `json:"generation"`      // counts returns to idle
	Revision   int64 `json:"revision"`        // of the inbox
	Retry      bool  `json:"retry,omitempty"` // the run is being renewed or too many wait: ask again
}

// MessageID is the argument of the query [QueryMessage].
type MessageID struct {
	ID string `json:"id"`
}

// MessageState says where a message is. State is pending, claimed, ended, dropped, discarded or unknown; unknown
// means that the agent remembers nothing of it, and the log decides. What is absent is not known, or does not apply.
type MessageState struct {
	State string           `json:"state"`
	Turn  int              `json:"turn,omitempty"`
	Kind  session.TurnKind `json:"kind,omitempty"`  // ended and dropped: how the turn ended
	Count int64            `json:"count,omitempty"` // events in the store

	Target     string `json:"target,omitempty"`     // pending: the list
	Step       int    `json:"step,omitempty"`       // of the turn, that claimed it
	Consumed   bool   `json:"consumed,omitempty"`   // claimed, ended: it entered the step, and is a user message of the log
	Edited     bool   `json:"edited,omitempty"`     // pending, claimed: it was replaced under its own id
	Cause      string `json:"cause,omitempty"`      // discarded: removed, cleared, cancelled, replaced
	ReplacedBy string `json:"replacedBy,omitempty"` // discarded: id of what took its place
	Reason     string `json:"reason,omitempty"`     // dropped, or certain to be: blocked, aborted, error, rewritten, interrupted
}

// AwaitActivity is an activity of the workers that run agents, for workflows that wait for one: payload [Await], result
// [Answer]. One try looks once; while there is nothing to say it fails with [ErrPending] and is to be tried again, with
// pauses of the caller's choice. See package agents/inworkflow.
const AwaitActivity = "Await"

// Await asks for what became of a message, or without one whether the agent is born.
type Await struct {
	ID      string `json:"id"`                // of the agent
	Message string `json:"message,omitempty"` // id
}

// An Answer is what became of one message.
type Answer struct {
	Turn    int                `json:"turn"`
	Outcome session.TurnReason `json:"outcome"`           // how its turn ended
	Text    string             `json:"text,omitempty"`    // the turn's last assistant text; empty if there is none
	Dropped bool               `json:"dropped,omitempty"` // claimed, but it did not enter its step
}

// Err is nil if the turn ended normally, else it says how it ended.
func (a Answer) Err() error {
	switch a.Outcome.Kind {
	case session.TurnCompleted, session.TurnMaxTokens:
		return nil
	case session.TurnErrored:
		return fmt.Errorf("turn %d: %s: %s", a.Turn, a.Outcome.Error.Code, a.Outcome.Error.Message)
	case session.TurnAborted:
		return fmt.Errorf("turn %d: cancelled (%s)", a.Turn, a.Outcome.Aborted.Kind)
	default:
		return fmt.Errorf("turn %d: %s", a.Turn, a.Outcome.Kind)
	}
}

// The types of errors that callers can tell apart.
const (
	ErrInvalid           = "INVALID"  // the payload is wrong; the message says where
	ErrAborted           = "ABORTED"  // of a creation: it was called off
	ErrTooMany           = "TOO_MANY" // too many callers wait: poll the query instead
	ErrRenewed           = "RENEWED"  // the run was renewed: ask again
	ErrRunFull           = "RUN_FULL" // the server takes no more of these for the run: nothing was changed, try again after the current step
	ErrUnknownDefinition = "UNKNOWN_DEFINITION"
	ErrInvalidSpec       = "INVALID_SPEC" // recorded data that the definition does not take; the message names the field

	ErrGone    = "GONE"    // of an activity: no live agent has the id
	ErrPending = "PENDING" // of an activity: nothing to say yet, ask again
)
