package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A Reader turns what callers send into inputs of the driver. Whoever carries the driver has one.
type Reader struct {
	MakeID func() string                                // the id of a message that came without one
	Ident  func() work.Ident                            // of the agent
	Spill  func(in work.SpillIn) (work.SpillOut, error) // stores a large body, or looks at a stored one
}

// A Refusal is an act that is not applied, with the code its receipt carries.
type Refusal struct {
	Code string
	Err  error
}

func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Decode reads and checks the payload of an act. The answer is one of the payload types of package signals.
func Decode(act string, raw []byte) (any, error) {
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
	case signals.InboxPromote:
		return signals.DecodePromote(raw)
	case signals.InboxReorder:
		return signals.DecodeReorder(raw)
	case signals.BatchActs:
		return signals.DecodeBatch(raw)
	case signals.Approve, signals.DenyCall:
		return signals.DecodeDecision(act, raw)
	case signals.AnswerAsked:
		return signals.DecodeAnswers(raw)
	case signals.GiveResult:
		return signals.DecodeResult(raw)
	case signals.SetPolicy:
		return signals.DecodePolicy(raw)
	case signals.PlanMode:
		return signals.DecodePlan(raw)
	case signals.MaintainAct:
		return signals.DecodeMaintain(raw)
	case signals.SpawnChild:
		return signals.DecodeSpawn(raw)
	case signals.ChildSays:
		return signals.DecodeChildNews(raw)
	case signals.ConfigureAct:
		return signals.DecodeConfigure(raw)
	case signals.RollAct:
		return signals.DecodeRoll(raw)
	default:
		return nil, fmt.Errorf("unknown signal %q: an agent takes %v", act, signals.Acts)
	}
}

// Input reads an act; ref names the caller who waits for a receipt. A large body is stored first. See spec §3,
// architecture A3.4.
func (r Reader) Input(act string, raw json.RawMessage, ref string) (driver.Input, error) {
	payload, err := Decode(act, raw)
	if err != nil {
		return nil, err
	}
	switch p := payload.(type) {
	case signals.Send:
		return r.sent(ref, p)
	case signals.Cancel:
		return cancelAsked(ref, p), nil
	case signals.Dispose:
		return driver.DisposeAsked{Ref: ref, Request: p.RequestID, Bond: p.Bond}, nil
	case signals.Remove:
		return driver.Removed{Ref: ref, Request: p.RequestID, ID: p.ID, Revision: p.Revision}, nil
	case signals.Replace:
		return r.replaced(ref, p)
	case signals.Clear:
		return driver.Cleared{Ref: ref, Request: p.RequestID, Revision: p.Revision}, nil
	case signals.Promote:
		return promoted(ref, p), nil
	case signals.Reorder:
		return reordered(ref, p), nil
	case signals.Decision:
		return decided(act, ref, p), nil
	case signals.Answers:
		return answered(ref, p)
	case signals.CallResult:
		return r.result(ref, p)
	case signals.Policy:
		return policyAsked(ref, p), nil
	case signals.Plan:
		return driver.PlanAsked{Ref: ref, Request: p.RequestID, On: p.On, By: p.By}, nil
	case signals.Spawn:
		return r.spawned(ref, p)
	case signals.ChildNews:
		return driver.ChildTold{Child: p.ID, Bond: p.Bond, Closed: p.Closed, Head: work.Head{Hash: p.Hash, Count: p.Count}}, nil
	case signals.Maintain:
		return driver.MaintainAsked{Ref: ref, Request: p.RequestID, Task: p.Task, Args: p.Args}, nil
	case signals.Configure:
		return driver.ConfigureAsked{Ref: ref, Request: p.RequestID, Patch: p.Patch()}, nil
	case signals.Roll:
		return driver.RollAsked{Ref: ref, Request: p.RequestID}, nil
	default:
		return r.batch(ref, payload.(signals.Batch))
	}
}

func cancelAsked(ref string, c signals.Cancel) driver.Input {
	return driver.CancelAsked{Ref: ref, Request: c.RequestID, Cause: *c.Cause, KeepInbox: c.KeepInbox, Via: driver.ViaAPI, By: c.By, Text: c.Text, Bond: c.Bond}
}

func (r Reader) sent(ref string, s signals.Send) (driver.Input, error) {
	m, err := r.message(s)
	if err != nil {
		return nil, err
	}
	return driver.Sent{Ref: ref, Request: s.RequestID, Message: m, Bytes: s.Size(), Target: s.Target, Wakeup: s.Wakeup,
		Interrupt: s.Overlap == signals.OverlapInterrupt, Reject: s.Overlap == signals.OverlapReject, OnlyIfIdle: s.OnlyIfIdle,
		Turn: s.ExpectedTurn}, nil
}

func promoted(ref string, p signals.Promote) driver.Input {
	return driver.Promoted{Ref: ref, Request: p.RequestID, ID: p.ID, Target: p.Target, Revision: p.Revision}
}

func reordered(ref string, r signals.Reorder) driver.Input {
	return driver.Reordered{Ref: ref, Request: r.RequestID, Target: r.Target, IDs: r.IDs, Revision: r.Revision}
}

func (r Reader) replaced(ref string, in signals.Replace) (driver.Input, error) {
	if in.With.ID == "" {
		in.With.ID = in.ID
	}
	m, err := r.message(in.With)
	if err != nil {
		return nil, err
	}
	return driver.Replaced{Ref: ref, Request: in.RequestID, ID: in.ID, Message: m, Bytes: in.With.Size(), Revision: in.Revision}, nil
}

// batch reads every act before any is applied.
func (r Reader) batch(ref string, b signals.Batch) (driver.Input, error) {
	out := driver.Batch{Ref: ref, Request: b.RequestID}
	for n, act := range b.Acts {
		in, err := r.member(act)
		if err != nil {
			return nil, fmt.Errorf("batch: act %d: %w", n+1, err)
		}
		out.Acts = append(out.Acts, in)
	}
	return out, nil
}

func (r Reader) member(act signals.Act) (driver.Input, error) {
	switch act.Act {
	case signals.CancelTurn:
		return cancelAsked("", *act.Cancel), nil
	case signals.InboxRemove:
		return driver.Removed{Request: act.Remove.RequestID, ID: act.Remove.ID, Revision: act.Remove.Revision}, nil
	case signals.InboxReplace:
		return r.replaced("", *act.Replace)
	case signals.InboxClear:
		return driver.Cleared{Request: act.Clear.RequestID, Revision: act.Clear.Revision}, nil
	case signals.InboxPromote:
		return promoted("", *act.Promote), nil
	case signals.InboxReorder:
		return reordered("", *act.Reorder), nil
	default:
		return r.sent("", *act.Send)
	}
}

// spawned makes what the child is created with complete and small. See spec §6.4.
func (r Reader) spawned(ref string, s signals.Spawn) (driver.Input, error) {
	parent := r.Ident()
	if s.ID == "" {
		s.ID = "agent-" + r.MakeID()
	}
	c := s.Create
	c.Definition = cmp.Or(c.Definition, parent.Definition)
	c.Parent, c.Owned = parent.Session, true
	if c.First != nil && c.First.Body == nil && c.First.Size() > work.InlineLimit {
		first := *c.First
		first.ID = cmp.Or(first.ID, "first") // none is made up: the child does that
		m, err := r.message(first)
		if err != nil {
			return nil, err
		}
		body := m.Content[0].(session.Artifact)
		first.ID, first.Text, first.Content, first.Body = c.First.ID, "", nil, &body
		c.First = &first
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return driver.SpawnAsked{Ref: ref, Request: s.RequestID, Child: work.Spawn{ID: s.ID, Create: raw, Follows: s.Follows}}, nil
}

// message makes the message small: a large body is stored, and a stored one must be there for this worker too.
func (r Reader) message(s signals.Send) (session.Message, error) {
	m := s.Message("")
	if m.ID == "" {
		m.ID = r.MakeID()
	}
	if s.Body == nil && s.Size() <= work.InlineLimit {
		return m, nil
	}
	out, err := r.Spill(work.SpillIn{Ident: r.Ident(), Content: m.Content})
	switch {
	case err != nil:
		return m, &Refusal{driver.RefusedStore, fmt.Errorf("the message's body cannot be stored or found: %w", err)}
	case out.Code != "":
		return m, &Refusal{out.Code, fmt.Errorf("the message is refused: %s", out.Message)}
	}
	m.Content = session.Content{out.Blob}
	return m, nil
}

// Receipt puts the driver's receipt into the words of the wire.
func Receipt(r driver.Receipt) signals.Receipt {
	out := signals.Receipt{ID: r.ID, Disposition: signals.Disposition(r.Disposition), Revision: r.Revision, Seq: r.Seq,
		Found: r.Found, Code: r.Code, Message: r.Message, Result: r.Result, Failure: r.Failure}
	for _, inner := range r.Receipts {
		out.Receipts = append(out.Receipts, Receipt(inner))
	}
	return out
}

// BirthOf is how an agent is to be born.
func BirthOf(c signals.Create) work.SetupIn {
	in := work.SetupIn{Spec: SpecOf(c)}
	if c.Resume != nil {
		in.Resume = &work.ResumeFrom{RunID: c.Resume.RunID}
	}
	if c.Fork != nil {
		in.Fork = &work.ForkFrom{Session: c.Fork.Session, At: c.Fork.At}
	}
	return in
}

// SpecOf is the recorded data that an agent is created with.
func SpecOf(c signals.Create) work.Spec {
	s := work.Spec{Definition: c.Definition, Title: c.Title, Provider: c.Provider, Model: c.Model, ReasoningEffort: c.ReasoningEffort,
		MaxTokens: c.MaxTokens, CWD: c.CWD, Parent: c.Parent, Params: c.Params, Queue: c.Queue, Metadata: c.Metadata, Budget: c.Budget}
	for _, section := range c.Sections {
		s.Sections = append(s.Sections, work.Section(section))
	}
	for _, tool := range c.ClientTools {
		s.ClientTools = append(s.ClientTools, work.ClientTool(tool))
	}
	for _, w := range c.Webhooks {
		s.Webhooks = append(s.Webhooks, work.Webhook(w))
	}
	if c.Tools != nil {
		f := work.ToolFilter(*c.Tools)
		s.Tools = &f
	}
	return s
}
