package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/session"
)

// maxFoldsPerSession keeps one busy session from filling the cache with its own past.
const maxFoldsPerSession = 4

// A foldKey names a folded log. The same events fold differently as somebody's own log and as a fork's inherited seed.
type foldKey struct {
	head Head
	seed int64
}

// A fold is a log folded into a state that nobody but the cache touches.
type fold struct {
	session string
	state   *session.State
}

// State folds the log that ends at head. It goes back only to the newest head it still has in memory, so a warm call
// costs what is new. The caller may change the returned state.
//
// A fork's header must be stored before: it says how many events were inherited. A session without header has none.
func (s *Store) State(ctx context.Context, sessionID string, head Head) (*session.State, error) {
	state, err := s.state(ctx, sessionID, head)
	if err != nil {
		return nil, fmt.Errorf("load session %q: %w", sessionID, err)
	}
	return state, nil
}

func (s *Store) state(ctx context.Context, sessionID string, head Head) (*session.State, error) {
	seed, err := s.seedLength(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	var state *session.State
	links, err := s.chain(ctx, sessionID, head, func(h Head) bool {
		state = s.cached(h, seed)
		return state != nil
	})
	if err != nil {
		return nil, err
	}
	if state == nil {
		state = session.NewSeededState(seed)
	}
	if len(links) == 0 {
		return state, nil
	}
	for i := len(links) - 1; i >= 0; i-- {
		if err := s.foldLink(ctx, sessionID, state, links[i]); err != nil {
			return nil, err
		}
		links[i].seg = nil
	}
	s.keepState(sessionID, head, seed, state.Clone())
	return state, nil
}

// foldLink folds one segment onto a state.
func (s *Store) foldLink(ctx context.Context, sessionID string, state *session.State, l link) error {
	records, err := s.linkRecords(ctx, sessionID, l, func(seg *segment) ([]session.Record, error) {
		return seg.readForFold(l.head.Count)
	})
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := skipChunks(state, r.Seq); err != nil {
			return err
		}
		if err := state.Apply(r); err != nil {
			return err
		}
	}
	return nil
}

// readForFold returns what a fold of the events below end needs. Chunks say nothing to it but that they were there, so
// they are left out, save where the time of a chunk matters: a log that ends with one, or an end of a seed after one.
func (s *segment) readForFold(end int64) ([]session.Record, error) {
	facts, err := s.readFacts()
	if err != nil {
		return nil, err
	}
	next, exact := s.First, false
	for i, r := range facts {
		if r.Seq >= end {
			facts = facts[:i]
			break
		}
		_, seed := r.Event.(session.EndSeed)
		exact = exact || seed && r.Seq > next
		next = r.Seq + 1
	}
	if next == end && !exact {
		return facts, nil
	}
	all, err := s.readAll()
	if err != nil {
		return nil, err
	}
	return all[:end-s.First], nil
}

// skipChunks moves a state past chunks up to the event at seq, as if they had been applied.
func skipChunks(state *session.State, seq int64) error {
	turn, _ := state.Turn()
	step, _ := state.Step()
	for state.Count() < seq {
		chunk := session.AssistantChunk{Turn: turn, Step: step, Chunk: session.TextDelta{}}
		if err := state.Apply(session.Record{Seq: state.Count(), Event: chunk}); err != nil {
			return err
		}
	}
	return nil
}

// cached returns a copy of the folded log at head, or nil.
func (s *Store) cached(head Head, seed int64) (state *session.State) {
	s.folds.get(foldKey{head, seed}, func(f fold) { state = f.state.Clone() })
	return state
}

// warmState folds records onto the state at base if that is in memory; otherwise it returns nil. Records that the rules
// of the log refuse are an error: they must not be written.
func (s *Store) warmState(base Head, seed int64, records []session.Record) (*session.State, error) {
	state := s.cached(base, seed)
	if base.empty() {
		state = session.NewSeededState(seed)
	}
	if state == nil {
		return nil, nil
	}
	for _, r := range records {
		if err := state.Apply(r); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// keepState gives the cache a state that the caller no longer uses.
func (s *Store) keepState(sessionID string, head Head, seed int64, state *session.State) {
	if state == nil {
		return
	}
	s.folds.trim(maxFoldsPerSession-1, func(f fold) bool { return f.session == sessionID })
	s.folds.put(foldKey{head, seed}, fold{sessionID, state})
}

// A seedOf says how many events a session inherited.
type seedOf struct {
	session string
	length  int64
	until   time.Time // from then on it is looked up again: the session may have been erased, and its id used anew
}

const seedsFor = time.Minute

// seedLength returns how many events a session inherited.
func (s *Store) seedLength(ctx context.Context, sessionID string) (int64, error) {
	var seed seedOf
	if s.seeds.get(sessionID, func(v seedOf) { seed = v }) && time.Now().Before(seed.until) {
		return seed.length, nil
	}
	h, err := s.Header(ctx, sessionID)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	s.seeds.put(sessionID, seedOf{sessionID, h.SeedLength, time.Now().Add(seedsFor)})
	return h.SeedLength, nil
}
