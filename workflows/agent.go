package workflows

import (
	"encoding/json"
	"errors"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// WorkflowType is the type every agent is registered under.
const WorkflowType = signals.WorkflowType

// Start is the argument of the workflow. State is set when a run continues another one.
type Start struct {
	signals.Create
	State *driver.State `json:"state,omitempty"`
}

// A Registry takes workflows; a worker and a replayer are ones.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

// Register registers the agent's workflow, and the one that tells what happens to it.
func Register(r Registry) {
	r.RegisterWorkflowWithOptions(Agent, workflow.RegisterOptions{Name: WorkflowType})
	r.RegisterWorkflowWithOptions(Tell, workflow.RegisterOptions{Name: signals.TellWorkflowType})
}

// Agent is one long-lived agent. It ends when it is disposed, or when its birth failed.
func Agent(ctx workflow.Context, start Start) (driver.Summary, error) {
	a := newAgent(ctx, start)
	a.begin(start) // before the handlers: to set one lets the updates run that came with the first task
	if err := a.handlers(ctx); err != nil {
		return driver.Summary{}, err
	}
	a.watchCancellation(ctx)
	return a.run(start)
}

// agent is the adapter's own state. Whatever matters beyond a workflow task is in the driver's.
type agent struct {
	ctx       workflow.Context // not cancelled with the run
	queue     *queue
	driver    *driver.Driver
	cancels   map[string]workflow.CancelFunc // of running effects, by id; only looked up
	slots     map[string]*slot               // of waiting updates, by ref; only looked up
	starts    map[string]workflow.Future     // of children that this run started, by effect; only looked up
	said      map[string]workflow.Future     // what an agent was told last, by its id; only looked up
	open      int                            // effects whose answer is still to come
	refs      int
	seat      string // the run that the driver works for; see setBack
	made      int    // message ids made up
	waiters   int    // whenIdle updates that wait
	lull      lull   // before a rollover
	native    bool
	blocked   string // what a signal waits for before it can be read
	closed    *driver.Close
	stillborn error
	calledOff bool // nobody wants the agent any more that is being born
	defect    string
}

func newAgent(ctx workflow.Context, start Start) *agent {
	free, _ := workflow.NewDisconnectedContext(ctx)
	return &agent{ctx: free, seat: firstRun(ctx), queue: queueOf(ctx), cancels: map[string]workflow.CancelFunc{}, slots: map[string]*slot{},
		starts: map[string]workflow.Future{}, said: map[string]workflow.Future{}}
}

// run feeds the driver until the agent ends or moves to a new run.
func (a *agent) run(start Start) (driver.Summary, error) {
	for !a.ended() {
		if err := workflow.Await(a.ctx, a.awaited); err != nil {
			return driver.Summary{}, err
		}
		if a.unwanted() {
			a.calledOff = true
			a.cancelEffect(setupID)
			continue
		}
		if a.setBack() {
			a.takeOver()
			continue
		}
		if !a.queue.ready(a.unborn()) && a.mustPause() {
			a.pause()
			continue
		}
		if !a.queue.ready(a.unborn()) && !a.ended() {
			return driver.Summary{}, a.continueAsNew(start)
		}
		for i, ok := a.next(); ok && !a.ended(); i, ok = a.next() {
			a.feed(i)
		}
		a.askForRollover()
		a.makeRoom()
	}
	return a.end()
}

// awaited reports whether there is something to do.
func (a *agent) awaited() bool {
	return a.queue.ready(a.unborn()) || a.ended() || a.mustPause() || a.mayLeave() || a.unwanted() || a.setBack()
}

// next is the item to be fed. Callers wait until the agent is born: what they do must come after what it inherits.
func (a *agent) next() (item, bool) { return a.queue.pop(a.unborn()) }

// unwanted reports whether the agent is to be disposed before it is born: then its birth is called off. See spec §6.1.8.
func (a *agent) unwanted() bool {
	return a.unborn() && !a.ended() && !a.calledOff && a.queue.holds(signals.DisposeAgent)
}

func (a *agent) unborn() bool { return a.driver.State().Phase == driver.Birth }

// begin makes the driver: of a new agent, or of the state another run handed over.
func (a *agent) begin(start Start) {
	if start.State != nil {
		a.driver = driver.Restore(*start.State)
		a.handle(driver.Resumed{})
		return
	}
	info := workflow.GetInfo(a.ctx)
	d, effects := driver.New(StateOf(info.WorkflowExecution.ID, start.Create), BirthOf(start.Create), info.WorkflowStartTime.UnixMilli()) // a reset does not change it
	a.driver = d
	a.perform(effects)
	if first := FirstOf(start.Create); first != nil {
		a.queue.pushFirst(item{name: signals.Followup, raw: first})
	}
}

// StateOf is the state that an agent begins with.
func StateOf(id string, c signals.Create) driver.State {
	s := driver.State{Session: id, Definition: c.Definition, Title: c.Title, Parent: c.Parent, Epoch: EpochOf(c)}
	if c.Owned {
		s.Owner, s.Bond, s.Reports = c.Parent, c.Bond, c.Reports && c.Parent != ""
	}
	return s
}

// FirstOf is the payload of the followup that comes with an agent's birth; nil if there is none.
func FirstOf(c signals.Create) json.RawMessage {
	if c.First == nil {
		return nil
	}
	raw, err := json.Marshal(c.First)
	if err != nil {
		return nil // it was read from JSON
	}
	return raw
}

// EpochOf is the epoch of a new session; a resumed or forked one learns its own at birth.
func EpochOf(c signals.Create) int64 {
	if c.Resume != nil || c.Fork != nil {
		return 0
	}
	return 1
}

func (a *agent) now() int64 { return workflow.Now(a.ctx).UnixMilli() }

// handle gives one input to the driver and carries out what it decides.
func (a *agent) handle(in driver.Input) {
	a.lull.dirty, a.lull.over = true, false
	_, effects := a.driver.Handle(a.now(), in) // what was logged is among the effects
	a.perform(effects)
	if a.defect != "" {
		panic(a.defect) // the task fails, visibly, and is tried again
	}
	a.details()
}

// tap tells listeners; it is silent during replay.
func (a *agent) tap(name string, data any) {
	if a.queue.tap == nil || workflow.IsReplaying(a.ctx) {
		return
	}
	raw, err := json.Marshal(data)
	if err != nil {
		workflow.GetLogger(a.ctx).Error("notification cannot be encoded", "name", name, "error", err)
		return
	}
	a.queue.tap(a.driver.State().Session, name, raw)
}

// feed turns one item into an input.
func (a *agent) feed(i item) {
	if i.input != nil {
		a.handle(i.input)
		return
	}
	in, err := a.input(i)
	if err != nil {
		a.refuse(i, err)
		return
	}
	a.handle(in)
}

// refuse drops a malformed signal visibly, or fails the update that carried it. It never fails the task.
func (a *agent) refuse(i item, err error) {
	var refusal *Refusal
	code := signals.ErrInvalid
	if errors.As(err, &refusal) {
		code = refusal.Code
	}
	receipt := driver.Receipt{Disposition: driver.Refused, Code: code, Message: err.Error(), Revision: a.driver.State().Revision}
	if i.slot != nil {
		i.slot.receipt, i.slot.done = receipt, true
		return
	}
	workflow.GetLogger(a.ctx).Warn("signal dropped", "signal", i.name, "error", err)
	a.tap("agent/refused", receipt)
}

// end closes the run after the agent was disposed or could not be born. While the owner is told, callers still come, and
// are answered.
func (a *agent) end() (driver.Summary, error) {
	more := func() bool { return a.stillborn == nil && a.queue.ready(false) }
	told := func() bool { return a.open == 0 || a.stillborn != nil }
	over := func() bool { return told() && a.waiters == 0 && workflow.AllHandlersFinished(a.ctx) }
	for more() || !over() {
		if err := workflow.Await(a.ctx, func() bool { return more() || over() }); err != nil {
			return driver.Summary{}, err
		}
		for i, ok := a.next(); ok && a.stillborn == nil; i, ok = a.next() {
			a.feed(i)
		}
	}
	switch {
	case a.stillborn != nil:
		return driver.Summary{}, a.stillborn
	case a.closed.Canceled:
		return driver.Summary{}, temporal.NewCanceledError(a.closed.Summary)
	default:
		return a.closed.Summary, nil
	}
}

// ended reports whether nobody should wait for this run any more.
func (a *agent) ended() bool { return a.closed != nil || a.stillborn != nil }

// messageID makes up the id of a message that came without one; it is unique in the agent's life, and a reset does not
// change it.
func (a *agent) messageID() string {
	a.made++
	return signals.MadeID(workflow.GetInfo(a.ctx).OriginalRunID, a.made)
}
