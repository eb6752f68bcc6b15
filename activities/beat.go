package activities

import (
	"context"
	"time"

	"github.com/everturn/everturn/internal/stream"
)

// beat sends heartbeats until the returned function is called: at once, regularly, and whenever the broker hints that
// the effect may have been cancelled. They carry no content. See architecture A3.9.
func (a *Activities) beat(ctx context.Context, session, effect string) (stop func()) {
	if a.Heartbeat == nil {
		return func() {}
	}
	hints, forget := a.hints(session, effect)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer forget()
		ticker := time.NewTicker(a.HeartbeatEvery)
		defer ticker.Stop()
		for {
			a.Heartbeat(ctx)
			select {
			case <-ticker.C:
			case <-hints:
			case <-done:
				return
			}
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
