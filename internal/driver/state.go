package driver

import (
	"encoding/json"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// A Phase says what the agent waits for.
type Phase string

// The phases. See the diagram in the package documentation.
const (
	Birth       Phase = "birth"       // Setup runs
	Idle        Phase = "idle"        // no activity
	Maintaining Phase = "maintaining" // a maintenance task runs, or waits for the log
	Starting    Phase = "starting"    // running, the session-start hook runs
	Opening     Phase = "opening"     // running, before turn/start
	Claiming    Phase = "claiming"    // a step is to be proposed as soon as the log is free
	Stepping    Phase = "step"        // a Step runs, or its next attempt waits for the log
	Retrying    Phase = "retry"       // the wait before another attempt
	Tools       Phase = "tools"       // tool calls of the step run
	Stopping    Phase = "stopping"    // the turn-stopping hook runs
	Draining    Phase = "draining"    // the turn ended; the tail is being flushed
	Closed      Phase = "closed"      // disposed
)

// The two statuses. See spec §3.7.
const (
	StatusIdle    = "idle"
	StatusRunning = "running"
)

// State is everything the driver knows of one agent. It is JSON-ready: a rollover carries it to the next run.
type State struct {
	Session    string        `json:"session"`
	Definition string        `json:"definition"`
	Title      string        `json:"title,omitempty"`
	Parent     string        `json:"parent,omitempty"`
	Spec       string        `json:"spec,omitempty"`   // SHA-256 of the stored work.Spec
	Store      string        `json:"store,omitempty"`  // identity of the store
	Model      string        `json:"model,omitempty"`  // last provider/model used
	Source     string        `json:"source,omitempty"` // how the incarnation began; empty means startup
	Epoch      int64         `json:"epoch"`
	Abandoned  []int64       `json:"abandoned,omitempty"` // epochs that resets gave up
	Rules      int           `json:"rules"`               // highest behaviour version a worker answered with
	Manifest   work.Manifest `json:"manifest"`

	Queue      string          `json:"queue,omitempty"`      // task queue of the activities; empty means the workflow's own
	Metadata   json.RawMessage `json:"metadata,omitempty"`   // recorded at birth, for people and programs
	Tells      []string        `json:"tells,omitempty"`      // recorded: what the agent's own webhooks are for
	Budget     int64           `json:"budget,omitempty"`     // recorded: tokens; 0: the manifest's
	Rerouted   bool            `json:"rerouted,omitempty"`   // the next request starts from the declared configuration
	Refresh    *work.Manifest  `json:"refresh,omitempty"`    // goes for the next turn
	Change     *work.Recorded  `json:"change,omitempty"`     // goes for the next turn
	Configures []Configuring   `json:"configures,omitempty"` // changes a worker is to check; it works on the first

	Log Log `json:"log"`

	NextTurn     []Pending `json:"nextTurn,omitempty"`
	NextStep     []Pending `json:"nextStep,omitempty"`
	PendingBytes int       `json:"pendingBytes,omitempty"`
	Revision     int64     `json:"revision"`   // counts inbox mutations
	Generation   int64     `json:"generation"` // counts returns to idle

	Phase     Phase          `json:"phase"`
	Latch     bool           `json:"latch,omitempty"`     // a wake to be replayed at convergence
	Cancelled *session.Cause `json:"cancelled,omitempty"` // of the current activity; the first one wins
	Disposing bool           `json:"disposing,omitempty"`
	Disposers []string       `json:"disposers,omitempty"` // refs of callers who wait for the disposal
	Native    bool           `json:"native,omitempty"`    // disposal asked by a native cancellation
	IdleHit   bool           `json:"idleHit,omitempty"`   // a native cancel found the agent idle since it last ran
	Started   bool           `json:"started,omitempty"`   // session-start was announced
	Woken     bool           `json:"woken,omitempty"`     // from idle, and nothing was claimed since
	Roll      bool           `json:"roll,omitempty"`      // a rollover is wanted
	Rolling   bool           `json:"rolling,omitempty"`   // and may happen now: until the next input

	Turn      int              `json:"turn"` // last opened
	TurnOpen  bool             `json:"turnOpen,omitempty"`
	Step      int              `json:"step,omitempty"` // entered steps of the turn
	StepOpen  bool             `json:"stepOpen,omitempty"`
	Attempt   int              `json:"attempt,omitempty"`
	First     bool             `json:"first,omitempty"`    // the coming claim is the turn's first
	Owed      bool             `json:"owed,omitempty"`     // tool results owe a request
	Cut       bool             `json:"cut,omitempty"`      // a step hit max-tokens
	Normal    bool             `json:"normal,omitempty"`   // the last turn left its loop normally
	Awaiting  string           `json:"awaiting,omitempty"` // effect id of the Step, timer, hook or maintenance
	Settling  bool             `json:"settling,omitempty"` // the awaited Step settles a lost one
	Asked     int64            `json:"asked,omitempty"`    // epoch of the awaited Step, if its answer was there before a reset raised the agent's
	Assembly  string           `json:"assembly,omitempty"`
	Batch     []string         `json:"batch,omitempty"`     // claimed by the current proposal
	Claimed   []string         `json:"claimed,omitempty"`   // claimed by the current turn
	ClaimedAt []int            `json:"claimedAt,omitempty"` // steps of the last of those
	Dropped   []string         `json:"dropped,omitempty"`   // of those, what did not enter
	Calls     []Call           `json:"calls,omitempty"`
	Defect    *session.Failure `json:"defect,omitempty"` // why no further call may start, and the turn will fail
	Concluded bool             `json:"concluded,omitempty"`
	Retry     *Retry           `json:"retry,omitempty"`
	Stops     int              `json:"stops,omitempty"` // how often the turn-stopping hook ran in this turn
	LastError *session.Failure `json:"lastError,omitempty"`
	Usage     *session.Usage   `json:"usage,omitempty"`   // of all steps
	Waiting   string           `json:"waiting,omitempty"` // as the last transition said it

	Maintenance *Maintenance `json:"maintenance,omitempty"` // the one that runs, or ran last

	Policy *work.Policy `json:"policy,omitempty"` // what people made of the definition's approvals; nil: nothing
	Plan   bool         `json:"plan,omitempty"`   // plan mode is on

	Owner    string  `json:"owner,omitempty"`   // the agent that started this one and is told of its end
	Bond     string  `json:"bond,omitempty"`    // by which the owner knows this incarnation
	Reports  bool    `json:"reports,omitempty"` // the owner is also told when this one is idle
	Telling  bool    `json:"telling,omitempty"` // as soon as the log is flushed
	Children []Child `json:"children,omitempty"`

	Effects int64    `json:"effects"` // last effect id given
	Seen    Ring     `json:"seen"`    // request ids, for de-duplication
	Ended   []Ended  `json:"ended,omitempty"`
	Fates   []string `json:"fates,omitempty"`   // what more is known of the last of those, see fate.go
	FlushAt string   `json:"flushAt,omitempty"` // timer that retries a failed flush
}

// A Pending message waits in the inbox; its body is in the log.
type Pending struct {
	ID    string
	Bytes int
}

// A Call is one tool call of the current step.
type Call struct {
	work.Call
	State  CallState     `json:"state,omitempty"`
	Effect string        `json:"fx,omitempty"`  // id of the running effect
	Seq    int64         `json:"seq,omitempty"` // of its tool/call
	Settle bool          `json:"settle,omitempty"`
	Epoch  int64         `json:"epoch,omitempty"` // of its key, if a reset raised the agent's since the model asked for it
	Out    *work.ToolOut `json:"out,omitempty"`
	Ask    *Wait         `json:"ask,omitempty"`   // asking, checking
	Child  string        `json:"child,omitempty"` // session of the agent that the call was delegated to

	Approved *work.Approved `json:"approved,omitempty"` // why it may run, if it had to be asked about
}

// A Child is an agent that this one started and owns. See spec §6.4, architecture A3.13.
type Child struct {
	ID      string `json:"id"`                // its session
	Effect  string `json:"fx"`                // that started it
	Bond    string `json:"bond"`              // names this incarnation between the two: an id may come to life again, see spec §6.2
	Live    bool   `json:"live,omitempty"`    // it was started
	Ref     string `json:"ref,omitempty"`     // the caller who waits for that
	Follows bool   `json:"follows,omitempty"` // a cancel of this agent's work cancels it
	Call    string `json:"call,omitempty"`    // the call that waits for its answer
	Keep    bool   `json:"keep,omitempty"`    // it stays when it has answered
	Leaving bool   `json:"leaving,omitempty"` // it was told to dispose of itself
	Blind   bool   `json:"blind,omitempty"`   // the run that would be told of its end is gone
	Look    string `json:"look,omitempty"`    // timer of the next look at it, and then the look itself
	Looking bool   `json:"looking,omitempty"`
	Looks   int    `json:"looks,omitempty"`
	DueMS   int64  `json:"dueMs,omitempty"` // Unix ms at which its answer is no longer waited for
	Due     string `json:"due,omitempty"`   // timer
}

// A Wait is what a call waits for outside of the agent. See architecture A3.7.
type Wait struct {
	ID    string `json:"id"` // what a decision or an answer names
	DueMS int64  `json:"dueMs,omitempty"`
	Timer string `json:"timer,omitempty"`

	Kind      string          `json:"kind,omitempty"`      // work.WaitQuestion, work.WaitClient; empty: a person decides
	Digest    string          `json:"digest,omitempty"`    // what a decision is bound to
	Reason    string          `json:"reason,omitempty"`    // why it is asked, shortened
	Questions json.RawMessage `json:"questions,omitempty"` // that are asked
	Checking  *Checking       `json:"checking,omitempty"`  // what was said and is being checked
}

// Checking is what somebody said to a waiting call, while a worker looks at it.
type Checking struct {
	Ref     string    `json:"ref,omitempty"`
	Request string    `json:"request,omitempty"`
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Said    work.Said `json:"said"`
}

// A Maintenance is a named task that owns the idle phase. See spec §3.6.
type Maintenance struct {
	Ref     string           `json:"ref,omitempty"` // the caller who waits for the result
	Request string           `json:"request,omitempty"`
	Task    string           `json:"task"`
	Args    json.RawMessage  `json:"args,omitempty"`
	Done    bool             `json:"done,omitempty"`
	Result  json.RawMessage  `json:"result,omitempty"`
	Failure *session.Failure `json:"failure,omitempty"`
}

// A Configuring is a change of the recorded data that is being checked, or waits for that. See architecture A3.12.
type Configuring struct {
	ID      string          `json:"id,omitempty"` // of the effect that checks it
	Ref     string          `json:"ref,omitempty"`
	Request string          `json:"request,omitempty"`
	Patch   json.RawMessage `json:"patch"`
}

// A CallState says how far a call is.
type CallState string

// The states of a call, in their order; a body that asks leads back to asking. Ungated calls are never gating or cleared
// longer than an input takes; delegated is for calls whose body hands them to a child agent, executed and posting for
// calls whose post stage is one of its own.
const (
	CallWaiting   CallState = ""
	CallGating    CallState = "gating"    // the pre stage runs
	CallAsking    CallState = "asking"    // somebody outside decides, answers or runs it
	CallChecking  CallState = "checking"  // what they said is being checked
	CallCleared   CallState = "cleared"   // may run as soon as the schedule lets it
	CallRunning   CallState = "running"   // the body runs, or the child's answer is read
	CallDelegated CallState = "delegated" // a child agent works on it
	CallExecuted  CallState = "executed"  // waits for its predecessors, then for its post stage
	CallPosting   CallState = "posting"   // the post stage runs
	CallFinished  CallState = "finished"  // waits for its predecessors
	CallCommitted CallState = "committed" // its result is in the log
)

// A Retry is the wait before another attempt.
type Retry struct {
	ID     string `json:"id"`
	Number int    `json:"number,omitempty"`
	DueMS  int64  `json:"dueMs,omitempty"` // Unix ms
	After  string `json:"after,omitempty"` // code of the failure
}

// Ended says what became of a message that left the inbox. The list is bounded; the log knows all of them.
type Ended struct {
	ID        string
	Turn      int
	Kind      session.TurnKind
	Dropped   bool // claimed, but did not enter its step
	Discarded bool // left the inbox without being claimed
}

// endedLimit bounds State.Ended, State.Claimed and State.Dropped.
const endedLimit = 128

// Status is running from the accepted wake until the drain has converged. See spec §3.7.
func (s *State) Status() string {
	switch s.Phase {
	case Birth, Idle, Maintaining, Closed:
		return StatusIdle
	default:
		return StatusRunning
	}
}

// Active reports whether an activity is there that a cancel could hit.
func (s *State) Active() bool { return s.Status() == StatusRunning || s.Phase == Maintaining }

// Quiet reports whether whenIdle is answered: nothing runs and nothing is about to.
func (s *State) Quiet() bool {
	return s.Phase == Closed || s.Phase == Idle && !s.Latch && s.Log.Lent == ""
}

func (s *State) ident() work.Ident {
	return work.Ident{Session: s.Session, Definition: s.Definition, Epoch: s.Epoch, Store: s.Store, Spec: s.Spec, Rules: s.Rules, Manifest: s.Manifest.Digest}
}

func (s *State) pending() int { return len(s.NextTurn) + len(s.NextStep) }

// Clone returns a deep copy; tests compare it with what a rollover restores.
func (s *State) Clone() (State, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return State{}, err
	}
	var out State
	return out, json.Unmarshal(raw, &out)
}

// idBytes is the length of all pending ids.
func (s *State) idBytes() int {
	n := 0
	for _, list := range [][]Pending{s.NextStep, s.NextTurn} {
		for _, p := range list {
			n += len(p.ID)
		}
	}
	return n
}
