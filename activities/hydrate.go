package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Hydrate puts stored bodies back in the places of the artifacts that stand for them: message content and arguments of
// tool calls that were too large for the workflow. Records without such a body are returned as they are. See
// architecture A3.4.
func Hydrate(ctx context.Context, st *store.Store, records []session.Record) ([]session.Record, error) {
	h := hydrator{ctx: ctx, store: st}
	out := slices.Clone(records)
	for i, r := range records {
		e, err := h.event(r.Event)
		if err != nil {
			return nil, fmt.Errorf("event %d %s: %w", r.Seq, r.Event.Type(), err)
		}
		if e != nil { // a new record: one that was read keeps its bytes
			out[i] = session.Record{Seq: r.Seq, Time: r.Time, Event: e, Surface: r.Surface, Sources: r.Sources, Ignorable: r.Ignorable}
		}
	}
	return out, nil
}

// A hydrator returns nil where nothing is to be put back.
type hydrator struct {
	ctx   context.Context // of one call
	store *store.Store
}

func (h hydrator) event(e session.Event) (session.Event, error) {
	switch e := e.(type) {
	case session.InboxSpliced:
		inserted, changed, err := h.messages(e.Inserted)
		e.Inserted = inserted
		return orNil(changed, e), err
	case session.UserMessage:
		m, changed, err := h.message(e.Message)
		return orNil(changed, session.UserMessage{Message: m}), err
	case session.ToolResult:
		m, changed, err := h.message(e.Message)
		e.Message = m
		return orNil(changed, e), err
	case session.ToolCall:
		return h.call(e)
	}
	return nil, nil
}

func orNil(changed bool, e session.Event) session.Event {
	if changed {
		return e
	}
	return nil
}

func (h hydrator) call(e session.ToolCall) (session.Event, error) {
	if e.ArgumentsBlob == nil {
		return nil, nil
	}
	text, err := h.store.Blob(h.ctx, e.ArgumentsBlob.SHA256)
	if err != nil {
		return nil, fmt.Errorf("arguments of call %s: %w", e.CallID, err)
	}
	e.Arguments, e.ArgumentsBlob = string(text), nil
	return e, nil
}

func (h hydrator) messages(in []session.Message) (out []session.Message, changed bool, err error) {
	out = slices.Clone(in)
	for i, m := range in {
		full, ok, err := h.message(m)
		if err != nil {
			return nil, false, err
		}
		out[i], changed = full, changed || ok
	}
	return out, changed, nil
}

func (h hydrator) message(m session.Message) (session.Message, bool, error) {
	content, changed, err := h.content(m.Content)
	if err != nil {
		return m, false, fmt.Errorf("message %s: %w", m.ID, err)
	}
	m.Content = content
	return m, changed, nil
}

func (h hydrator) content(in session.Content) (out session.Content, changed bool, err error) {
	out = make(session.Content, 0, len(in))
	for _, b := range in {
		full, ok, err := h.block(b)
		if err != nil {
			return nil, false, err
		}
		out, changed = append(out, full...), changed || ok
	}
	if !changed {
		return in, false, nil
	}
	return out, true, nil
}

func (h hydrator) block(b session.Block) (session.Content, bool, error) {
	switch b := b.(type) {
	case session.Artifact:
		if b.MediaType == work.ContentMediaType {
			full, err := loadContent(h.ctx, h.store, b)
			return full, true, err
		}
	case session.ToolResultBlock:
		full, changed, err := h.content(b.Content)
		b.Content = full
		return session.Content{b}, changed, err
	}
	return session.Content{b}, false, nil
}

// errNotContent: what is stored is not message content.
var errNotContent = errors.New("it is not message content")

// loadContent reads message content that was set aside by [storeContent].
func loadContent(ctx context.Context, st *store.Store, ref session.Artifact) (session.Content, error) {
	data, err := st.Blob(ctx, ref.SHA256)
	if err != nil {
		return nil, fmt.Errorf("stored content: %w", err)
	}
	var c session.Content
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("stored content %s: %w: %w", ref.SHA256, errNotContent, err)
	}
	return c, nil
}

// storeContent sets message content aside.
func (a *Activities) storeContent(ctx context.Context, c session.Content) (ref session.Artifact, err error) {
	data, err := json.Marshal(c)
	if err != nil {
		return ref, fmt.Errorf("store content: %w", err)
	}
	err = a.try(ctx, quickTries, func(ctx context.Context) error {
		ref, err = a.Store.PutBlob(ctx, data, work.ContentMediaType)
		return err
	})
	return ref, err
}

// inline returns content that fits into an answer: itself, or one block that stands for it.
func (a *Activities) inline(ctx context.Context, c session.Content) (session.Content, error) {
	data, err := json.Marshal(c)
	if err != nil || len(data) <= work.InlineLimit {
		return c, err
	}
	ref, err := a.storeContent(ctx, c)
	if err != nil {
		return nil, err
	}
	return session.Content{ref}, nil
}
