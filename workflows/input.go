package workflows

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/workflow"
)

// A refusal is an act that is not applied, with the code its receipt carries.
type refusal struct {
	code string
	err  error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// input reads a signal or update. A large body is stored first. See spec §3, architecture A3.4.
func (a *agent) input(i item) (driver.Input, error) {
	if i.err != nil {
		return nil, fmt.Errorf("%s: %w", i.name, i.err)
	}
	ref := ""
	if i.slot != nil {
		ref = i.slot.ref
	}
	switch i.name {
	case signals.Followup, signals.Steer, signals.Inject, signals.SendTo:
		s, err := signals.DecodeSend(i.name, i.raw)
		if err != nil {
			return nil, err
		}
		return a.sent(ref, s)
	case signals.CancelTurn:
		c, err := signals.DecodeCancel(i.raw)
		return cancelAsked(ref, c), err
	case signals.DisposeAgent:
		d, err := signals.DecodeDispose(i.raw)
		return driver.DisposeAsked{Ref: ref, Request: d.RequestID}, err
	case signals.InboxRemove:
		r, err := signals.DecodeRemove(i.raw)
		return driver.Removed{Ref: ref, Request: r.RequestID, ID: r.ID}, err
	case signals.InboxReplace:
		r, err := signals.DecodeReplace(i.raw)
		if err != nil {
			return nil, err
		}
		return a.replaced(ref, r)
	case signals.InboxClear:
		c, err := signals.DecodeClear(i.raw)
		return driver.Cleared{Ref: ref, Request: c.RequestID}, err
	case signals.BatchActs:
		b, err := signals.DecodeBatch(i.raw)
		if err != nil {
			return nil, err
		}
		return a.batch(ref, b)
	default:
		return nil, fmt.Errorf("unknown signal %q: an agent takes %v", i.name, signals.Acts)
	}
}

func cancelAsked(ref string, c signals.Cancel) driver.Input {
	if c.Cause == nil {
		return nil
	}
	return driver.CancelAsked{Ref: ref, Request: c.RequestID, Cause: *c.Cause, KeepInbox: c.KeepInbox, Via: driver.ViaAPI, By: c.By, Text: c.Text}
}

func (a *agent) sent(ref string, s signals.Send) (driver.Input, error) {
	m, err := a.message(s)
	if err != nil {
		return nil, err
	}
	return driver.Sent{Ref: ref, Request: s.RequestID, Message: m, Bytes: s.Size(), Target: s.Target, Wakeup: s.Wakeup}, nil
}

func (a *agent) replaced(ref string, r signals.Replace) (driver.Input, error) {
	if r.With.ID == "" {
		r.With.ID = r.ID
	}
	m, err := a.message(r.With)
	if err != nil {
		return nil, err
	}
	return driver.Replaced{Ref: ref, Request: r.RequestID, ID: r.ID, Message: m, Bytes: r.With.Size()}, nil
}

// batch reads every act before any is applied.
func (a *agent) batch(ref string, b signals.Batch) (driver.Input, error) {
	out := driver.Batch{Ref: ref, Request: b.RequestID}
	for n, act := range b.Acts {
		in, err := a.act(act)
		if err != nil {
			return nil, fmt.Errorf("batch: act %d: %w", n+1, err)
		}
		out.Acts = append(out.Acts, in)
	}
	return out, nil
}

func (a *agent) act(act signals.Act) (driver.Input, error) {
	switch act.Act {
	case signals.CancelTurn:
		return cancelAsked("", *act.Cancel), nil
	case signals.InboxRemove:
		return driver.Removed{Request: act.Remove.RequestID, ID: act.Remove.ID}, nil
	case signals.InboxReplace:
		return a.replaced("", *act.Replace)
	case signals.InboxClear:
		return driver.Cleared{Request: act.Clear.RequestID}, nil
	default:
		return a.sent("", *act.Send)
	}
}

// message makes the message small: a large body is stored, and a stored one must be there for this worker too.
func (a *agent) message(s signals.Send) (session.Message, error) {
	m := s.Message("")
	if m.ID == "" {
		m.ID = a.messageID()
	}
	if s.Body == nil && s.Size() <= work.InlineLimit {
		return m, nil
	}
	blob, err := a.spill(work.SpillIn{Ident: a.ident(), Content: m.Content})
	if err != nil {
		return m, err
	}
	m.Content = session.Content{blob}
	return m, nil
}

// spill stores a body in a local activity, so that it is in the history only once: in the signal that brought it.
func (a *agent) spill(in work.SpillIn) (session.Artifact, error) {
	var out work.SpillOut
	ctx := workflow.WithLocalActivityOptions(a.ctx, localOptions("store a large message"))
	if err := workflow.ExecuteLocalActivity(ctx, work.Spill, in).Get(ctx, &out); err != nil {
		return session.Artifact{}, &refusal{driver.RefusedStore, fmt.Errorf("the message's body cannot be stored or found: %w", cause(err))}
	}
	if out.Code != "" {
		return session.Artifact{}, &refusal{out.Code, errors.New(out.Message)}
	}
	return out.Blob, nil
}

func (a *agent) ident() work.Ident {
	s := a.driver.State()
	return work.Ident{Session: s.Session, Definition: s.Definition, Epoch: s.Epoch, Store: s.Store, Spec: s.Spec}
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
