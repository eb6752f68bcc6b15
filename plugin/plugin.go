// Package plugin is where an agent's behaviour is put together.
//
// A [Definition] bundles what a kind of agent is: route, prompt sections, variables, runtime contexts, tools and the
// extension points. Definitions are code of the worker; an agent names its definition and never carries it. Everything
// here runs in activities, may do I/O, is bounded by its context and may run again if the worker dies inside it.
//
// A gate is an ordered chain of interceptors: each may call next once and alter what comes back, or answer itself. The
// first registered is the outermost. Interceptors get copies of their own: the messages of a pre-step gate may be
// changed freely, the facts of a request or a failure may not, which fails the turn. A hook that wants to send something
// to its agent uses [AgentFrom]: the calls travel with the activity's answer, so a hook that is run again cannot say the
// same thing twice.
//
// [Definition.Assemble] renders what a definition says. [Definition.DecidePreStep], [Definition.DecideRequest],
// [Definition.Streamed] and [Definition.DecideRecovery] run the gates of a step, [Definition.DecideCall],
// [Definition.Executed] and [Definition.DecideResult] those of a tool call. See spec §4.4–4.8, §6.1, §8 and
// architecture A3.8.
package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// A Definition is one kind of agent. The zero value of every field is a documented default.
type Definition struct {
	Name string // what Create names; required

	// The declared call configuration; Create may override it per agent.
	Provider        string
	Model           string
	ReasoningEffort string
	MaxTokens       int

	Sections  []Section
	Variables map[string]Variable
	Contexts  []RuntimeContext

	// Params is the JSON Schema of the parameters that an agent is created with; nil: any object. What was recorded is not
	// checked again when a later deployment changes the schema.
	Params json.RawMessage

	Tools            []*tools.Tool
	ToolOrder        []string // names with one "*" for the rest; empty means by name
	MaxParallelTools int      // calls in flight, 0 means 10
	// Hide keeps a tool from an agent: it is absent from the prompt, and a call of it is one of an unknown tool. It should
	// depend on nothing but session, folder and parameters of the view. See spec §8.2.
	Hide func(v View, tool string) bool

	Assembly     []AssemblyGate
	PreStep      []PreStepGate
	Request      []RequestGate
	Stream       []StreamGate
	RequestError []RequestErrorGate

	ToolPreExecute  []ToolPreGate
	Guards          []Guard
	ToolExecute     []ToolExecuteGate
	ToolPostExecute []ToolPostGate
	ToolResult      []ToolListener
	Approval        *Approval // nil: nobody can be asked, so a call that must be asked about is denied

	// MaxResultBytes is how much plain text of a tool's result the model is shown in full; 0 means
	// [DefaultMaxResultBytes], a negative number means all of it. See spec §9.4.
	MaxResultBytes int

	Created      []CreatedHook
	SessionStart []Hook // at the first wake of an incarnation, before its first turn
	TurnStopping []Hook // before a turn that owes nothing ends

	Maintenance map[string]MaintenanceTask // by the name that callers use
	Compaction  *Compaction                // nil: history is never compacted

	// Budget is a number of tokens. It limits nothing: webhooks are told, as budget, each time that an agent has used as many
	// again, since its workflow began. 0: nobody is told.
	Budget int64
	// Webhooks are told what happens to the agents of this kind, wherever they run. See docs/webhooks.md.
	Webhooks []Webhook

	// Listeners observe notifications on the worker that happens to run the agent; a failing one affects nothing.
	Listeners []Listener
}

// DefaultMaxResultBytes is the plain text of a result above which the model sees a projection. See spec §9.4.
const DefaultMaxResultBytes = 50_000

// DefaultMaxParallelTools bounds the tool calls in flight. See spec §4.8.
const DefaultMaxParallelTools = 10

// LimitParallelTools bounds the calls in flight by a number that somebody configured: it must be positive, 1 means one at a
// time. See spec §4.8.
func (d *Definition) LimitParallelTools(n int) error {
	if n < 1 {
		return fmt.Errorf("definition %s: %d tool calls in flight: use a positive number (the default is %d)", d.Name, n, DefaultMaxParallelTools)
	}
	d.MaxParallelTools = n
	return nil
}

// Validate names the first field that is wrong and how to mend it.
func (d *Definition) Validate() error {
	if d.Name == "" {
		return fmt.Errorf("definition: Name is empty")
	}
	if d.MaxParallelTools < 0 {
		return fmt.Errorf("definition %s: MaxParallelTools is %d: use a positive number, or 0 for %d", d.Name, d.MaxParallelTools, DefaultMaxParallelTools)
	}
	if d.MaxTokens < 0 {
		return fmt.Errorf("definition %s: MaxTokens is %d: use a positive number, or 0 for the route's default", d.Name, d.MaxTokens)
	}
	if _, err := tools.NewSet(d.Tools...); err != nil {
		return fmt.Errorf("definition %s: %w", d.Name, err)
	}
	seen := map[string]bool{}
	for _, s := range d.Sections {
		if seen[s.Name] {
			return fmt.Errorf("definition %s: prompt section %q is there twice", d.Name, s.Name)
		}
		if !finite(s.Order) {
			return fmt.Errorf("definition %s: prompt section %q: Order is %v: use a finite number", d.Name, s.Name, s.Order)
		}
		seen[s.Name] = true
	}
	return d.validateRest()
}

func (d *Definition) validateRest() error {
	for _, c := range d.Contexts {
		if !finite(c.Order) {
			return fmt.Errorf("definition %s: runtime context %q: Order is %v: use a finite number", d.Name, c.Name, c.Order)
		}
	}
	for name := range d.Variables {
		if !validName(name) {
			return fmt.Errorf("definition %s: variable %q: use letters, digits, '_', '-' and '.'", d.Name, name)
		}
	}
	if d.Approval != nil {
		if err := d.Approval.validate(); err != nil {
			return fmt.Errorf("definition %s: approval: %w", d.Name, err)
		}
	}
	if d.Budget < 0 {
		return fmt.Errorf("definition %s: Budget is %d: use a positive number of tokens, or 0 for none", d.Name, d.Budget)
	}
	if err := CheckWebhooks(d.Webhooks); err != nil {
		return fmt.Errorf("definition %s: %w", d.Name, err)
	}
	if d.Params != nil {
		if _, err := tools.ReadSchema(d.Params); err != nil {
			return fmt.Errorf("definition %s: Params: %w", d.Name, err)
		}
	}
	return d.validateTasks()
}

func (d *Definition) validateTasks() error {
	for name, task := range d.Maintenance {
		switch {
		case !validName(name):
			return fmt.Errorf("definition %s: maintenance task %q: use letters, digits, '_', '-' and '.'", d.Name, name)
		case task == nil:
			return fmt.Errorf("definition %s: maintenance task %q is nil", d.Name, name)
		case name == CompactTask && d.Compaction != nil:
			return fmt.Errorf("definition %s: maintenance task %q is the one that Compaction brings (give yours another name)", d.Name, name)
		}
	}
	if d.Compaction == nil {
		return nil
	}
	if err := d.Compaction.validate(); err != nil {
		return fmt.Errorf("definition %s: Compaction: %w", d.Name, err)
	}
	return nil
}

// A View is what prompt parts and gates may know of the agent they run for.
type View struct {
	Session  string
	Turn     int
	Step     int // the proposed step
	Provider string
	Model    string
	CWD      string
	Params   json.RawMessage // recorded at Create
	Plan     bool            // plan mode is on, see [Definition.PlanFirst]; false outside of a step
}

// A Section is a named part of the system prompt. Text is used when Render is nil. See spec §8.1.
type Section struct {
	Name     string
	Order    float64 // ascending; -100 identity, 0 persona, 100–199 tool guidance
	Text     string
	Render   func(ctx context.Context, v View) (string, error)
	Complete bool // becomes the entire prompt
}

// A Variable computes the value of a {{name}} reference.
type Variable func(ctx context.Context, v View) (string, error)

// A RuntimeContext contributes changing facts about the environment, delivered as snapshots in history. See spec §8.6.
type RuntimeContext struct {
	Name   string
	Order  float64
	Render func(ctx context.Context, v View) (string, error) // empty: nothing to say
}

// An AssemblyGate intercepts what a definition says of a step: it may replace anything but a complete section. It runs once
// per step. A tool that it leaves out is not told, and is still there for whoever calls it: use [Definition.Hide] to keep one
// away. See spec §8.1.
type AssemblyGate func(ctx context.Context, v View, next func(context.Context, View) (Assembled, error)) (Assembled, error)

// PreStep is a proposed step: the claimed messages and the coordinates. See spec §4.4.
type PreStep struct {
	View     View
	Messages []session.Message
}

// A Decision is the outcome of the pre-step gate. The message list is authoritative and complete.
type Decision struct {
	Reject              bool
	Reason              string
	Messages            []session.Message
	StartsRequestSeries bool
}

// A PreStepGate intercepts a proposed step.
type PreStepGate func(ctx context.Context, in PreStep, next func(context.Context, PreStep) (Decision, error)) (Decision, error)

// A RequestProposal is the call configuration a request would use. See spec §4.5.1.
type RequestProposal struct {
	View   View
	Config session.CallConfig
}

// A RequestGate may substitute the call configuration; it cannot touch messages.
type RequestGate func(ctx context.Context, in RequestProposal, next func(context.Context, RequestProposal) (session.CallConfig, error)) (session.CallConfig, error)

// A StreamCall is a request about to be sent. It is frozen: the log says the same. See spec §4.6, §4.7.1.
type StreamCall struct {
	View    View
	Attempt int // from 1
	Request llm.Request
}

// A StreamGate intercepts the call of the model. It may observe the stream, answer from elsewhere, or call next again
// after a stream that brought nothing. An error it yields is its own failure, which ends the turn; those of the provider
// reach it as a [session.Finish]. Handing a changed request to next fails the turn, and nothing is sent.
type StreamGate func(ctx context.Context, in StreamCall, next func(context.Context, StreamCall) iter.Seq2[session.Chunk, error]) iter.Seq2[session.Chunk, error]

// A RequestFailure is offered to recovery. See spec §4.7.4.
type RequestFailure struct {
	View     View
	Provider string
	Failure  session.Failure
	Policy   llm.RetryPolicy
	Attempt  int // the failed attempt, from 1
}

// A Recovery says whether to try again.
type Recovery struct {
	Retry bool
}

// A RequestErrorGate decides about a failed model call.
type RequestErrorGate func(ctx context.Context, in RequestFailure, next func(context.Context, RequestFailure) (Recovery, error)) (Recovery, error)

// A Notice is a live notification. It is a hint, delivered at least once; the log decides. See spec §2.5.
type Notice struct {
	Session string          `json:"session"`
	Name    string          `json:"name"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// A Listener observes notices. Its panic is contained.
type Listener func(Notice)

// Agent is how gates, hooks and tools act on the agent they run for. Nothing waits: the calls are applied when the
// activity's answer is, in order.
type Agent interface {
	Followup(m session.Message)
	Steer(m session.Message)
	Inject(m session.Message)
	Send(m session.Message, target string, wakeup bool)
	Cancel(cause session.Cause, keepInbox bool)
	// Plan switches plan mode, from the next step on.
	Plan(on bool)
	// Spawn starts a child agent and returns its session id. A child that cannot be started is reported as refused.
	Spawn(c tools.Child) (id string)
}

type agentKey struct{}

// WithAgent returns a context that carries a.
func WithAgent(ctx context.Context, a Agent) context.Context {
	return context.WithValue(ctx, agentKey{}, a)
}

// AgentFrom returns the agent that a gate, hook or tool runs for, or nil outside of one.
func AgentFrom(ctx context.Context) Agent {
	a, _ := ctx.Value(agentKey{}).(Agent)
	return a
}
