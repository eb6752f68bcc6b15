package driver

import (
	"encoding/json"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// An Input is something that happened: [Sent], [Removed], [Replaced], [Cleared], [Promoted], [Reordered],
// [CancelAsked], [DisposeAsked], [Batch], [Born], [StepDone], [StepLost], [ToolDone], [ToolLost], [Persisted],
// [PersistFailed], [TimerFired], [RollAsked], [Resumed], [Reset], [Decided], [Answered], [PolicyAsked], [PlanAsked],
// [MaintainAsked], [MaintainDone], [MaintainLost], [HookDone], [HookLost], [SpawnAsked], [ChildStarted], [ChildFailed],
// [ChildTold], [ChildClosed], [ChildSeen], [ConfigureAsked], [ConfigureDone], [ConfigureLost]. The set is closed.
//
// Ref names the caller who waits for a receipt; empty for a signal and for the acts of a [Batch]. Request is the
// caller's id of the act, for de-duplication; empty means none.
type Input interface{ isInput() }

// Sent asks to insert a message. Message is small: a large body is one artifact block. See spec §3.1.
type Sent struct {
	Ref     string
	Request string
	Message session.Message
	Bytes   int // size of the body, wherever it is
	Target  string
	Wakeup  bool

	Interrupt  bool // cancel what runs and come before everything that is queued
	Reject     bool // refuse if there is active work
	OnlyIfIdle bool // the same, as a condition
	Turn       *int // refuse if the last opened turn is another one
}

// Removed asks to discard a pending message. See spec §3.3.
type Removed struct {
	Ref, Request, ID string
	Revision         *int64 // refuse if the inbox has another one; nil: whatever it has
}

// Replaced asks to replace a pending message in place.
type Replaced struct {
	Ref, Request, ID string
	Message          session.Message
	Bytes            int
	Revision         *int64
}

// Cleared asks to discard all pending messages.
type Cleared struct {
	Ref, Request string
	Revision     *int64
}

// Promoted asks to move a pending message to the head of a list; empty means its own.
type Promoted struct {
	Ref, Request, ID string
	Target           string
	Revision         *int64
}

// Reordered asks for another order of a list: IDs are those of its messages. An empty target is the list of the first.
type Reordered struct {
	Ref, Request string
	Target       string
	IDs          []string
	Revision     *int64
}

// CancelAsked asks to cancel the current activity. See spec §3.4.
type CancelAsked struct {
	Ref, Request string
	Cause        session.Cause
	KeepInbox    bool
	Via          string // ViaAPI or ViaNative
	Bond         string // see [DisposeAsked]
	By, Text     string
}

// How a cancel came in.
const (
	ViaAPI    = "api"
	ViaNative = "native"
)

// DisposeAsked asks to end the agent. See spec §6.3.
type DisposeAsked struct {
	Ref, Request string
	Native       bool
	Bond         string // asked by the owner of that incarnation; empty: by anybody
}

// Batch applies several acts before the driver advances. See architecture D24.
type Batch struct {
	Ref, Request string
	Acts         []Input
}

// Born answers [StartSetup].
type Born struct {
	Out work.SetupOut
}

// StepDone answers [StartStep].
type StepDone struct {
	ID  string
	Out work.StepOut
}

// Lost says why no answer will come.
type Lost string

// The ways an effect is lost.
const (
	LostCancelled   Lost = "cancelled"   // cancelled while nobody worked on it
	LostExhausted   Lost = "exhausted"   // its worker died too often, or it failed too long
	LostUnavailable Lost = "unavailable" // no worker took it in time
	LostFailed      Lost = "failed"      // of a [StartTool]: it failed for good, and not because of the tool
)

// StepLost says that no answer to a [StartStep] will come. Message is the last error, if any.
type StepLost struct {
	ID      string
	Why     Lost
	Message string
}

// ToolDone answers [StartTool].
type ToolDone struct {
	ID  string
	Out work.ToolOut
}

// ToolLost says that no answer to a [StartTool] will come.
type ToolLost struct {
	ID      string
	Why     Lost
	Message string
}

// Persisted answers [StartPersist].
type Persisted struct {
	ID  string
	Out work.PersistOut
}

// PersistFailed says that the store refused.
type PersistFailed struct {
	ID      string
	Message string
}

// TimerFired answers [StartTimer].
type TimerFired struct {
	ID string
}

// RollAsked asks for a rollover at the next safe point. See architecture A3.11.
type RollAsked struct {
	Ref     string
	Request string
}

// Resumed is the first input of a run that continues another one's state.
type Resumed struct{}

// SpawnAsked asks to start a child agent. See spec §6.4.
type SpawnAsked struct {
	Ref, Request string
	Child        work.Spawn
}

// ChildStarted answers [StartChild].
type ChildStarted struct {
	ID string
}

// ChildFailed says that a [StartChild] cannot be carried out: nothing was started.
type ChildFailed struct {
	ID, Code, Message string
}

// ChildTold is what a child says of itself: it is idle, with its log in the store up to Head, or closed.
type ChildTold struct {
	Child  string // session
	Bond   string // of the [StartChild] that it owes its life to
	Closed bool
	Head   work.Head
}

// ChildClosed says that the workflow which a [StartChild] started is over, however it ended.
type ChildClosed struct {
	ID, Message string
}

// ChildSeen answers [LookAtChild].
type ChildSeen struct {
	ID   string
	Gone bool // its workflow is over
}

// Reset says that an operator set the run back to an earlier point, at which this state was. Open are the effects, by id,
// that nobody answered before that point: what still comes of them belongs to what was abandoned. See architecture A3.12.
type Reset struct {
	Out  work.ResetOut
	Open []string
}

// Decided is a person's answer to a call that asks. See architecture A3.7.
type Decided struct {
	Ref, Request string
	ID           string // of the approval
	Grant        bool
	By, Reason   string

	Digest    string          // what it is about; empty: whatever waits under the id
	Arguments json.RawMessage // grant: in the place of the model's, an object. See architecture D20
	Remember  *work.Rule      // grant: let such calls run from now on; the tool is the call's, and so is the digest if it is [SameCall]
}

// Answered is what people answer to the questions of a call, or what a program of the caller's gives as its result.
type Answered struct {
	Ref, Request string
	ID, By       string
	Said         work.Said
}

// PolicyAsked asks for another policy about calls that must be asked about. What is empty stays as it is.
type PolicyAsked struct {
	Ref, Request string
	Mode         string
	Allow        []work.Rule // to be remembered; their ids are given
	Revoke       []string    // ids of remembered rules
	By, Reason   string
}

// PlanAsked switches plan mode on or off, from the next step on.
type PlanAsked struct {
	Ref, Request string
	On           bool
	By           string
}

// MaintainAsked asks for a named maintenance task. See spec §3.6.
type MaintainAsked struct {
	Ref, Request string
	Task         string
	Args         json.RawMessage
}

// MaintainDone answers [StartMaintain].
type MaintainDone struct {
	ID  string
	Out work.MaintainOut
}

// MaintainLost says that no answer to a [StartMaintain] will come.
type MaintainLost struct {
	ID      string
	Why     Lost
	Message string
}

// HookDone answers [StartHook].
type HookDone struct {
	ID  string
	Out work.HookOut
}

// HookLost says that no answer to a [StartHook] will come.
type HookLost struct {
	ID      string
	Message string
}

// ConfigureAsked asks to change the recorded data, from the next turn on. See architecture A3.12.
type ConfigureAsked struct {
	Ref, Request string
	Patch        json.RawMessage // an object: absent fields stay, null gives one back to the definition
}

// ConfigureDone answers [StartConfigure].
type ConfigureDone struct {
	ID  string
	Out work.ConfigureOut
}

// ConfigureLost says that no answer to a [StartConfigure] will come.
type ConfigureLost struct {
	ID      string
	Message string
}

func (ConfigureAsked) isInput() {}
func (ConfigureDone) isInput()  {}
func (ConfigureLost) isInput()  {}
func (Decided) isInput()        {}
func (PlanAsked) isInput()      {}
func (Answered) isInput()       {}
func (PolicyAsked) isInput()    {}
func (MaintainAsked) isInput()  {}
func (MaintainDone) isInput()   {}
func (MaintainLost) isInput()   {}
func (HookDone) isInput()       {}
func (HookLost) isInput()       {}
func (SpawnAsked) isInput()     {}
func (ChildStarted) isInput()   {}
func (ChildFailed) isInput()    {}
func (ChildTold) isInput()      {}
func (ChildClosed) isInput()    {}
func (ChildSeen) isInput()      {}
func (Sent) isInput()           {}
func (Removed) isInput()        {}
func (Replaced) isInput()       {}
func (Cleared) isInput()        {}
func (Promoted) isInput()       {}
func (Reordered) isInput()      {}
func (CancelAsked) isInput()    {}
func (DisposeAsked) isInput()   {}
func (Batch) isInput()          {}
func (Born) isInput()           {}
func (StepDone) isInput()       {}
func (StepLost) isInput()       {}
func (ToolDone) isInput()       {}
func (ToolLost) isInput()       {}
func (Persisted) isInput()      {}
func (PersistFailed) isInput()  {}
func (TimerFired) isInput()     {}
func (RollAsked) isInput()      {}
func (Resumed) isInput()        {}
func (Reset) isInput()          {}
