package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/session"
)

// Hydrate puts stored bodies back in the places of what stands for them: message content and arguments of tool calls
// that were too large for the workflow. Records without such a body are returned as they are; records is not changed.
// See architecture A3.4.
func (s *Store) Hydrate(ctx context.Context, records []session.Record) ([]session.Record, error) {
	out := slices.Clone(records)
	for i, r := range records {
		e, err := s.hydrateEvent(ctx, r.Event)
		if err != nil {
			return nil, fmt.Errorf("event %d %s: %w", r.Seq, r.Event.Type(), err)
		}
		if e != nil { // a new record: one that was read keeps its bytes
			out[i] = session.Record{Seq: r.Seq, Time: r.Time, Event: e, Surface: r.Surface, Sources: r.Sources, Ignorable: r.Ignorable}
		}
	}
	return out, nil
}

// hydrateEvent returns nil if nothing is to be put back.
func (s *Store) hydrateEvent(ctx context.Context, e session.Event) (session.Event, error) {
	switch e := e.(type) {
	case session.InboxSpliced:
		inserted, changed, err := s.hydrateMessages(ctx, e.Inserted)
		e.Inserted = inserted
		return orNil(changed, e), err
	case session.UserMessage:
		m, changed, err := s.hydrateMessage(ctx, e.Message)
		return orNil(changed, session.UserMessage{Message: m}), err
	case session.ToolResult:
		m, changed, err := s.hydrateMessage(ctx, e.Message)
		e.Message = m
		return orNil(changed, e), err
	case session.ToolCall:
		return s.hydrateCall(ctx, e)
	}
	return nil, nil
}

func orNil(changed bool, e session.Event) session.Event {
	if changed {
		return e
	}
	return nil
}

func (s *Store) hydrateCall(ctx context.Context, e session.ToolCall) (session.Event, error) {
	if e.ArgumentsBlob == nil {
		return nil, nil
	}
	text, err := s.Blob(ctx, e.ArgumentsBlob.SHA256)
	if err != nil {
		return nil, fmt.Errorf("arguments of call %s: %w", e.CallID, err)
	}
	e.Arguments, e.ArgumentsBlob = string(text), nil
	return e, nil
}

func (s *Store) hydrateMessages(ctx context.Context, in []session.Message) (out []session.Message, changed bool, err error) {
	out = slices.Clone(in)
	for i, m := range in {
		full, ok, err := s.hydrateMessage(ctx, m)
		if err != nil {
			return nil, false, err
		}
		out[i], changed = full, changed || ok
	}
	return out, changed, nil
}

func (s *Store) hydrateMessage(ctx context.Context, m session.Message) (session.Message, bool, error) {
	content, changed, err := s.hydrateContent(ctx, m.Content)
	if err != nil {
		return m, false, fmt.Errorf("message %s: %w", m.ID, err)
	}
	m.Content = content
	return m, changed, nil
}

func (s *Store) hydrateContent(ctx context.Context, in session.Content) (out session.Content, changed bool, err error) {
	out = make(session.Content, 0, len(in))
	for _, b := range in {
		full, ok, err := s.hydrateBlock(ctx, b)
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

func (s *Store) hydrateBlock(ctx context.Context, b session.Block) (session.Content, bool, error) {
	switch b := b.(type) {
	case session.Artifact:
		if b.MediaType == session.StoredContent {
			full, err := s.Content(ctx, b)
			return full, true, err
		}
	case session.ToolResultBlock:
		full, changed, err := s.hydrateContent(ctx, b.Content)
		b.Content = full
		return session.Content{b}, changed, err
	}
	return session.Content{b}, false, nil
}

// ErrNotContent says that what is stored is not message content.
var ErrNotContent = errors.New("it is not message content")

// Content reads message content that was set aside.
func (s *Store) Content(ctx context.Context, ref session.Artifact) (session.Content, error) {
	data, err := s.Blob(ctx, ref.SHA256)
	if err != nil {
		return nil, fmt.Errorf("stored content: %w", err)
	}
	var c session.Content
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("stored content %s: %w: %w", ref.SHA256, ErrNotContent, err)
	}
	return c, nil
}
