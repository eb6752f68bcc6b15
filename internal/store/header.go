package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/session"
)

func headerKey(sessionID string) string { return "headers/" + escape(sessionID) }

// PutHeader stores the header of a session. It is immutable: the same one again is fine, a different one is a
// [*ConflictError]. See spec §2.2.
func (s *Store) PutHeader(ctx context.Context, h session.Header) error {
	if err := checkSession(h.ID); err != nil {
		return fmt.Errorf("put header: %w", err)
	}
	s.forget(h.ID)
	err := s.createSame(ctx, fmt.Sprintf("header of session %q", h.ID), headerKey(h.ID), sealJSON(h))
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	if have, readErr := s.Header(ctx, h.ID); readErr == nil && have == h {
		return nil // written by a version that spells it differently
	}
	return err
}

// Header returns the header of a session, or [ErrNotFound].
func (s *Store) Header(ctx context.Context, sessionID string) (h session.Header, err error) {
	if err := checkSession(sessionID); err != nil {
		return h, err
	}
	data, err := s.objects.Get(ctx, headerKey(sessionID))
	if err != nil {
		return h, fmt.Errorf("header of session %q: %w", sessionID, err)
	}
	h, err = unsealJSON[session.Header](headerKey(sessionID), data)
	if err == nil && h.ID != sessionID {
		err = damaged(headerKey(sessionID), "it is the header of another session", nil)
	}
	return h, err
}
