package signals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/everturn/everturn/session"
)

// decode reads a payload strictly enough to tell a person what is wrong with it. An empty payload is the zero value.
func decode[T any](act string, raw []byte) (T, error) {
	var v T
	raw = bytes.TrimSpace(raw)
	if !utf8.Valid(raw) {
		return v, fmt.Errorf("%s: the payload is not valid UTF-8", act)
	}
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s: the payload is not what the act takes: %w", act, err)
	}
	return v, nil
}

// DecodeSend reads the payload of followup, steer, inject and send: an object, or just the text as a JSON string.
func DecodeSend(act string, raw []byte) (Send, error) {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '"' {
		text, err := decode[string](act, raw)
		if err != nil {
			return Send{}, err
		}
		return normal(act, Send{Text: text})
	}
	s, err := decode[Send](act, raw)
	if err != nil {
		return Send{}, err
	}
	return normal(act, s)
}

// normal fills in what the act says and checks the rest.
func normal(act string, s Send) (Send, error) {
	switch act {
	case Followup:
		s.Target, s.Wakeup = session.NextTurn, true
	case Steer:
		s.Target, s.Wakeup = session.NextStep, true
	case Inject:
		s.Target, s.Wakeup = session.NextStep, false
	}
	return s.overlapped(), s.Validate(act)
}

// Validate names the first field that is wrong and how to mend it.
func (s Send) Validate(act string) error {
	if err := s.overlaps(act); err != nil {
		return err
	}
	s = s.overlapped()
	bodies := 0
	for _, set := range []bool{s.Text != "", len(s.Content) > 0, s.Body != nil} {
		if set {
			bodies++
		}
	}
	switch {
	case bodies != 1:
		return fmt.Errorf("%s: set exactly one of text, content and body (%d are set)", act, bodies)
	case s.Target != session.NextTurn && s.Target != session.NextStep:
		return fmt.Errorf("%s: target is %q: use %s or %s", act, s.Target, session.NextTurn, session.NextStep)
	case s.ID != "" && !session.ValidID(s.ID):
		return fmt.Errorf("%s: id must be 1–200 characters without control characters", act)
	case s.RequestID != "" && !session.ValidID(s.RequestID):
		return fmt.Errorf("%s: requestId must be 1–200 characters without control characters", act)
	case s.Body != nil && (s.Body.SHA256 == "" || s.Body.Bytes > MaxBody):
		return fmt.Errorf("%s: body must name a stored object of at most %d bytes", act, MaxBody)
	case standsForBody(s.Content):
		return fmt.Errorf("%s: content must not hold an artifact of type %s: use body", act, session.StoredContent)
	case !utf8.ValidString(s.Text):
		return fmt.Errorf("%s: text is not valid UTF-8", act)
	}
	if n := s.Size(); s.Body == nil && n > MaxRaw {
		return fmt.Errorf("%s: the message is %d bytes; at most %d fit into a signal: store it first, or send a file name", act, n, MaxRaw)
	}
	return s.loggable(act)
}

// loggable refuses what the log would: content or a source that is not lossless JSON. On the wire it would be mended
// silently. See spec §3.1.3.
func (s Send) loggable(act string) error {
	if len(s.Content) == 0 && s.Source == nil {
		return nil
	}
	if _, err := (session.Inbox{}).Insert(s.Target, s.Message("new")); err != nil {
		return fmt.Errorf("%s: %w", act, err)
	}
	return nil
}

// standsForBody reports a block that would be taken for a stored body.
func standsForBody(c session.Content) bool {
	for _, b := range c {
		if a, ok := b.(session.Artifact); ok && a.MediaType == session.StoredContent {
			return true
		}
	}
	return false
}

// Size is the size of the body in bytes, wherever it is.
func (s Send) Size() int {
	if s.Body != nil {
		return int(s.Body.Bytes)
	}
	if s.Text != "" {
		return len(s.Text)
	}
	raw, err := json.Marshal(s.Content)
	if err != nil {
		return 0
	}
	return len(raw)
}

// Message is the message of the act; id is used if the caller gave none.
func (s Send) Message(id string) session.Message {
	m := session.Message{ID: s.ID, Role: session.RoleUser, Content: s.Content, Source: session.Source{Kind: session.SourceUser}}
	if m.ID == "" {
		m.ID = id
	}
	if s.Text != "" {
		m.Content = session.TextContent(s.Text)
	}
	if s.Body != nil {
		body := *s.Body
		body.MediaType = session.StoredContent
		m.Content = session.Content{body}
	}
	if s.Source != nil {
		m.Source = *s.Source
	}
	return m
}

// DecodeCancel reads the payload of cancel: an object, a cause as a JSON string, or nothing.
func DecodeCancel(raw []byte) (Cancel, error) {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '"' {
		kind, err := decode[string](CancelTurn, raw)
		if err != nil {
			return Cancel{}, err
		}
		return Cancel{Cause: &session.Cause{Kind: session.CauseKind(kind)}}.normal()
	}
	c, err := decode[Cancel](CancelTurn, raw)
	if err != nil {
		return Cancel{}, err
	}
	return c.normal()
}

func (c Cancel) normal() (Cancel, error) {
	if c.Cause == nil {
		c.Cause = &session.Cause{Kind: session.CauseUser}
	}
	return c, c.Validate()
}

// Validate says whether the cause is one a caller may give; none means the user.
func (c Cancel) Validate() error {
	if c.Cause == nil {
		return nil
	}
	switch c.Cause.Kind {
	case session.CauseUser, session.CauseParent, session.CauseHook:
		return nil
	default:
		return fmt.Errorf("cancel: cause %q is unknown: use user, parent or hook (to end the agent, use dispose)", c.Cause.Kind)
	}
}

// DecodeDispose reads the payload of dispose.
func DecodeDispose(raw []byte) (Dispose, error) { return decode[Dispose](DisposeAgent, raw) }

// DecodeRemove reads the payload of inbox.remove: an object, or just the id as a JSON string.
func DecodeRemove(raw []byte) (Remove, error) {
	var r Remove
	var err error
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '"' {
		r.ID, err = decode[string](InboxRemove, raw)
	} else {
		r, err = decode[Remove](InboxRemove, raw)
	}
	if err == nil && r.ID == "" {
		err = fmt.Errorf("%s: id is missing", InboxRemove)
	}
	return r, err
}

// DecodeReplace reads the payload of inbox.replace.
func DecodeReplace(raw []byte) (Replace, error) {
	r, err := decode[Replace](InboxReplace, raw)
	if err != nil {
		return r, err
	}
	if r.ID == "" {
		return r, fmt.Errorf("%s: id is missing", InboxReplace)
	}
	return r.normal()
}

// normal checks the message; the place of the old one decides where it goes.
func (r Replace) normal() (Replace, error) {
	r.With.Target = session.NextTurn
	return r, r.With.Validate(InboxReplace)
}

// DecodePromote reads the payload of inbox.promote: an object, or just the id as a JSON string.
func DecodePromote(raw []byte) (Promote, error) {
	var p Promote
	var err error
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '"' {
		p.ID, err = decode[string](InboxPromote, raw)
	} else {
		p, err = decode[Promote](InboxPromote, raw)
	}
	if err != nil {
		return p, err
	}
	return p, p.validate()
}

func (p Promote) validate() error {
	if p.ID == "" {
		return fmt.Errorf("%s: id is missing", InboxPromote)
	}
	return listOrNone(InboxPromote, p.Target)
}

// DecodeReorder reads the payload of inbox.reorder: an object, or just the ids as a JSON list.
func DecodeReorder(raw []byte) (Reorder, error) {
	var r Reorder
	var err error
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '[' {
		r.IDs, err = decode[[]string](InboxReorder, raw)
	} else {
		r, err = decode[Reorder](InboxReorder, raw)
	}
	if err != nil {
		return r, err
	}
	return r, r.validate()
}

// MaxReorder bounds the ids of a reorder: there are never more messages pending.
const MaxReorder = 1000

func (r Reorder) validate() error {
	if len(r.IDs) == 0 || len(r.IDs) > MaxReorder {
		return fmt.Errorf("%s: ids must have 1–%d entries, got %d", InboxReorder, MaxReorder, len(r.IDs))
	}
	seen := map[string]bool{}
	for i, id := range r.IDs {
		if !session.ValidID(id) || seen[id] {
			return fmt.Errorf("%s: id %d must be 1–200 characters without control characters, and named once", InboxReorder, i+1)
		}
		seen[id] = true
	}
	return listOrNone(InboxReorder, r.Target)
}

func listOrNone(act, target string) error {
	if target == "" || target == session.NextTurn || target == session.NextStep {
		return nil
	}
	return fmt.Errorf("%s: target is %q: use %s or %s, or leave it out", act, target, session.NextTurn, session.NextStep)
}

// DecodeClear reads the payload of inbox.clear.
func DecodeClear(raw []byte) (Clear, error) { return decode[Clear](InboxClear, raw) }

// DecodeRoll reads the payload of roll.
func DecodeRoll(raw []byte) (Roll, error) { return decode[Roll](RollAct, raw) }

// DecodeMaintain reads the payload of maintain: an object, or just the task as a JSON string.
func DecodeMaintain(raw []byte) (Maintain, error) {
	var m Maintain
	var err error
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '"' {
		m.Task, err = decode[string](MaintainAct, raw)
	} else {
		m, err = decode[Maintain](MaintainAct, raw)
	}
	switch {
	case err != nil:
	case m.Task == "":
		err = fmt.Errorf("%s: task is missing", MaintainAct)
	case len(m.Args) > MaxInline:
		err = fmt.Errorf("%s: args are %d bytes; at most %d are taken", MaintainAct, len(m.Args), MaxInline)
	}
	return m, err
}

// MaxCreate bounds what a child is created with, in bytes.
const MaxCreate = 16 << 10

// DecodeSpawn reads the payload of spawn: an object, or just the child's first message as a JSON string.
func DecodeSpawn(raw []byte) (Spawn, error) {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '"' {
		text, err := decode[string](SpawnChild, raw)
		if err != nil {
			return Spawn{}, err
		}
		return Spawn{Create: Create{First: &Send{Text: text}}}.normal()
	}
	s, err := decode[Spawn](SpawnChild, raw)
	if err != nil {
		return s, err
	}
	return s.normal()
}

// normal fills in what the act says and checks the rest.
func (s Spawn) normal() (Spawn, error) {
	c := s.Create
	switch {
	case s.ID != "" && !session.ValidID(s.ID):
		return s, fmt.Errorf("%s: id must be 1–200 characters without control characters", SpawnChild)
	case c.Parent != "" || c.Owned || c.Reports || c.Bond != "":
		return s, fmt.Errorf("%s: create.parent, owned, reports and bond are set by the parent itself: leave them out", SpawnChild)
	case c.Resume != nil || c.Fork != nil:
		return s, fmt.Errorf("%s: a child is a new session: resume and fork are no part of it", SpawnChild)
	}
	if c.First != nil {
		first, err := normal(Followup, *c.First)
		if err != nil {
			return s, fmt.Errorf("%s: create.first: %w", SpawnChild, err)
		}
		s.Create.First = &first
		c.First = nil
	}
	if size, err := json.Marshal(c); err != nil || len(size) > MaxCreate {
		return s, fmt.Errorf("%s: create takes %d bytes, more than %d", SpawnChild, len(size), MaxCreate)
	}
	return s, nil
}

// DecodeChildNews reads what a child says.
func DecodeChildNews(raw []byte) (ChildNews, error) {
	n, err := decode[ChildNews](ChildSays, raw)
	if err == nil && n.ID == "" {
		err = fmt.Errorf("%s: id is missing", ChildSays)
	}
	return n, err
}

// MaxBatch bounds the acts of a batch.
const MaxBatch = 100

// DecodeBatch reads the payload of batch; every act in it is checked.
func DecodeBatch(raw []byte) (Batch, error) {
	b, err := decode[Batch](BatchActs, raw)
	if err != nil {
		return b, err
	}
	if len(b.Acts) == 0 || len(b.Acts) > MaxBatch {
		return b, fmt.Errorf("batch: acts must have 1–%d entries, got %d", MaxBatch, len(b.Acts))
	}
	for i := range b.Acts {
		if err := b.Acts[i].normal(); err != nil {
			return b, fmt.Errorf("batch: act %d: %w", i+1, err)
		}
	}
	return b, nil
}

// normal checks one act of a batch and fills in its defaults.
func (a *Act) normal() error {
	switch a.Act {
	case Followup, Steer, Inject, SendTo:
		if a.Send == nil {
			return fmt.Errorf("%s: send is missing", a.Act)
		}
		s, err := normal(a.Act, *a.Send)
		a.Send = &s
		return err
	case CancelTurn:
		c := Cancel{}
		if a.Cancel != nil {
			c = *a.Cancel
		}
		c, err := c.normal()
		a.Cancel = &c
		return err
	case InboxRemove:
		if a.Remove == nil || a.Remove.ID == "" {
			return fmt.Errorf("%s: remove.id is missing", a.Act)
		}
	case InboxReplace:
		if a.Replace == nil || a.Replace.ID == "" {
			return fmt.Errorf("%s: replace.id is missing", a.Act)
		}
		r, err := a.Replace.normal()
		a.Replace = &r
		return err
	case InboxPromote:
		if a.Promote == nil {
			return fmt.Errorf("%s: promote is missing", a.Act)
		}
		return a.Promote.validate()
	case InboxReorder:
		if a.Reorder == nil {
			return fmt.Errorf("%s: reorder is missing", a.Act)
		}
		return a.Reorder.validate()
	case InboxClear:
		if a.Clear == nil {
			a.Clear = &Clear{}
		}
	default:
		return fmt.Errorf("unknown act %q", a.Act)
	}
	return nil
}
