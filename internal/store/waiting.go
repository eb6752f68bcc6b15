package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// The index of what waits for somebody outside: waiting/asked/<session>/<epoch>/<id> while it waits, and
// waiting/ended/<session>/<epoch>/<id> from its end on, until the garbage is collected. Who says which comes first does
// not matter: whoever finds both takes the former away. It is the only pointer that is deleted outside of a collection.
const (
	askedFolder = kindWaiting + "/asked/"
	endedFolder = kindWaiting + "/ended/"
)

// A Waiting is a call that waits for somebody outside.
type Waiting struct {
	Session    string `json:"session"`
	Epoch      int64  `json:"epoch"`
	ID         string `json:"id"` // what a decision or an answer names
	Kind       string `json:"kind"`
	Definition string `json:"definition"`
	Title      string `json:"title,omitempty"`
	Parent     string `json:"parent,omitempty"`
	Turn       int    `json:"turn"`
	CallID     string `json:"callId"`
	Tool       string `json:"tool"`
	Reason     string `json:"reason,omitempty"`
	Digest     string `json:"digest,omitempty"`
	SinceMS    int64  `json:"sinceMs"`
	DueMS      int64  `json:"dueMs,omitempty"`
}

// waitEnded is the object of a wait that is over.
type waitEnded struct {
	Session string `json:"session"`
}

func waitPlace(sessionID string, epoch int64, id string) string {
	return escape(sessionID) + "/" + number(epoch) + "/" + escape(id)
}

// Asked notes that a call waits. Noting it again is fine; after its end, or for a session that was erased or goes on in a
// higher epoch, it changes nothing.
func (s *Store) Asked(ctx context.Context, w Waiting) error {
	if err := s.current(ctx, w.Session, w.Epoch); err != nil {
		return outdated(err)
	}
	place := waitPlace(w.Session, w.Epoch, w.ID)
	err := s.objects.Create(ctx, askedFolder+place, sealJSON(w))
	if err != nil && !errors.Is(err, ErrExists) {
		return fmt.Errorf("note that call %s of session %q waits: %w", w.ID, w.Session, err)
	}
	_, err = s.objects.Get(ctx, endedFolder+place)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("see whether call %s of session %q still waits: %w", w.ID, w.Session, err)
	}
	return s.objects.Delete(ctx, askedFolder+place)
}

// WaitEnded notes that a call waits no longer. It may come before [Store.Asked].
func (s *Store) WaitEnded(ctx context.Context, sessionID string, epoch int64, id string) error {
	if err := s.current(ctx, sessionID, epoch); err != nil {
		return outdated(err)
	}
	place := waitPlace(sessionID, epoch, id)
	err := s.objects.Create(ctx, endedFolder+place, sealJSON(waitEnded{sessionID}))
	if err == nil || errors.Is(err, ErrExists) {
		err = s.objects.Delete(ctx, askedFolder+place)
	}
	if err != nil {
		return fmt.Errorf("note that call %s of session %q waits no longer: %w", id, sessionID, err)
	}
	return nil
}

// current fails unless the epoch is the session's highest.
func (s *Store) current(ctx context.Context, sessionID string, epoch int64) error {
	if err := s.CheckEpoch(ctx, sessionID, epoch); err != nil {
		return err
	}
	_, err := s.HighestEpoch(ctx, sessionID)
	return err
}

// outdated lets pass that the session is gone, or goes on in another epoch.
func outdated(err error) error {
	if errors.Is(err, ErrFenced) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Waiting yields what waits, in no order that means anything. It asks nobody but the store: an agent that was terminated
// waits here until it is resumed, erased or its garbage is collected.
func (s *Store) Waiting(ctx context.Context) iter.Seq2[Waiting, error] {
	return func(yield func(Waiting, error) bool) {
		epochs := epochCache{s: s}
		for key, err := range s.objects.List(ctx, askedFolder) {
			var w Waiting
			counts := false
			if err == nil {
				w, counts, err = s.waiting(ctx, key, &epochs)
			}
			if err != nil {
				yield(Waiting{}, fmt.Errorf("list what waits: %w", err))
				return
			}
			if counts && !yield(w, nil) {
				return
			}
		}
	}
}

// waiting reads one entry and reports whether it counts.
func (s *Store) waiting(ctx context.Context, key string, epochs *epochCache) (w Waiting, counts bool, err error) {
	data, err := s.objects.Get(ctx, key)
	if errors.Is(err, ErrNotFound) { // it ended meanwhile
		return w, false, nil
	}
	if err == nil {
		w, err = unsealJSON[Waiting](key, data)
	}
	if err != nil {
		return w, false, err
	}
	if strings.TrimPrefix(key, askedFolder) != waitPlace(w.Session, w.Epoch, w.ID) {
		return w, false, damaged(key, "it is about another call", nil)
	}
	highest, err := epochs.of(ctx, w.Session)
	return w, err == nil && highest == w.Epoch, err
}

// An epochCache knows the highest epoch of the session that was asked for last: entries come session by session.
type epochCache struct {
	s       *Store
	session string
	highest int64
}

func (c *epochCache) of(ctx context.Context, sessionID string) (int64, error) {
	if c.session == sessionID {
		return c.highest, nil
	}
	highest, _, err := c.s.highestEpoch(ctx, sessionID)
	if err == nil {
		c.session, c.highest = sessionID, highest
	}
	return highest, err
}

// waits finds entries of the index that nobody needs: what ended, and what waited in an agent that is not there any more.
func (p *Plan) waits(b *belongings, m Memory) {
	for _, obj := range b.waits {
		if strings.HasPrefix(obj.Key, endedFolder) || !m.Open {
			p.drop(obj)
		}
	}
}
