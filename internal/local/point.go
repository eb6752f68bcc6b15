package local

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A Point is a place that an activity passes. As a pattern, an empty field matches everything.
type Point struct {
	Name     string // see below; the points of package activities and of [At] keep their names
	Session  string
	Activity string // a name of package work, or "task": the agent's inputs are handled
	Effect   string // id of the effect; of a task, the name of the input
	Mode     string // work.StepSettle and work.ToolSettle
	Tool     string

	Turn, Step, Attempt, Execution int
}

// The points of the engine itself.
const (
	pointStart   = "activity/start"  // a worker has taken the activity
	pointAnswer  = "activity/answer" // it is about to answer
	pointHandled = "task/handled"    // the driver has decided; nothing is committed
	activityTask = "task"
)

func taskPoint(a *agent, i item) Point {
	return Point{Session: a.ID, Activity: activityTask, Effect: i.Name}
}

func (p Point) matches(q Point) bool {
	text := func(want, have string) bool { return want == "" || want == have }
	number := func(want, have int) bool { return want == 0 || want == have }
	return text(p.Name, q.Name) && text(p.Session, q.Session) && text(p.Activity, q.Activity) && text(p.Effect, q.Effect) &&
		text(p.Mode, q.Mode) && text(p.Tool, q.Tool) &&
		number(p.Turn, q.Turn) && number(p.Step, q.Step) && number(p.Attempt, q.Attempt) && number(p.Execution, q.Execution)
}

// compare orders points so that a choice among them can be repeated.
func (p Point) compare(q Point) int {
	if c := strings.Compare(p.Session, q.Session); c != 0 {
		return c
	}
	if c := strings.Compare(p.Effect, q.Effect); c != 0 {
		return c
	}
	if c := p.Execution - q.Execution; c != 0 {
		return c
	}
	return strings.Compare(p.Name, q.Name)
}

// A rule says what happens at points.
type rule struct {
	pattern Point
	skip    int           // matches to let pass first
	strike  func(*Worker) // happens to the worker, once
	hold    *Hold
}

// At passes a named point of an activity's code; tools and gates of tests call it. It returns when nothing holds the
// activity there, with the error of ctx if that has ended. Outside of an engine it does nothing else.
func At(ctx context.Context, name string) error {
	if s, ok := spotOf(ctx); ok {
		if err := s.thread.engine.pass(ctx, s, name); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Probe is At for activities.Config: it fails only if the worker is dead.
func Probe(ctx context.Context, point, _ string, _, _, _ int) error {
	s, ok := spotOf(ctx)
	if !ok {
		return nil
	}
	return s.thread.engine.pass(ctx, s, point)
}

// visit passes one of the engine's own points.
func (e *Engine) visit(ctx context.Context, name string) error {
	s, _ := spotOf(ctx)
	return e.pass(ctx, s, name)
}

// pass does what the rules say. Its error says that the worker is dead.
func (e *Engine) pass(ctx context.Context, s spot, name string) error {
	p := s.point
	p.Name = name
	e.mu.Lock()
	r := e.ruleAt(p)
	switch {
	case s.thread.dead != nil || r == nil:
	case r.strike != nil:
		e.rules = slices.DeleteFunc(slices.Clone(e.rules), func(other *rule) bool { return other == r })
		e.mu.Unlock()
		r.strike(s.thread.worker)
		e.mu.Lock()
	default:
		e.stand(ctx, &stand{thread: s.thread, point: p, hold: r.hold})
	}
	defer e.mu.Unlock()
	return s.thread.dead
}

func (e *Engine) ruleAt(p Point) *rule {
	for _, r := range e.rules {
		switch {
		case !r.pattern.matches(p):
		case r.skip > 0:
			r.skip--
		default:
			return r
		}
	}
	return nil
}

// KillAt kills the worker whose activity is the n-th to pass a matching point, once. n counts from 1.
func (e *Engine) KillAt(p Point, n int) { e.strikeAt(p, n, (*Worker).Kill) }

// CutOffAt cuts the worker off whose activity is the n-th to pass a matching point, once; see [Worker.CutOff].
func (e *Engine) CutOffAt(p Point, n int) { e.strikeAt(p, n, (*Worker).CutOff) }

func (e *Engine) strikeAt(p Point, n int, strike func(*Worker)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rules = append(e.rules, &rule{pattern: p, skip: n - 1, strike: strike})
}

// A stand is a goroutine that waits for a release or for the clock.
type stand struct {
	thread *thread
	point  Point
	hold   *Hold
	due    time.Time // of a sleeper
	gate   chan struct{}
	n      int64
}

// stand waits. The caller holds the lock, and holds it again afterwards.
func (e *Engine) stand(ctx context.Context, s *stand) {
	if ctx.Err() != nil && (s.hold == nil || !s.hold.firm) || e.closed {
		return
	}
	e.stands++
	s.gate, s.n = make(chan struct{}), e.stands
	e.standing = append(e.standing, s)
	s.thread.pause()
	e.announce()
	done := ctx.Done()
	if s.hold != nil && s.hold.firm {
		done = nil
	}
	e.mu.Unlock()
	select {
	case <-s.gate:
	case <-done:
	}
	e.mu.Lock()
	e.leave(s)
}

// leave lets a goroutine go on, once. The caller holds the lock.
func (e *Engine) leave(s *stand) {
	n := slices.Index(e.standing, s)
	if n < 0 {
		return
	}
	e.standing = slices.Delete(slices.Clone(e.standing), n, n+1)
	close(s.gate)
	s.thread.resume()
}

// free lets the goroutines of a thread go on; those that stand firm only if all do. The caller holds the lock.
func (e *Engine) free(t *thread, all bool) {
	for _, s := range e.standing {
		if s.thread == t && (all || s.hold == nil || !s.hold.firm) {
			e.leave(s)
		}
	}
}
