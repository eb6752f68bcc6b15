package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// headObject is the object heads/<session>/<epoch>/<count>, or heads/<session>/<epoch>/<count>.<n> if an earlier one of
// the same count names another head.
type headObject struct {
	Session string `json:"session"`
	Epoch   int64  `json:"epoch"`
	Head
}

// publishedHead is what this process published last for a session.
type publishedHead struct {
	epoch int64
	head  Head
	key   string
	since int // publications since the last sweep
}

const (
	maxPublished = 4096 // sessions remembered
	sweepEvery   = 32   // publications of one session between full sweeps
	maxRivals    = 10   // heads of one epoch and count
)

func headFolder(sessionID string) string { return "heads/" + escape(sessionID) + "/" }

// headKey is the n-th key for heads of an epoch and count; keys sort as the heads do.
func headKey(sessionID string, epoch, count int64, n int) string {
	key := headFolder(sessionID) + number(epoch) + "/" + number(count)
	if n > 0 {
		key += "." + strconv.Itoa(n)
	}
	return key
}

func (p publishedHead) covers(epoch int64, head Head) bool {
	return p.epoch > epoch || p.epoch == epoch && p.head.Count > head.Count
}

// PublishHead makes a head findable by [Store.LatestHead]. The highest epoch and then the highest count win, so a late
// publication of an older head does no harm. Of heads of one epoch and count the last one wins: the others were named by
// whoever could not commit what it wrote.
func (s *Store) PublishHead(ctx context.Context, sessionID string, epoch int64, head Head) error {
	if err := s.publishHead(ctx, sessionID, epoch, head); err != nil {
		return fmt.Errorf("publish head of session %q: %w", sessionID, err)
	}
	return nil
}

func (s *Store) publishHead(ctx context.Context, sessionID string, epoch int64, head Head) error {
	if err := errors.Join(checkSession(sessionID), head.check()); err != nil {
		return err
	}
	if epoch < 0 {
		return fmt.Errorf("epoch %d is negative", epoch)
	}
	last, known := s.lastPublished(sessionID)
	if known && (last.covers(epoch, head) || last.epoch == epoch && last.head == head) {
		if s.exists(ctx, last.key) {
			return nil
		}
		s.forgetPublished(sessionID)
		known = false
	}
	key, err := s.createHead(ctx, headObject{sessionID, epoch, head})
	if err != nil {
		return err
	}
	next := publishedHead{epoch, head, key, last.since + 1}
	if !known || next.since >= sweepEvery {
		next.since = 0
		s.sweepHeads(ctx, sessionID)
	} else {
		_ = s.objects.Delete(ctx, last.key)
	}
	s.rememberPublished(sessionID, next)
	return nil
}

// exists reports whether an object is there. A head that is not was replaced by a newer one of another process, or its
// session was erased, and this head belongs to another one of its id.
func (s *Store) exists(ctx context.Context, key string) bool {
	for obj, err := range s.objects.Stats(ctx, key) {
		if err != nil || obj.Key == key {
			return err == nil
		}
	}
	return false
}

// createHead names a head under the first key that no other head of its count has.
func (s *Store) createHead(ctx context.Context, obj headObject) (key string, err error) {
	for n := range maxRivals {
		key = headKey(obj.Session, obj.Epoch, obj.Count, n)
		if err = s.createSame(ctx, "head", key, sealJSON(obj)); !errors.Is(err, ErrExists) {
			return key, err
		}
	}
	return key, err
}

func (s *Store) lastPublished(sessionID string) (publishedHead, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.published[sessionID]
	return p, ok
}

func (s *Store) forgetPublished(sessionID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.published, sessionID)
}

func (s *Store) rememberPublished(sessionID string, p publishedHead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.published[sessionID]; ok && old.covers(p.epoch, p.head) {
		return
	}
	if len(s.published) >= maxPublished {
		clear(s.published)
	}
	s.published[sessionID] = p
}

// sweepHeads removes all heads of a session but the winning one. It is only tidying up: failures do not matter.
func (s *Store) sweepHeads(ctx context.Context, sessionID string) {
	keys, err := s.keys(ctx, headFolder(sessionID))
	if err != nil || len(keys) < 2 {
		return
	}
	for _, key := range keys[:len(keys)-1] {
		_ = s.objects.Delete(ctx, key)
	}
}

// LatestHead returns the published head of the highest epoch and count, or [ErrNotFound].
func (s *Store) LatestHead(ctx context.Context, sessionID string) (epoch int64, head Head, err error) {
	obj, err := s.latestHead(ctx, sessionID)
	if err != nil {
		return 0, Head{}, fmt.Errorf("latest head of session %q: %w", sessionID, err)
	}
	return obj.Epoch, obj.Head, nil
}

func (s *Store) latestHead(ctx context.Context, sessionID string) (headObject, error) {
	if err := checkSession(sessionID); err != nil {
		return headObject{}, err
	}
	var err error
	for range 32 { // a head can be swept between list and get, but only because there is a newer one
		var keys []string
		if keys, err = s.keys(ctx, headFolder(sessionID)); err != nil {
			return headObject{}, err
		}
		if len(keys) == 0 {
			return headObject{}, ErrNotFound
		}
		var obj headObject
		if obj, err = s.readHead(ctx, keys[len(keys)-1]); !errors.Is(err, ErrNotFound) {
			return obj, err
		}
	}
	return headObject{}, err
}

func (s *Store) readHead(ctx context.Context, key string) (obj headObject, err error) {
	data, err := s.objects.Get(ctx, key)
	if err != nil {
		return obj, err
	}
	if obj, err = unsealJSON[headObject](key, data); err != nil {
		return obj, err
	}
	if stem := headKey(obj.Session, obj.Epoch, obj.Count, 0); obj.check() != nil || key != stem && !strings.HasPrefix(key, stem+".") {
		return obj, damaged(key, "it holds the head of another key", nil)
	}
	return obj, nil
}

// Sessions yields the id of every session that has a header or a published head, each once.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		seen := map[string]bool{}
		for _, root := range []string{"headers/", "heads/"} {
			for key, err := range s.objects.List(ctx, root) {
				if err != nil {
					yield("", fmt.Errorf("list sessions: %w", err))
					return
				}
				part, _, _ := strings.Cut(strings.TrimPrefix(key, root), "/")
				if seen[part] {
					continue
				}
				id, err := s.sessionOf(ctx, key, part)
				if errors.Is(err, ErrNotFound) {
					continue // swept just now; its newer head follows
				}
				seen[part] = true
				if !yield(id, err) || err != nil {
					return
				}
			}
		}
	}
}

// sessionOf returns the session an object belongs to: from its key, or from its body if the id was too long for that.
func (s *Store) sessionOf(ctx context.Context, key, part string) (string, error) {
	if id, ok := unescape(part); ok {
		return id, nil
	}
	data, err := s.objects.Get(ctx, key)
	if err != nil {
		return "", err
	}
	type owned struct {
		ID      string `json:"id"`      // of a header
		Session string `json:"session"` // of a head
	}
	body, err := unsealJSON[owned](key, data)
	id := cmp.Or(body.ID, body.Session)
	if err == nil && escape(id) != part {
		err = damaged(key, "it names another session", nil)
	}
	return id, err
}
