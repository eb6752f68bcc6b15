package local

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/workflows"
)

// Config is what an [Engine] needs. Activities is required.
type Config struct {
	// Activities makes the activities of a worker that starts; see [Work].
	Activities func(w *Worker) (Activities, error)
	Broker     stream.Broker // live feed of the activities; nil: nothing is shown live
	Tap        workflows.Tap // hears notifications, on the agent's goroutine: it must not wait for the engine

	Start  time.Time // of the virtual clock; zero means the first of January 2026
	Manual bool      // only Advance moves the clock

	// CheckEveryInput holds the driver's laws and the JSON form of its state against every input that is handled, and
	// hands every input to a driver that was restored from JSON. What is broken is found in [Engine.Err].
	CheckEveryInput bool
	// RestoreOneIn lets CheckEveryInput look at the JSON form, and restore from it, after one in so many inputs only; 0
	// means after every one. The laws are held against all.
	RestoreOneIn int
	// Batch bounds the inputs that one task handles; 0 means all that are there when it begins.
	Batch int
	// RolloverEvery asks every agent for a rollover after so many inputs; 0 means never.
	RolloverEvery int
}

// An Engine is the server side of agents that run in this process. Make one with [New] or [Load].
type Engine struct {
	cfg Config
	wg  sync.WaitGroup

	mu       sync.Mutex
	now      time.Time
	manual   bool
	agents   map[string]*agent // the last run of an id
	runs     []*agent          // in the order of their start
	workers  []*Worker         // that take tasks, oldest first
	all      []*Worker         // the dead ones too
	standing []*stand          // goroutines that wait for a release or for the clock
	stands   int64             // numbers them
	rules    []*rule
	faults   []*fault
	struck   map[string]int         // how often each kind of fault did
	checked  atomic.Int64           // inputs
	slots    map[string]chan answer // of updates that wait, by ref
	refs     int
	jumps    int           // of the clock by itself, since something came from outside
	active   int           // goroutines of the engine that neither ended nor stand
	changed  chan struct{} // closed and replaced when something a waiter looks at has changed
	closed   bool
	done     chan struct{} // closed with the engine
	err      error
}

// New makes an engine without agents and without a worker.
func New(c Config) (*Engine, error) {
	if c.Activities == nil {
		return nil, errors.New("local: Config.Activities is required (see local.Work)")
	}
	if c.Start.IsZero() {
		c.Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return &Engine{cfg: c, now: c.Start, manual: c.Manual, agents: map[string]*agent{},
		struck: map[string]int{}, slots: map[string]chan answer{}, changed: make(chan struct{}), done: make(chan struct{})}, nil
}

// errClosed is the end of everything that runs or waits when the engine is closed.
var errClosed = errors.New("local: the engine is closed")

// Close ends every worker, waits for what they run, and returns [Engine.Err]. What is durable can still be saved.
func (e *Engine) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.done)
	}
	workers := e.all
	e.announce()
	e.mu.Unlock()
	for _, w := range workers {
		w.end(errClosed)
	}
	e.wg.Wait()
	return e.Err()
}

// Err is the first law that was broken, or nil. See [Config].CheckEveryInput.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// blame records that the program, not a fault, went wrong. The caller holds the lock.
func (e *Engine) blame(a *agent, format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("local: agent %s: %w", a.ID, fmt.Errorf(format, args...))
	}
}

// announce tells everybody who waits that something changed. The caller holds the lock.
func (e *Engine) announce() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// maxJumps is how often the clock jumps by itself before something from outside is needed: what is retried for ever must
// not run for ever in no time.
const maxJumps = 1000

// settle looks after a goroutine stopped running: if none runs any more, the clock may jump. The caller holds the lock.
func (e *Engine) settle() {
	for e.active == 0 && !e.manual && !e.closed && len(e.workers) > 0 && e.jumps < maxJumps && e.fireNext(time.Time{}) {
		e.jumps++
	}
	if e.active == 0 {
		e.announce()
	}
}
