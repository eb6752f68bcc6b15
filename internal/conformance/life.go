package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// A power is what only the place where agents run can do.
type power interface {
	// terminate makes the agent's run vanish.
	terminate(ctx context.Context, id string) error
	// signalRun sends to one run of an agent, which may have ended.
	signalRun(ctx context.Context, id, run, act string, payload any) error
	// stopWorker and startWorker: in between nobody works.
	stopWorker() error
	startWorker(ctx context.Context) error
	stopClock(stop bool) error
	passTime(ctx context.Context, d time.Duration) error // what is due happens; a server's time is the wall's
}

// A person is one agent of a scenario: what is known of it while another one is looked at.
type person struct {
	id      string
	agent   *agents.Agent
	frames  *frames
	closed  bool
	seen    int
	inserts []string
	from    inheritance
}

// An inheritance says how much of a log was not written by this agent under this scenario.
type inheritance struct {
	seed     int64 // events of another session
	imported int   // events that came from a file
}

// before is the seq of the first event that this agent wrote under this scenario.
func (i inheritance) before() int64 { return max(i.seed, int64(i.imported)) }

// people are the agents of a scenario by name; the one that is looked at lives in the run itself.
type people struct {
	now    string
	away   map[string]person
	id     string // of the one that is looked at
	run    string // an earlier run of it
	from   inheritance
	births map[string]chan birth
	leaves map[string]chan error
	halt   context.CancelFunc // of who creates an agent
	born   int                // of the last creation of several
	file   []byte
}

// firstName is the name of the first agent.
const firstName = "first"

// name gives the next agent an id, and a place if there is none yet.
func (r *run) name(ctx context.Context) error {
	if err := r.openSite(ctx); err != nil || r.id != "" {
		return err
	}
	r.id = "scenario-" + uuid.NewString()[:13]
	r.frames = watchFrames(r.broker, r.id)
	r.names.Store(r.id, cmp.Or(r.now, firstName))
	r.expectKids()
	return nil
}

// turnTo puts the agent that is looked at away and looks at another one.
func (r *run) turnTo(name string) {
	if r.away == nil {
		r.away = map[string]person{}
	}
	if r.now == "" {
		r.now = firstName
	}
	r.away[r.now] = person{r.id, r.agent, r.frames, r.closed, r.seen, r.inserts, r.from}
	p := r.away[name]
	delete(r.away, name)
	r.now, r.id, r.agent, r.frames = name, p.id, p.agent, p.frames
	r.closed, r.seen, r.inserts, r.from = p.closed, p.seen, p.inserts, p.from
}

// parseMeet reads `meet NAME`: from now on that agent is looked at.
func parseMeet(_ *setup, w *words) (act, error) {
	name, err := w.bare("the name of an agent")
	return quiet(func(r *run, ctx context.Context) error {
		if _, ok := r.away[name]; !ok {
			return fmt.Errorf("there is no other agent %s", name)
		}
		r.turnTo(name)
		return r.acquaint(ctx)
	}), err
}

// A birth is what a creation came to.
type birth struct {
	agent *agents.Agent
	err   error
}

// parseCreate reads `create [as NAME] [of PARENT [follows]] [again] [twice] [abandoned] [key=value …]`.
func parseCreate(_ *setup, w *words) (act, error) {
	var o agents.CreateOptions
	var again, twice, abandoned bool
	var as, of string
	for !w.done() {
		word, err := w.bare("a word")
		if err != nil {
			return nil, err
		}
		key, v, _ := strings.Cut(word, "=")
		switch key {
		case "as":
			if as, err = w.bare("the name of the agent"); err != nil {
				return nil, err
			}
		case "of":
			if of, o.CancelWithParent, err = ofParent(w); err != nil {
				return nil, err
			}
		case "again":
			again = true
		case "twice":
			twice = true
		case "abandoned":
			abandoned = true
		case "definition":
			o.Definition = v
		case "provider":
			o.Provider = v
		case "cwd":
			o.CWD = v
		default:
			return nil, fmt.Errorf("unknown word %q: want as, of, again, twice, abandoned, definition=, provider= or cwd=", word)
		}
	}
	return quiet(func(r *run, ctx context.Context) error {
		if of != "" {
			id, err := r.idOf(of)
			if err != nil {
				return err
			}
			o.Parent = id
		}
		switch {
		case as != "":
			r.turnTo(as)
		case again:
			return r.deliver(ctx, o).err
		case twice:
			return r.createTwice(ctx, o)
		case abandoned:
			ended, cancel := context.WithCancel(ctx)
			cancel()
			return r.create(ended, o)
		}
		return r.create(ctx, o)
	}), nil
}

// create makes the agent; one that could not be born leaves its id to the next.
func (r *run) create(ctx context.Context, o agents.CreateOptions) error {
	if r.agent != nil || r.births[r.id] != nil {
		return nil
	}
	if err := r.name(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	b := r.deliver(ctx, o)
	r.agent = b.agent
	return b.err
}

func (r *run) deliver(ctx context.Context, o agents.CreateOptions) birth {
	short, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	if o.ID = r.id; o.Definition == "" {
		o.Definition = definitionName
	}
	o.ClientTools = r.clientTools
	a, err := r.site.client.Create(short, o)
	if err != nil {
		return birth{err: err}
	}
	return birth{agent: a}
}

// creating makes the agent while the scenario goes on.
func (r *run) creating(ctx context.Context) error {
	if err := r.name(ctx); err != nil {
		return err
	}
	done := make(chan birth, 1)
	if r.births == nil {
		r.births = map[string]chan birth{}
	}
	r.births[r.id] = done
	ctx, r.halt = context.WithCancel(ctx)
	go func() { done <- r.deliver(ctx, agents.CreateOptions{}) }()
	return nil
}

// callOff lets who creates the agent give up.
func (r *run) callOff(context.Context) error {
	if r.halt == nil {
		return errors.New("nobody is creating an agent")
	}
	r.halt()
	return nil
}

// created waits for what the creation comes to.
func (r *run) created(context.Context) error {
	done := r.births[r.id]
	if done == nil {
		return errors.New("nobody is creating the agent")
	}
	b := <-done // bounded by patience
	delete(r.births, r.id)
	r.agent = b.agent
	return b.err
}

// createTwice lets two callers create the same agent at the same time.
func (r *run) createTwice(ctx context.Context, o agents.CreateOptions) error {
	if err := r.name(ctx); err != nil {
		return err
	}
	results := make(chan birth, 2)
	for range 2 {
		go func() { results <- r.deliver(ctx, o) }()
	}
	var lost error
	for range 2 {
		if b := <-results; b.err != nil {
			lost = b.err
		} else {
			r.born++
			r.agent = b.agent
		}
	}
	var refused *agents.CreateError
	if lost != nil && !errors.Is(lost, agents.ErrExists) && !errors.As(lost, &refused) {
		return lost
	}
	return nil
}

// parseLeaving reads `leaving NAME`: somebody disposes the agent while the scenario goes on.
func parseLeaving(_ *setup, w *words) (act, error) {
	name, err := w.bare("the name of the caller")
	return quiet(func(r *run, ctx context.Context) error {
		done, agent := make(chan error, 1), r.agent
		if r.leaves == nil {
			r.leaves = map[string]chan error{}
		}
		r.leaves[name] = done
		go func() {
			short, cancel := context.WithTimeout(ctx, r.patience)
			defer cancel()
			done <- agent.Dispose(short)
		}()
		return nil
	}), err
}

// parseLeft reads `left NAME`: the caller comes back, and the agent has ended.
func parseLeft(_ *setup, w *words) (act, error) {
	name, err := w.bare("the name of the caller")
	return quiet(func(r *run, _ context.Context) error {
		done := r.leaves[name]
		if done == nil {
			return fmt.Errorf("%s is not leaving", name)
		}
		delete(r.leaves, name)
		err := <-done // bounded by patience
		r.closed, r.settled = err == nil, err == nil
		return err
	}), err
}

// terminate makes the agent's run vanish; what is not written is lost.
func (r *run) terminate(ctx context.Context) error {
	run, err := r.site.client.Backend.Describe(ctx, r.id)
	if err != nil {
		return err
	}
	r.run, r.closed, r.settled = run.ID, true, true
	return r.site.power.terminate(ctx, r.id)
}

// stale disposes the run of the agent that ended before.
func (r *run) stale(ctx context.Context) error {
	if err := r.site.power.signalRun(ctx, r.id, r.run, signals.DisposeAgent, signals.Dispose{RequestID: uuid.NewString()}); err != nil {
		return fmt.Errorf("nobody takes it: %w", err)
	}
	return nil
}

// parseWorker reads `worker stop|start`.
func parseWorker(_ *setup, w *words) (act, error) {
	switch {
	case w.take("stop"):
		return quiet(func(r *run, _ context.Context) error { return r.site.power.stopWorker() }), nil
	case w.take("start"):
		return quiet(func(r *run, ctx context.Context) error { return r.site.power.startWorker(ctx) }), nil
	default:
		return nil, errors.New("want `worker stop` or `worker start`")
	}
}

// others checks what every scenario must keep of the agents that are not looked at.
func (r *run) others(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.away)) {
		r.turnTo(name)
		if err := errors.Join(r.acquaint(ctx), r.finishOne(ctx)); err != nil {
			return fmt.Errorf("agent %s: %w", r.now, err)
		}
	}
	return nil
}
