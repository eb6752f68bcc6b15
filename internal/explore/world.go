package explore

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// now is when everything happens: the clock stands still, and a timer fires when it is its turn to.
const now = 1_764_500_000_000

// A Fault tampers with the driver: it is handed every input, and next is the driver itself.
type Fault func(d *driver.Driver, in driver.Input, next func(driver.Input) ([]session.Record, []driver.Effect)) ([]session.Record, []driver.Effect)

// A node is a state of a world.
type node struct {
	world *World
	fault Fault

	state driver.State
	log   *session.State // fold of everything that was logged
	model *Model         // the reference
	purse Purse
	twist int8 // of World.Twists, left

	open    []running // started, and not answered
	calls   []view    // of the step
	fates   []fate
	refs    []string // callers who wait
	asked   int      // refs given
	sent    int      // message ids given
	tries   int      // attempts of the step
	lossy   bool     // a step was lost and is being settled
	greeted bool

	before   session.Inbox    // in the log, when the move began
	writing  string           // the persist that ran then
	fresh    []session.Record // appended since the move began
	replies  []driver.Reply   // since the move began
	dropped  []string         // since the move began
	statuses []string
	closed   bool
	err      error // the first law that was broken
}

// running is a started effect.
type running struct {
	id        string
	effect    driver.Effect
	cancelled bool
}

// newNode is the agent right after its birth.
func newNode(w *World, f Fault) *node {
	n := &node{world: w, fault: f, purse: w.Purse, twist: w.Twists, log: session.NewState(),
		model: &Model{Stage: Rest, Greets: w.Hooks, Objects: w.Hooks}}
	if n.twist == 0 {
		n.twist = unlimited
	}
	d, _ := driver.New(driver.State{Session: "s", Definition: "def", Epoch: 1}, work.SetupIn{Spec: work.Spec{Definition: "def"}}, now)
	n.state = *d.State()
	n.input(driver.Born{Out: work.SetupOut{Spec: "spec", Store: "store", Manifest: w.manifest(), Worker: work.Worker{Rules: 1}}})
	return n
}

// clone copies what a move may change.
func (n *node) clone() *node {
	c := *n
	c.state = copyState(&n.state)
	c.log, c.model = n.log.Clone(), n.model.Clone()
	c.open, c.refs, c.fates = slices.Clone(n.open), slices.Clone(n.refs), slices.Clone(n.fates)
	c.calls = slices.Clone(n.calls)
	c.fresh, c.replies, c.dropped, c.statuses = nil, nil, nil, nil
	c.before = n.log.Inbox()
	c.writing, _ = n.persist()
	return &c
}

// failf notes a broken law; the first one counts.
func (n *node) failf(format string, args ...any) {
	if n.err == nil {
		n.err = fmt.Errorf(format, args...)
	}
}

// input hands one input to the driver and carries out what follows.
func (n *node) input(in driver.Input) {
	d := driver.Restore(n.state)
	next := func(in driver.Input) ([]session.Record, []driver.Effect) { return d.Handle(now, in) }
	handle := n.fault
	if handle == nil {
		handle = func(_ *driver.Driver, in driver.Input, next func(driver.Input) ([]session.Record, []driver.Effect)) ([]session.Record, []driver.Effect) {
			return next(in)
		}
	}
	records, effects := handle(d, in, next)
	n.state = *d.State()
	for _, r := range records {
		n.append(r)
	}
	n.carryOut(effects)
}

// append adds a record at the place it says it has.
func (n *node) append(r session.Record) {
	if r.Seq != n.log.Count() {
		n.failf("%s has seq %d, want %d", r.Event.Type(), r.Seq, n.log.Count())
	}
	n.follow(r.Event)
	if err := n.log.Apply(r); err != nil {
		n.failf("the log refuses %s: %w", r.Event.Type(), err)
	}
	n.fresh = append(n.fresh, r)
	if e, ok := r.Event.(session.ToolResult); ok {
		n.committed(e)
	}
}

func (n *node) carryOut(effects []driver.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case driver.StartStep:
			n.checkStep(e.In)
			n.start(e.In.ID, e)
		case driver.StartPersist:
			n.checkTail(e.In.Head, e.In.Tail)
			n.start(e.In.ID, e)
		case driver.StartTool:
			n.checkTool(e.In)
			n.start(e.In.ID, e)
		case driver.StartTimer:
			n.start(e.ID, e)
		case driver.StartHook:
			n.checkHook(e.In)
			n.start(e.In.ID, e)
		case driver.StartMaintain:
			n.checkTail(e.In.Head, e.In.Tail)
			n.start(e.In.ID, e)
		case driver.CancelEffect:
			n.cancelled(e.ID)
		case driver.Reply:
			n.replied(e)
		case driver.Notify:
			n.notified(e)
		case driver.Transition:
			n.statuses = append(n.statuses, e.Status)
		case driver.Rollover:
		case driver.Close:
			if n.closed {
				n.failf("closed twice")
			}
			n.closed = true
		default:
			n.failf("effect %T: %+v", e, e)
		}
	}
}

func (n *node) start(id string, e driver.Effect) { n.open = append(n.open, running{id: id, effect: e}) }

// cancelled notes a cancel; a timer that is cancelled is gone.
func (n *node) cancelled(id string) {
	i := slices.IndexFunc(n.open, func(r running) bool { return r.id == id })
	switch {
	case i < 0:
		n.failf("%s is cancelled, and does not run", id)
	case n.open[i].cancelled:
		n.failf("%s is cancelled twice", id)
	case isTimer(n.open[i].effect):
		n.open = slices.Delete(n.open, i, i+1)
	default:
		n.open[i].cancelled = true
	}
}

func isTimer(e driver.Effect) bool {
	_, ok := e.(driver.StartTimer)
	return ok
}

// finish removes an open effect, which is about to be answered.
func (n *node) finish(id string) {
	n.open = slices.DeleteFunc(n.open, func(r running) bool { return r.id == id })
}

// pay takes coins; a move is enabled only if it can be paid.
func (n *node) pay(coin Coin) {
	n.purse[coin]--
	if coin >= Cancels && coin != Upkeeps && coin != ToolSteps {
		n.twist--
	}
}

func (n *node) has(coin Coin) bool {
	return n.purse[coin] > 0 && (n.twist > 0 || coin < Cancels || coin == Upkeeps || coin == ToolSteps)
}

// ref names a caller who waits for a receipt.
func (n *node) ref() string {
	n.asked++
	ref := fmt.Sprintf("ref-%d", n.asked)
	n.refs = append(n.refs, ref)
	return ref
}

func (n *node) message() session.Message {
	n.sent++
	return userMessage(fmt.Sprintf("m%d", n.sent))
}

func userMessage(id string) session.Message {
	return session.Message{ID: id, Role: session.RoleUser, Content: session.TextContent("text"), Source: session.Source{Kind: session.SourceUser}}
}

func (n *node) head() work.Head {
	return work.Head{Hash: fmt.Sprintf("h%d", n.log.Count()), Count: n.log.Count()}
}
