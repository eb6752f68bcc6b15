package local

import (
	"context"
	"time"

	"github.com/everturn/everturn/internal/driver"
)

// Now is the virtual clock.
func (e *Engine) Now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

// Advance moves the clock by d, firing what is due on the way in order; between two firings everything settles.
func (e *Engine) Advance(ctx context.Context, d time.Duration) error {
	target := e.Now().Add(d)
	for {
		if err := e.Settled(ctx); err != nil {
			return err
		}
		e.mu.Lock()
		more := e.active > 0 || e.fireNext(target)
		if !more && e.now.Before(target) {
			e.now = target
		}
		e.mu.Unlock()
		if !more {
			return e.Settled(ctx)
		}
	}
}

// SetManual says whether only Advance moves the clock.
func (e *Engine) SetManual(manual bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.manual = manual
	e.settle()
}

// An alarm is what is due next.
type alarm struct {
	due  time.Time
	fire func()
}

// fireNext moves the clock to what is due next and lets it happen. It reports false if nothing is due until limit; the
// zero limit means ever. The caller holds the lock.
func (e *Engine) fireNext(limit time.Time) bool {
	var next *alarm
	for _, a := range e.alarms() {
		if next == nil || a.due.Before(next.due) {
			next = &a
		}
	}
	if next == nil || !limit.IsZero() && next.due.After(limit) {
		return false
	}
	if next.due.After(e.now) {
		e.now = next.due
	}
	next.fire()
	return true
}

// alarms are all things that wait for the clock, those of equal time in a fixed order.
func (e *Engine) alarms() []alarm {
	var out []alarm
	for _, a := range e.runs {
		for n, t := range a.Timers {
			out = append(out, alarm{time.UnixMilli(t.Due).UTC(), func() {
				a.Timers = append(a.Timers[:n:n], a.Timers[n+1:]...)
				e.push(a, item{Name: itemTimer, ID: t.ID})
			}})
		}
		for _, fx := range a.Effects {
			if fx.Due > 0 {
				out = append(out, alarm{time.UnixMilli(fx.Due).UTC(), func() { e.redo(a, fx) }})
			}
		}
	}
	for _, s := range e.standing {
		if !s.due.IsZero() {
			out = append(out, alarm{s.due, func() { e.leave(s) }})
		}
	}
	return out
}

// redo executes an effect once more, unless it took too long.
func (e *Engine) redo(a *agent, fx *effect) {
	fx.Due = 0
	if fx.expired(e.now) {
		e.lose(a, fx, driver.LostExhausted, "", "the activity failed for too long")
		return
	}
	e.dispatch(a, fx)
}

// Sleep waits on the virtual clock of the engine that ctx belongs to, and on the real one outside of an engine. It
// returns early with the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	s, ok := spotOf(ctx)
	if !ok {
		return sleep(ctx, d)
	}
	e := s.thread.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.thread.dead == nil {
		e.stand(ctx, &stand{thread: s.thread, point: s.point, due: e.now.Add(d)})
	}
	if s.thread.dead != nil {
		return s.thread.dead
	}
	return ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
