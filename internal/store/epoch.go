package store

import (
	"context"
	"errors"
	"fmt"
)

// epochClaim is the object epochs/<session>/<epoch>.
type epochClaim struct {
	Session string `json:"session"`
	Epoch   int64  `json:"epoch"`
	Owner   string `json:"owner"`
}

func epochFolder(sessionID string) string { return "epochs/" + escape(sessionID) + "/" }

// ClaimEpoch claims an epoch of a session for an owner. Claiming it again as the same owner is fine. An epoch that
// belongs to another owner, or lies below a claimed one, is a [*FencedError].
func (s *Store) ClaimEpoch(ctx context.Context, sessionID string, epoch int64, owner string) error {
	if err := s.CheckEpoch(ctx, sessionID, epoch); err != nil {
		return err
	}
	claim := epochClaim{sessionID, epoch, owner}
	key := epochFolder(sessionID) + number(epoch)
	err := s.objects.Create(ctx, key, sealJSON(claim))
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrExists) {
		return fmt.Errorf("claim epoch %d of session %q: %w", epoch, sessionID, err)
	}
	have, err := s.claim(ctx, key)
	if err != nil {
		return err
	}
	if have.Owner != owner {
		return &FencedError{Session: sessionID, Epoch: epoch, Claimed: epoch, Owner: have.Owner}
	}
	return nil
}

// CheckEpoch returns a [*FencedError] if a higher epoch of the session is claimed. Call it before a write and before
// an effect starts.
func (s *Store) CheckEpoch(ctx context.Context, sessionID string, epoch int64) error {
	if err := checkSession(sessionID); err != nil {
		return err
	}
	if epoch < 0 {
		return fmt.Errorf("session %q: epoch %d is negative", sessionID, epoch)
	}
	highest, key, err := s.highestEpoch(ctx, sessionID)
	if err != nil {
		return fmt.Errorf("check epoch %d of session %q: %w", epoch, sessionID, err)
	}
	if highest <= epoch {
		return nil
	}
	have, err := s.claim(ctx, key)
	if err != nil {
		return err
	}
	return &FencedError{Session: sessionID, Epoch: epoch, Claimed: highest, Owner: have.Owner}
}

// highestEpoch returns the highest claimed epoch and its object, or -1.
func (s *Store) highestEpoch(ctx context.Context, sessionID string) (int64, string, error) {
	keys, err := s.keys(ctx, epochFolder(sessionID))
	if err != nil || len(keys) == 0 {
		return -1, "", err
	}
	last := keys[len(keys)-1]
	epoch, err := lastNumber(last)
	return epoch, last, err
}

// HighestEpoch returns the highest claimed epoch of a session, or [ErrNotFound].
func (s *Store) HighestEpoch(ctx context.Context, sessionID string) (int64, error) {
	epoch, _, err := s.highestEpoch(ctx, sessionID)
	if err == nil && epoch < 0 {
		err = ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("highest epoch of session %q: %w", sessionID, err)
	}
	return epoch, nil
}

func (s *Store) claim(ctx context.Context, key string) (c epochClaim, err error) {
	data, err := s.objects.Get(ctx, key)
	if err != nil {
		return c, fmt.Errorf("read epoch: %w", err)
	}
	return unsealJSON[epochClaim](key, data)
}
