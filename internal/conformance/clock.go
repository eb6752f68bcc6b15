package conformance

import (
	"context"
	"errors"
	"time"
)

// parseClock reads `clock stop|go|pass DURATION`. The local engine's clock jumps to what is due when nothing else can happen;
// stopped, it lets a scenario act while somebody waits for it, and it can be moved. A server's clock is the wall's: there
// the wait must be a long one.
func parseClock(_ *setup, w *words) (act, error) {
	switch {
	case w.take("stop"):
		return quiet(func(r *run, _ context.Context) error { return r.site.power.stopClock(true) }), nil
	case w.take("go"):
		return quiet(func(r *run, _ context.Context) error { return r.site.power.stopClock(false) }), nil
	case w.take("pass"):
		d, err := parseDuration(w)
		return quiet(func(r *run, ctx context.Context) error { return r.site.power.passTime(ctx, d) }), err
	default:
		return nil, errors.New("want `clock stop`, `clock go` or `clock pass DURATION`")
	}
}

func parseDuration(w *words) (time.Duration, error) {
	word, err := w.bare("a duration")
	if err != nil {
		return 0, err
	}
	return time.ParseDuration(word)
}

func (p *localPower) stopClock(stop bool) error {
	p.engine.SetManual(stop)
	return nil
}

func (*serverPower) stopClock(bool) error { return nil }

func (p *localPower) passTime(ctx context.Context, d time.Duration) error {
	return p.engine.Advance(ctx, d)
}

func (*serverPower) passTime(context.Context, time.Duration) error { return nil }
