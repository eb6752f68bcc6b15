package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

// The patience with what must come. It is only used up by a scenario that fails.
const (
	defaultPatience = 20 * time.Second
	wholePatience   = 2 * time.Minute
)

// A run is one execution of a scenario.
type run struct {
	*world
	target   Target
	patience time.Duration
	site     *site
	agent    *agents.Agent
	frames   *frames
	book     *book // a log that the scenario writes itself
	people

	last      outcome
	settled   bool   // nothing can happen any more without another act
	closed    bool   // the scenario ended the agent
	attempted string // id of an agent that was to be created
	seen      int    // records that were looked at
	revision  int64  // of the inbox, when it was looked at
	waiters   map[string]chan error
	inserts   []string // ids of messages that were accepted

	tasksOf    map[string]chan maintained // by who waits
	taskResult json.RawMessage            // of the last act
}

// execute runs a scenario on a target.
func (s *Scenario) execute(ctx context.Context, t Target) (err error) {
	ctx, cancel := context.WithTimeout(ctx, wholePatience)
	defer cancel()
	r := s.begin(t)
	defer func() { err = errors.Join(err, r.leave()) }()
	for _, c := range s.commands {
		if err := r.command(ctx, c); err != nil {
			return err
		}
	}
	if err := r.finish(ctx); err != nil {
		return fmt.Errorf("%s: at the end: %w", s.pos, err)
	}
	return nil
}

func (s *Scenario) begin(t Target) *run {
	r := &run{world: newWorld(s.ID, s.setup), target: t, patience: s.patience, waiters: map[string]chan error{}}
	if r.patience == 0 {
		r.patience = defaultPatience
	}
	return r
}

// command does one thing and looks at what must be seen of it.
func (r *run) command(ctx context.Context, c *command) error {
	r.settled, r.last, r.taskResult = false, outcome{}, nil
	r.last = c.act(ctx, r)
	if r.last.err != nil && !c.mayFail() {
		return fmt.Errorf("%s: > %s: %w", c.pos, c.text, r.last.err)
	}
	for _, w := range c.watches {
		if err := w.check(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", w.pos, err)
		}
	}
	return nil
}

// mayFail reports whether the scenario looks at the error of the act.
func (c *command) mayFail() bool {
	return slices.ContainsFunc(c.watches, func(w *watch) bool { return w.key == "refused" || w.key == "fails" })
}

// open makes the site and the agent, if they are not there yet.
func (r *run) open(ctx context.Context) error { return r.create(ctx, agents.CreateOptions{}) }

// openSite makes the site, if it is not there yet.
func (r *run) openSite(ctx context.Context) (err error) {
	if r.site == nil {
		r.site, err = r.target.open(ctx, r.world, r.definition())
	}
	return err
}

// leave gives everything back.
func (r *run) leave() error {
	r.over()
	for _, p := range r.away {
		if p.frames != nil {
			p.frames.stop()
		}
	}
	if r.frames != nil {
		r.frames.stop()
	}
	if r.site == nil {
		return nil
	}
	return r.site.close()
}

// log is the agent's log as it is now.
func (r *run) log(ctx context.Context) ([]session.Record, error) {
	var out []session.Record
	if r.book != nil {
		return r.book.log.Records(), nil
	}
	if r.agent == nil {
		return nil, nil
	}
	for rec, err := range r.agent.Log(ctx, 0) {
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	return out, nil
}

// gain is what the log gained since it was looked at.
func (r *run) gain(ctx context.Context) ([]string, error) {
	records, err := r.log(ctx)
	if err != nil {
		return nil, err
	}
	if len(records) < r.seen {
		return nil, fmt.Errorf("the log shrank from %d events to %d", r.seen, len(records))
	}
	return entries(records)[r.seen:], nil
}

// finish checks what every scenario must keep.
func (r *run) finish(ctx context.Context) error {
	if r.book != nil {
		return r.finishBook(ctx)
	}
	return errors.Join(r.finishOne(ctx), r.others(ctx))
}

func (r *run) finishOne(ctx context.Context) error {
	if r.agent == nil {
		return nil
	}
	if !r.closed {
		short, cancel := context.WithTimeout(ctx, r.patience)
		defer cancel()
		if err := r.agent.WhenIdle(short); err != nil {
			return fmt.Errorf("the agent does not become idle: %w", err)
		}
	}
	gain, err := r.gain(ctx)
	if err != nil {
		return err
	}
	if len(gain) > 0 {
		return fmt.Errorf("the log gained what nobody looked at: %s", join(gain))
	}
	for name := range r.waiters {
		return fmt.Errorf("nobody joined the waiter %s", name)
	}
	return r.invariants(ctx)
}

// oneLine makes a text of several lines one.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
