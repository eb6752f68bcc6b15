package local

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
)

// An agent is one run of an agent, as the server knows it. What has a JSON name is durable.
type agent struct {
	ID         string                    `json:"id"`
	Run        int                       `json:"run"` // counts rollovers, from 1
	Started    int64                     `json:"started"`
	Create     signals.Create            `json:"create"`
	State      json.RawMessage           `json:"state,omitempty"` // of the driver, after the last input
	Queue      []item                    `json:"queue,omitempty"`
	Effects    []*effect                 `json:"effects,omitempty"`
	Timers     []timer                   `json:"timers,omitempty"`
	Made       int                       `json:"made,omitempty"`       // message ids made up
	MadeBefore int                       `json:"madeBefore,omitempty"` // by earlier lives
	Handled    int                       `json:"handled,omitempty"`    // inputs, without those that belong to a rollover
	Accepted   []activities.AcceptedAct  `json:"accepted,omitempty"`   // of all its runs
	Cancel     *activities.CancelRequest `json:"cancel,omitempty"`     // of this run; a run can be cancelled only once
	End        *ending                   `json:"end,omitempty"`
	By         *bond                     `json:"by,omitempty"`
	Tells      *work.TellIn              `json:"tells,omitempty"`  // it is no agent: this is told
	Untold     []string                  `json:"untold,omitempty"` // why somebody was not

	driver  *driver.Driver // of the worker that handled the last input; nil: to be restored
	view    *driver.State  // State, decoded on demand
	glance  *glance        // at State
	task    *thread        // handles the queue
	wedged  bool           // a defect stopped it; the next worker tries again
	active  int            // goroutines that neither ended nor stand
	telling bool           // the tap is being told of the last commit
}

// An ending says how a run closed.
type ending struct {
	Status  string          `json:"status"` // completed, failed, canceled, terminated
	Code    string          `json:"code,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Summary *driver.Summary `json:"summary,omitempty"`
}

// An item is one thing that came in: an act, an answer, or one of the names below.
type item struct {
	Name string          `json:"name"` // an act of package signals, an activity of package work, or see below
	Raw  json.RawMessage `json:"raw,omitempty"`
	ID   string          `json:"id,omitempty"`   // of the effect or timer that is answered
	Lost driver.Lost     `json:"lost,omitempty"` // no answer will come
	Text string          `json:"text,omitempty"` // and the last error
	Code string          `json:"code,omitempty"` // and its type
	Ref  string          `json:"ref,omitempty"`  // an update waits for the receipt

	query func(*driver.State, error) // a reader's; not durable
}

// The names of items that are neither an act nor an answer of an activity.
const (
	itemBegin  = "begin"  // the agent's life
	itemResume = "resume" // another run goes on
	itemTimer  = "timer"
	itemRoll   = "rollover" // asks for a rollover
	itemQuery  = "query"
)

// A timer fires at a moment of the virtual clock, in Unix ms.
type timer struct {
	ID  string `json:"id"`
	Due int64  `json:"due"`
}

// busy reports whether a task could do something for the agent.
func (a *agent) busy() bool {
	return a.ready() || a.mayRoll()
}

// ready reports whether the oldest input can be handled.
func (a *agent) ready() bool { return len(a.Queue) > 0 && !a.held(a.Queue[0]) }

// held reports whether an act has to wait for the agent's birth: what callers do comes after what the agent inherits.
func (a *agent) held(i item) bool {
	return slices.Contains(signals.Acts, i.Name) && a.look().unborn
}

// A glance is what the engine itself must know of a state all the time; decoding the state for it would cost more than
// handling an input.
type glance struct{ unborn, rolling bool }

func glanceAt(s *driver.State) *glance {
	return &glance{unborn: s.Phase == "" || s.Phase == driver.Birth, rolling: s.Rolling}
}

func (a *agent) look() *glance {
	if a.glance == nil {
		a.glance = glanceAt(a.state())
	}
	return a.glance
}

// enqueue accepts an input; answers go before the acts that wait for them.
func (a *agent) enqueue(i item) {
	n := len(a.Queue)
	if !slices.Contains(signals.Acts, i.Name) {
		if first := slices.IndexFunc(a.Queue, a.held); first >= 0 {
			n = first
		}
	}
	a.Queue = slices.Insert(a.Queue, n, i)
}

func (a *agent) effect(id string) *effect {
	for _, fx := range a.Effects {
		if fx.ID == id {
			return fx
		}
	}
	return nil
}

// state is the committed state; before the agent's life began it is empty.
func (a *agent) state() *driver.State {
	if a.view == nil {
		a.view = &driver.State{Session: a.ID, Definition: a.Create.Definition, Phase: driver.Birth}
		if len(a.State) > 0 {
			var s driver.State
			if err := json.Unmarshal(a.State, &s); err != nil {
				panic(fmt.Sprintf("local: state of %s: %v", a.ID, err)) // it was written by this package
			}
			a.view = &s
		}
	}
	return a.view
}

// runID names the run, as Temporal would.
func (a *agent) runID() string { return fmt.Sprintf("%s-run-%d", a.ID, a.Run) }

// raw writes what is made of JSON-ready values only.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("local: %T has no JSON form: %v", v, err))
	}
	return data
}
