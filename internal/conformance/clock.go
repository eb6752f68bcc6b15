package conformance

import (
	"context"
	"errors"
)

// parseClock reads `clock stop|go`. The local engine's clock jumps to what is due when nothing else can happen; stopped, it
// lets a scenario act while somebody waits for it. A server's clock is the wall's: there the wait must be a long one.
func parseClock(_ *setup, w *words) (act, error) {
	switch {
	case w.take("stop"):
		return quiet(func(r *run, _ context.Context) error { return r.site.power.stopClock(true) }), nil
	case w.take("go"):
		return quiet(func(r *run, _ context.Context) error { return r.site.power.stopClock(false) }), nil
	default:
		return nil, errors.New("want `clock stop` or `clock go`")
	}
}

func (p *localPower) stopClock(stop bool) error {
	p.engine.SetManual(stop)
	return nil
}

func (*serverPower) stopClock(bool) error { return nil }
