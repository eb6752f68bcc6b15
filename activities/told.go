package activities

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// tell tells listeners of events that an activity appended, as the workflow does of its own: at least once each. See
// spec §2.5.
func (a *Activities) tell(ctx context.Context, sessionID string, appended []session.Record) {
	if !slices.ContainsFunc(a.Definitions, func(d *plugin.Definition) bool { return len(d.Listeners) > 0 }) {
		return
	}
	failed := func(n plugin.Notice, reason any) {
		a.Log(ctx, "listener failed", "session_id", sessionID, "notice", n.Name, "panic", reason)
	}
	for _, r := range appended {
		if data, err := json.Marshal(r); err == nil { // the store has just encoded it
			plugin.Tell(a.Definitions, plugin.Notice{Session: sessionID, Name: stream.NoticeEvent, Data: data}, failed)
		}
	}
}
