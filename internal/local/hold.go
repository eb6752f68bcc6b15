package local

import (
	"context"
	"slices"
)

// A Hold makes activities stand at a point.
type Hold struct {
	engine *Engine
	firm   bool
}

// HoldAt makes every activity that passes a matching point stand there until it is released or its context ends.
func (e *Engine) HoldAt(p Point) *Hold { return e.holdAt(p, false) }

// PinAt is HoldAt for activities that do not listen: a cancel does not release them, only the death of their worker does.
func (e *Engine) PinAt(p Point) *Hold { return e.holdAt(p, true) }

func (e *Engine) holdAt(p Point, firm bool) *Hold {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := &Hold{engine: e, firm: firm}
	e.rules = append(e.rules, &rule{pattern: p, hold: h})
	return h
}

// Release ends the hold: who stands there goes on, and nobody stands there any more.
func (h *Hold) Release() {
	e := h.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	e.jumps = 0
	e.rules = slices.DeleteFunc(slices.Clone(e.rules), func(r *rule) bool { return r.hold == h })
	for _, s := range e.standing {
		if s.hold == h {
			e.leave(s)
		}
	}
}

// Step lets the one go that has stood longest, and reports whether there was one.
func (h *Hold) Step() bool {
	e := h.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.standing {
		if s.hold == h {
			e.leave(s)
			return true
		}
	}
	return false
}

// Wait returns when at least n activities stand there.
func (h *Hold) Wait(ctx context.Context, n int) error {
	return h.engine.wait(ctx, func() bool { return h.count() >= n })
}

// count is the number of activities that stand there. The caller holds the lock.
func (h *Hold) count() int {
	n := 0
	for _, s := range h.engine.standing {
		if s.hold == h {
			n++
		}
	}
	return n
}

// Held returns where activities stand, in an order that does not depend on chance.
func (e *Engine) Held() []Point {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Point
	for _, s := range e.heldInOrder() {
		out = append(out, s.point)
	}
	return out
}

// StepHeld lets the n-th of [Engine.Held] go.
func (e *Engine) StepHeld(n int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if held := e.heldInOrder(); n < len(held) {
		e.leave(held[n])
		return true
	}
	return false
}

func (e *Engine) heldInOrder() []*stand {
	var held []*stand
	for _, s := range e.standing {
		if s.hold != nil {
			held = append(held, s)
		}
	}
	slices.SortStableFunc(held, func(a, b *stand) int { return a.point.compare(b.point) })
	return held
}
