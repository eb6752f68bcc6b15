package workflows

import (
	"encoding/json"
	"errors"
	"fmt"

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
