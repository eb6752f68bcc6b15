package plugin

import (
	"context"
	"encoding/json"

	"github.com/everturn/everturn/session"
)

// A CreatedHook takes part in an agent's birth. Hooks run one after another; the first failure undoes the creation, and
// the id is free again. What a hook sends is queued until the agent is born. See spec §6.1.5.
type CreatedHook func(ctx context.Context, v View) error

// Run runs the hook; its panic is an error.
func (h CreatedHook) Run(ctx context.Context, v View) error {
	_, err := contain(func() (struct{}, error) { return struct{}{}, h(ctx, v) })
	return err
}

// A Moment is a point of an agent's life at which hooks run.
type Moment struct {
	View View
	N    int // how often the point was reached in this turn, from 1
}

// A Hook runs at a [Moment]. It acts on its agent through [AgentFrom]; a hook that objects to the end of a turn steers
// or injects, so the order of hooks cannot matter. A failure at the end of a turn fails the turn; one at the session's
// start affects nothing. See spec §4.9.4, §6.1.6.
type Hook func(ctx context.Context, m Moment) error

// Run runs the hook; its panic is an error.
func (h Hook) Run(ctx context.Context, m Moment) error {
	m.View = copyView(m.View)
	_, err := contain(func() (struct{}, error) { return struct{}{}, h(ctx, m) })
	return err
}

// A MaintenanceTask works on an idle agent's log. ctx ends when it is cancelled. Its result is encoded as JSON; result
// and failure reach the caller unchanged. It may run again if its worker dies: what an execution appended counts only if
// its answer was heard, so nothing is appended twice. See spec §3.6.
type MaintenanceTask func(ctx context.Context, in Maintenance) (result any, err error)

// Run runs the task; its panic is an error.
func (t MaintenanceTask) Run(ctx context.Context, in Maintenance) (any, error) {
	return contain(func() (any, error) { return t(ctx, in) })
}

// Maintenance is what a [MaintenanceTask] is given.
type Maintenance struct {
	View View
	Args json.RawMessage // of the caller
	Log  MaintenanceLog
}

// A MaintenanceLog is the log of the agent under maintenance. What is appended is written when the task ends.
type MaintenanceLog interface {
	// State is the fold of the log with what was appended so far. Read it; do not keep it.
	State() *session.State
	// Append logs events; messages join the surface at its tail. A refusal is a [*session.RuleError] and changes nothing.
	Append(events ...session.Event) error
	// Replace logs a message in the place of the surface nodes from seq start to seq end, both included.
	Replace(start, end int64, e session.Event) error
}
