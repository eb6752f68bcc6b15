package local

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A refusal is an act that is not applied, with the code its receipt carries.
type refusal struct {
	code string
	err  error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// decode reads and checks the payload of an act. The answer is one of the payload types of package signals.
func decode(act string, raw []byte) (any, error) {
	switch act {
	case signals.Followup, signals.Steer, signals.Inject, signals.SendTo:
		return signals.DecodeSend(act, raw)
	case signals.CancelTurn:
		return signals.DecodeCancel(raw)
	case signals.DisposeAgent:
		return signals.DecodeDispose(raw)
	case signals.InboxRemove:
		return signals.DecodeRemove(raw)
	case signals.InboxReplace:
		return signals.DecodeReplace(raw)
	case signals.InboxClear:
		return signals.DecodeClear(raw)
	case signals.BatchActs:
		return signals.DecodeBatch(raw)
	default:
		return nil, fmt.Errorf("unknown act %q: an agent takes %v", act, signals.Acts)
	}
}

// act turns an act into an input; a large body is stored first. See architecture A3.4.
func (k *task) act(i item) (driver.Input, error) {
	payload, err := decode(i.Name, i.Raw)
	if err != nil {
		return nil, err
	}
	switch p := payload.(type) {
	case signals.Send:
		return k.sent(i.Ref, p)
	case signals.Cancel:
		return cancelAsked(i.Ref, p), nil
	case signals.Dispose:
		return driver.DisposeAsked{Ref: i.Ref, Request: p.RequestID}, nil
	case signals.Remove:
		return driver.Removed{Ref: i.Ref, Request: p.RequestID, ID: p.ID}, nil
	case signals.Replace:
		return k.replaced(i.Ref, p)
	case signals.Clear:
		return driver.Cleared{Ref: i.Ref, Request: p.RequestID}, nil
	default:
		return k.batch(i.Ref, payload.(signals.Batch))
	}
}

func cancelAsked(ref string, c signals.Cancel) driver.Input {
	return driver.CancelAsked{Ref: ref, Request: c.RequestID, Cause: *c.Cause, KeepInbox: c.KeepInbox, Via: driver.ViaAPI, By: c.By, Text: c.Text}
}

func (k *task) sent(ref string, s signals.Send) (driver.Input, error) {
	m, err := k.message(s)
	if err != nil {
		return nil, err
	}
	return driver.Sent{Ref: ref, Request: s.RequestID, Message: m, Bytes: s.Size(), Target: s.Target, Wakeup: s.Wakeup}, nil
}

func (k *task) replaced(ref string, r signals.Replace) (driver.Input, error) {
	if r.With.ID == "" {
		r.With.ID = r.ID
	}
	m, err := k.message(r.With)
	if err != nil {
		return nil, err
	}
	return driver.Replaced{Ref: ref, Request: r.RequestID, ID: r.ID, Message: m, Bytes: r.With.Size()}, nil
}

// batch reads every act before any is applied.
func (k *task) batch(ref string, b signals.Batch) (driver.Input, error) {
	out := driver.Batch{Ref: ref, Request: b.RequestID}
	for n, act := range b.Acts {
		in, err := k.member(act)
		if err != nil {
			return nil, fmt.Errorf("batch: act %d: %w", n+1, err)
		}
		out.Acts = append(out.Acts, in)
	}
	return out, nil
}

func (k *task) member(act signals.Act) (driver.Input, error) {
	switch act.Act {
	case signals.CancelTurn:
		return cancelAsked("", *act.Cancel), nil
	case signals.InboxRemove:
		return driver.Removed{Request: act.Remove.RequestID, ID: act.Remove.ID}, nil
	case signals.InboxReplace:
		return k.replaced("", *act.Replace)
	case signals.InboxClear:
		return driver.Cleared{Request: act.Clear.RequestID}, nil
	default:
		return k.sent("", *act.Send)
	}
}

// message makes the message small: a large body is stored, and a stored one must be there for this worker too.
func (k *task) message(s signals.Send) (session.Message, error) {
	m := s.Message("")
	if m.ID == "" {
		m.ID = k.messageID()
	}
	if s.Body == nil && s.Size() <= work.InlineLimit {
		return m, nil
	}
	blob, err := k.spill(work.SpillIn{Ident: k.ident(), Content: m.Content})
	if err != nil {
		return m, err
	}
	m.Content = session.Content{blob}
	return m, nil
}

// messageID makes up the id of a message that came without one; it is unique in the agent's life.
func (k *task) messageID() string {
	k.engine.mu.Lock()
	defer k.engine.mu.Unlock()
	k.agent.Made++
	return fmt.Sprintf("in-%s-%d", k.agent.ID, k.agent.Made)
}

func (k *task) ident() work.Ident {
	k.restore()
	s := k.driver.State()
	return work.Ident{Session: s.Session, Definition: s.Definition, Epoch: s.Epoch, Store: s.Store, Spec: s.Spec}
}

// receipt puts the driver's receipt into the words of the wire.
func receipt(r driver.Receipt) signals.Receipt {
	out := signals.Receipt{ID: r.ID, Disposition: signals.Disposition(r.Disposition), Revision: r.Revision, Seq: r.Seq,
		Found: r.Found, Code: r.Code, Message: r.Message}
	for _, inner := range r.Receipts {
		out.Receipts = append(out.Receipts, receipt(inner))
	}
	return out
}

func specOf(c signals.Create) work.Spec {
	return work.Spec{Definition: c.Definition, Title: c.Title, Provider: c.Provider, Model: c.Model,
		ReasoningEffort: c.ReasoningEffort, MaxTokens: c.MaxTokens, CWD: c.CWD, Parent: c.Parent}
}

// answerOf decodes what an activity answered.
func answerOf[T any](i item) (out T) {
	if i.Lost != "" {
		return out
	}
	if err := json.Unmarshal(i.Raw, &out); err != nil {
		panic(fmt.Sprintf("local: answer of %s %s: %v", i.Name, i.ID, err)) // it was written by this package
	}
	return out
}
