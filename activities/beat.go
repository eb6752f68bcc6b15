package activities

import (
	"context"
	"time"

	"github.com/everturn/everturn/internal/stream"
)

// hintedEvery is the pause after the first heartbeat that a hint asked for; each further one is twice as long. The hint is
// given while the workflow task runs that cancels the effect: the server may not have heard of it yet.
const hintedEvery = 25 * time.Millisecond

// firstBeat is when the first heartbeat is sent: what is done by then costs none, and what was cancelled before its hint could
// be heard learns it soon.
const firstBeat = 250 * time.Millisecond

// beat sends heartbeats until the returned function is called: soon, then regularly, and for a while in quick succession
// whenever the broker hints that the effect may have been cancelled. They carry no content. See architecture A3.9.
func (a *Activities) beat(ctx context.Context, session, effect string) (stop func()) {
	if a.Heartbeat == nil {
		return func() {}
	}
	hints, forget := a.hints(session, effect)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer forget()
		pause, next := min(firstBeat, a.HeartbeatEvery), a.HeartbeatEvery
		timer := time.NewTimer(pause)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
				pause, next = next, min(2*next, a.HeartbeatEvery)
			case <-hints:
				pause = min(hintedEvery, a.HeartbeatEvery)
				next = min(2*pause, a.HeartbeatEvery)
			case <-done:
				return
			}
			a.Heartbeat(ctx)
			timer.Reset(pause)
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (a *Activities) hints(session, effect string) (hints <-chan struct{}, forget func()) {
	if h, ok := a.Broker.(stream.Hinter); ok && effect != "" {
		return h.OnHint(session, effect)
	}
	return nil, func() {}
}
