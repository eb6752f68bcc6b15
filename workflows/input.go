package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"go.temporal.io/sdk/workflow"
)

// input reads a signal or update.
func (a *agent) input(i item) (driver.Input, error) {
	if i.err != nil {
		return nil, fmt.Errorf("%s: %w", i.name, i.err)
	}
	ref := ""
	if i.slot != nil {
		ref = i.slot.ref
	}
	reader := Reader{MakeID: a.messageID, Ident: a.ident, Spill: a.spill}
	if i.slot == nil && a.driver.State().Rules >= rulesPatient {
		reader.Spill = a.spillInTheEnd
	}
	return reader.Input(i.name, i.raw, ref)
}

// spill stores or looks at a body in a local activity, so that it is in the history only once: in the signal that
// brought it.
func (a *agent) spill(in work.SpillIn) (out work.SpillOut, err error) {
	ctx := workflow.WithLocalActivityOptions(a.ctx, localOptions("store a large message"))
	if err := workflow.ExecuteLocalActivity(ctx, work.Spill, in).Get(ctx, &out); err != nil {
		return out, cause(err)
	}
	return out, nil
}

// rulesPatient is the behaviour version from which on a signal waits for the store.
const rulesPatient = 3

// SpillPause is how long a signal waits before its body is stored again after the n-th try; not ok after a day of tries.
func SpillPause(n int) (pause time.Duration, ok bool) {
	return min(5*time.Second<<min(n-1, 10), 5*time.Minute), n < 300
}

// spillInTheEnd is spill for a signal. A caller who waits is told that the store refused, and sends again; who sent a
// signal was told that it is durable. So it waits for the store, and what came after it waits behind it.
func (a *agent) spillInTheEnd(in work.SpillIn) (out work.SpillOut, err error) {
	defer func() { a.blocked = "" }()
	for n := 1; ; n++ {
		pause, again := SpillPause(n)
		if out, err = a.spill(in); err == nil || !again {
			return out, err
		}
		a.blocked = "the store, to take a message's body: " + short(err.Error())
		a.details()
		if err := workflow.NewTimerWithOptions(a.ctx, pause, workflow.TimerOptions{Summary: "store refused a message's body: try again"}).Get(a.ctx, nil); err != nil {
			return out, err
		}
	}
}

func (a *agent) ident() work.Ident {
	s := a.driver.State()
	return work.Ident{Session: s.Session, Definition: s.Definition, Epoch: s.Epoch, Store: s.Store, Spec: s.Spec, Rules: s.Rules, Manifest: s.Manifest.Digest}
}

// cause unwraps the error an activity returned from what the SDK puts around it.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// rawArgs is how an update's payload arrives.
type rawArgs = json.RawMessage
