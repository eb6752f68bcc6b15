package driver

import (
	"encoding/json"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// An Effect is something to carry out: [StartSetup], [StartStep], [StartTool], [StartPersist], [StartTimer],
// [StartHook], [StartMaintain], [StartConfigure], [StartChild], [TellChild], [LookAtChild], [TellParent], [Tell], [CancelEffect], [Reply],
// [Notify], [Transition], [Recorded], [Rollover], [Close], [Defect]. The set is closed. What has an id is answered by the input that
// names it.
type Effect interface{ isEffect() }

// StartSetup gives birth to the agent; answered by [Born].
type StartSetup struct {
	In work.SetupIn
}

// StartStep runs one attempt of a step; answered by [StepDone] or [StepLost].
type StartStep struct {
	In work.StepIn
}

// StartTool runs a tool call; answered by [ToolDone] or [ToolLost].
type StartTool struct {
	In work.ToolIn
}

// StartPersist writes the tail; answered by [Persisted] or [PersistFailed].
type StartPersist struct {
	In work.PersistIn
}

// StartTimer waits; answered by [TimerFired].
type StartTimer struct {
	ID      string
	DelayMS int64
	Summary string
}

// StartHook runs the hooks of a point; answered by [HookDone] or [HookLost].
type StartHook struct {
	In work.HookIn
}

// StartMaintain runs a maintenance task; answered by [MaintainDone] or [MaintainLost].
type StartMaintain struct {
	In work.MaintainIn
}

// StartChild starts a child agent; answered by [ChildStarted] or [ChildFailed], and, as long as the run lasts, by
// [ChildClosed] when it is over.
type StartChild struct {
	ID     string
	Child  string          // session
	Bond   string          // what it names itself by, towards this agent
	Create json.RawMessage // as package signals has it
}

// TellChild signals a child, when it is started. ID names the [StartChild]; a child that is gone is answered by
// [ChildClosed].
type TellChild struct {
	ID    string
	Child string
	Bond  string // another incarnation of the session is not meant
	Act   string // ActCancel, with cause parent, or ActDispose

	KeepInbox bool // cancel
}

// What a child is told.
const (
	ActCancel  = "cancel"
	ActDispose = "dispose"
)

// LookAtChild asks whether a child is still there; answered by [ChildSeen].
type LookAtChild struct {
	ID    string
	Child string
}

// TellParent signals the agent that owns this one, if it is still there.
type TellParent struct {
	ID     string
	Parent string
	Bond   string
	Closed bool      // else idle
	Head   work.Head // of the log in the store
}

// Tell tells the world something. Nobody waits for it: it outlives the run, and the agent.
type Tell struct {
	In work.TellIn
}

// StartConfigure checks a change of the recorded data and stores what it comes to; answered by [ConfigureDone] or
// [ConfigureLost].
type StartConfigure struct {
	In work.ConfigureIn
}

// CancelEffect cancels a running effect; its answer still comes.
type CancelEffect struct {
	ID string
}

// Reply answers the caller named by Ref.
type Reply struct {
	Ref     string
	Receipt Receipt
}

// A Receipt says what became of an act.
type Receipt struct {
	ID          string      `json:"id,omitempty"` // of the message
	Disposition Disposition `json:"disposition"`
	Revision    int64       `json:"revision"` // of the inbox
	Seq         *int64      `json:"seq,omitempty"`
	Found       *bool       `json:"found,omitempty"` // remove, replace, promote: it was still pending
	Code        string      `json:"code,omitempty"`  // refused
	Message     string      `json:"message,omitempty"`
	Receipts    []Receipt   `json:"receipts,omitempty"` // batch

	Result  json.RawMessage  `json:"result,omitempty"`  // maintain
	Failure *session.Failure `json:"failure,omitempty"` // maintain
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
	Refused   Disposition = "refused"   // nothing changed; see code and message
	Done      Disposition = "done"      // an edit, cancel or disposal was applied
)

// The codes of a refusal.
const (
	RefusedFull        = "INBOX_FULL"
	RefusedDuplicateID = "DUPLICATE_ID"
	RefusedInvalid     = "INVALID"
	RefusedClosed      = "CLOSED"
	RefusedTooLarge    = "TOO_LARGE"
	RefusedStore       = "STORE"
	RefusedBusy        = "BUSY"           // maintain, a message that is not to overlap: there is active work; approve, answer: somebody was quicker
	RefusedUnknownTask = "UNKNOWN_TASK"   // maintain
	RefusedCondition   = "PRECONDITION"   // of a message: the agent is not idle, or at another turn
	RefusedRevision    = "STALE_REVISION" // of an edit: the inbox is not any more what the caller saw
	RefusedUnknownCall = "UNKNOWN_CALL"   // approve, deny, answer, result: nothing of that id waits for it
	RefusedStale       = "STALE"          // approve, deny: about other arguments than those that wait
)

// Notify tells listeners; a hint that costs nothing. What was logged is told as session/event, among the other
// notifications, in the order in which things happened. See spec §2.5.
type Notify struct {
	Name string
	Data any // JSON-ready
}

// Transition says that the status changed, or what the agent waits for; it drives the search attributes.
type Transition struct {
	Status  string
	Turn    int
	Model   string
	Waiting string // work.WaitApproval, work.WaitQuestion, work.WaitClient, or empty
}

// Recorded says that other recorded data is in force; listings show its metadata.
type Recorded struct {
	Metadata json.RawMessage // an object of strings; empty: none
}

// Rollover says that the state may move to a new run. It holds as long as [State].Rolling does: an input that comes first
// may end the moment, and Rollover is said again at the next one.
type Rollover struct{}

// Close ends the run. See spec §6.3.
type Close struct {
	Canceled bool
	Summary  Summary
}

// A Summary is the result of a disposed agent.
type Summary struct {
	Session string        `json:"session"`
	Turns   int           `json:"turns"`
	Events  int64         `json:"events"`
	Pending int           `json:"pending"` // messages still in the inbox
	Cause   session.Cause `json:"cause"`
}

// Defect says that going on would corrupt the log: the task must fail, visibly.
type Defect struct {
	Message string
}

func (StartSetup) isEffect()     {}
func (StartStep) isEffect()      {}
func (StartTool) isEffect()      {}
func (StartPersist) isEffect()   {}
func (StartTimer) isEffect()     {}
func (StartHook) isEffect()      {}
func (StartMaintain) isEffect()  {}
func (StartChild) isEffect()     {}
func (TellChild) isEffect()      {}
func (LookAtChild) isEffect()    {}
func (TellParent) isEffect()     {}
func (Tell) isEffect()           {}
func (StartConfigure) isEffect() {}
func (Recorded) isEffect()       {}
func (CancelEffect) isEffect()   {}
func (Reply) isEffect()          {}
func (Notify) isEffect()         {}
func (Transition) isEffect()     {}
func (Rollover) isEffect()       {}
func (Close) isEffect()          {}
func (Defect) isEffect()         {}
