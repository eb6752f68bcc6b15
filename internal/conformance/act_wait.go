package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// parseIdle reads `idle`, which waits, and `idle now`, which asks once.
func parseIdle(_ *setup, w *words) (act, error) {
	if w.take("now") {
		return quiet((*run).idleNow), nil
	}
	return quiet((*run).idle), nil
}

func (r *run) idle(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	err := r.agent.WhenIdle(short)
	r.settled = err == nil
	return err
}

func (r *run) idleNow(ctx context.Context) error {
	idle, err := r.isIdle(ctx)
	if err == nil && !idle {
		err = errors.New("the agent is not idle")
	}
	r.settled = err == nil
	return err
}

func (r *run) isIdle(ctx context.Context) (bool, error) {
	var out signals.Idle
	err := r.site.client.Backend.Query(ctx, r.agent.ID(), signals.QueryWhenIdle, signals.WhenIdle{}, &out)
	return out.Idle, err
}

// parseWait reads `wait NAME`: a caller waits for idle while the scenario goes on.
func parseWait(_ *setup, w *words) (act, error) {
	name, err := w.bare("the name of the waiter")
	return quiet(func(r *run, ctx context.Context) error {
		done := make(chan error, 1)
		r.waiters[name] = done
		go func() { done <- r.agent.WhenIdle(ctx) }()
		return nil
	}), err
}

// parseJoin reads `join NAME`: the waiter must come back.
func parseJoin(_ *setup, w *words) (act, error) {
	name, err := w.bare("the name of the waiter")
	return quiet(func(r *run, ctx context.Context) error {
		done := r.waiters[name]
		if done == nil {
			return fmt.Errorf("nobody waits as %s", name)
		}
		delete(r.waiters, name)
		short, cancel := context.WithTimeout(ctx, r.patience)
		defer cancel()
		select {
		case err := <-done:
			r.settled = err == nil
			return err
		case <-short.Done():
			return fmt.Errorf("the waiter %s does not come back", name)
		}
	}), err
}

// holdName reads the name of a hold that the scenario has.
func (s *setup) holdName(w *words) (string, error) {
	name, err := w.bare("the name of a hold")
	if err == nil && !s.holds[name] && !s.pauses[name] && !s.holds["CALL"] {
		err = fmt.Errorf("the scenario has no hold %q", name)
	}
	return name, err
}

// parseUntil reads `until HOLD`: somebody stands there.
func parseUntil(s *setup, w *words) (act, error) {
	name, err := s.holdName(w)
	return quiet(func(r *run, ctx context.Context) error {
		short, cancel := context.WithTimeout(ctx, r.patience)
		defer cancel()
		if err := r.until(short, name); err != nil {
			return fmt.Errorf("nobody arrives: %w", err)
		}
		return nil
	}), err
}

func (r *run) until(ctx context.Context, name string) error {
	if g, ok := r.storeHolds.Load(name); ok {
		select {
		case <-g.(*storetest.Gate).Arrived():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if r.owns(name) {
		return r.yard.until(ctx, name)
	}
	return r.probes.Wait(ctx, name)
}

// parseRelease reads `release HOLD`: who stands there longest goes on.
func parseRelease(s *setup, w *words) (act, error) {
	name, err := s.holdName(w)
	return quiet(func(r *run, _ context.Context) error {
		g, ok := r.storeHolds.Load(name)
		switch {
		case ok:
			g.(*storetest.Gate).Release()
		case r.owns(name):
			r.yard.release(name)
		default:
			r.probes.Release(name)
		}
		return nil
	}), err
}

// dispose ends the agent.
func (r *run) dispose(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	err := r.agent.Dispose(short)
	r.closed, r.settled = err == nil, err == nil
	return err
}

// parseConfigure reads `configure cap N`: a worker is set up anew with it, as from a text in which it stands.
func parseConfigure(_ *setup, w *words) (act, error) {
	if !w.take("cap") {
		return nil, errors.New("want `configure cap N`")
	}
	number, err := w.value("the cap")
	return quiet(func(r *run, ctx context.Context) error {
		d := r.definition()
		var n int
		if err := json.Unmarshal(number, &n); err != nil {
			return err
		}
		if err := d.LimitParallelTools(n); err != nil {
			return err
		}
		s, err := r.target.open(ctx, r.world, d)
		if err != nil {
			return err
		}
		return s.close()
	}), err
}

// parseFault reads `fail|hold OPERATION PREFIX` …: `fail create blobs/ [TIMES]`, `hold create heads/ NAME`.
func parseFault(s *setup, w *words) (act, error) {
	kind, err := w.bare("fail or hold")
	if err != nil {
		return nil, err
	}
	var m storetest.Match
	if m.Op, err = w.bare("an operation of the store"); err != nil {
		return nil, err
	}
	if m.Prefix, err = w.bare("the beginning of the keys"); err != nil {
		return nil, err
	}
	switch kind {
	case "fail":
		times := storetest.Always
		if !w.done() {
			times, err = w.number("how often")
		}
		return quiet(func(r *run, _ context.Context) error { r.faults.Fail(m, storetest.ErrDown, times); return nil }), err
	case "hold":
		name, err := w.bare("the name of the hold")
		s.holds[name] = true
		return quiet(func(r *run, _ context.Context) error { r.storeHolds.Store(name, r.faults.Block(m)); return nil }), err
	default:
		return nil, fmt.Errorf("unknown fault %q: want fail or hold", kind)
	}
}

// mend ends all faults of the store.
func (r *run) mend(context.Context) error {
	r.faults.Clear()
	return nil
}

// parseRebuild folds the given log.
func parseRebuild(s *setup, _ *words) (act, error) {
	if len(s.given) == 0 {
		return nil, errors.New("the scenario has no line `given:`")
	}
	return quiet(func(r *run, _ context.Context) error {
		records, err := session.ParseLog([]byte(strings.Join(r.given, "\n") + "\n"))
		if err == nil {
			_, err = session.Fold(0, records)
		}
		return err
	}), nil
}
