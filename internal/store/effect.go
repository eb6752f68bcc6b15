package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// An EffectState says how far an effect is known to have come.
type EffectState string

// The states of an effect.
const (
	EffectNone    EffectState = "none"    // it was never started
	EffectStarted EffectState = "started" // it was started; whether it happened is unknown
	EffectDone    EffectState = "done"    // it happened, and this is its result
)

// An EffectEntry is what the ledger knows of an effect. Result is set when it is done.
type EffectEntry struct {
	State  EffectState
	Result []byte
}

func effectKey(kind, key string) string { return "effects/" + kind + "/" + escape(key) }

// Started records that an effect is about to start. first is false if that was recorded before: then the effect may
// have happened, and must not be repeated. It is false, too, for the repetition of a call whose error hid its success.
func (s *Store) Started(ctx context.Context, key string) (first bool, err error) {
	return s.StartedAs(ctx, key, nil)
}

// StartedAs is [Store.Started] with a note, which [Store.StartedEffects] returns.
func (s *Store) StartedAs(ctx context.Context, key string, note []byte) (first bool, err error) {
	if key == "" {
		return false, errors.New("effect: key is empty")
	}
	err = s.objects.Create(ctx, effectKey("started", key), sealJSON(StartedEffect{Key: key, Note: note}))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrExists):
		return false, nil
	default:
		return false, fmt.Errorf("record start of effect %q: %w", key, err)
	}
}

// A StartedEffect is an effect that was started, and the note that was made then.
type StartedEffect struct {
	Key  string `json:"key"`
	Note []byte `json:"note,omitempty"`
}

// StartedEffects returns the effects whose key begins with a prefix, in the order of their keys. An effect whose key is
// too long to be part of an object's name is not found.
func (s *Store) StartedEffects(ctx context.Context, prefix string) ([]StartedEffect, error) {
	keys, err := s.keys(ctx, effectKey("started", prefix))
	if err != nil {
		return nil, fmt.Errorf("started effects: %w", err)
	}
	var out []StartedEffect
	for _, key := range keys {
		e, err := s.startedEffect(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("started effects: %w", err)
		}
		if strings.HasPrefix(e.Key, prefix) {
			out = append(out, e)
		}
	}
	return out, nil
}

// StartNote returns the note of an effect that was started.
func (s *Store) StartNote(ctx context.Context, key string) (note []byte, started bool, err error) {
	e, err := s.startedEffect(ctx, effectKey("started", key))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("look up effect %q: %w", key, err)
	}
	return e.Note, true, nil
}

func (s *Store) startedEffect(ctx context.Context, object string) (e StartedEffect, err error) {
	data, err := s.objects.Get(ctx, object)
	if err != nil {
		return e, err
	}
	if e, err = unsealJSON[StartedEffect](object, data); err == nil {
		return e, nil
	}
	key, err := unseal(object, data) // an older version wrote only the key
	return StartedEffect{Key: string(key)}, err
}

// Done records the result of an effect. The same result again is fine, another one is a [*ConflictError].
func (s *Store) Done(ctx context.Context, key string, result []byte) error {
	if key == "" {
		return errors.New("effect: key is empty")
	}
	return s.createSame(ctx, fmt.Sprintf("result of effect %q", key), effectKey("done", key), seal(result))
}

// Effect returns what is known of an effect. Of a result that is damaged it is only known that the effect was started.
func (s *Store) Effect(ctx context.Context, key string) (EffectEntry, error) {
	sealed, err := s.objects.Get(ctx, effectKey("done", key))
	if err == nil {
		if result, err := unseal(effectKey("done", key), sealed); err == nil {
			return EffectEntry{State: EffectDone, Result: result}, nil
		}
		return EffectEntry{State: EffectStarted}, nil
	}
	if errors.Is(err, ErrNotFound) {
		_, err = s.objects.Get(ctx, effectKey("started", key))
		if err == nil {
			return EffectEntry{State: EffectStarted}, nil
		}
	}
	if errors.Is(err, ErrNotFound) {
		return EffectEntry{State: EffectNone}, nil
	}
	return EffectEntry{}, fmt.Errorf("look up effect %q: %w", key, err)
}
