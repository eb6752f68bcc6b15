package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// fall lets a listener fail where the scenario says so: of a notice, or of an event of a turn such as `step/end 2`.
func (w *world) fall(n plugin.Notice) {
	for _, what := range []string{n.Name, eventOf(n)} {
		if w.panics[what] {
			w.gateLog.add("listener", what)
			panic("the scenario lets the listener of " + what + " fail")
		}
	}
}

// eventOf names the boundary that a session/event notice tells of, with its turn.
func eventOf(n plugin.Notice) string {
	var r session.Record
	if n.Name != stream.NoticeEvent || json.Unmarshal(n.Data, &r) != nil {
		return ""
	}
	var turn int
	switch e := r.Event.(type) {
	case session.TurnStart:
		turn = e.Turn
	case session.StepStart:
		turn = e.Turn
	case session.StepEnd:
		turn = e.Turn
	case session.TurnEnd:
		turn = e.Turn
	default:
		return ""
	}
	return fmt.Sprintf("%s %d", r.Event.Type(), turn)
}
