package store

import (
	"context"
	"errors"
	"fmt"
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
	if key == "" {
		return false, errors.New("effect: key is empty")
	}
	err = s.objects.Create(ctx, effectKey("started", key), seal([]byte(key)))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrExists):
		return false, nil
	default:
		return false, fmt.Errorf("record start of effect %q: %w", key, err)
	}
}

// Done records the result of an effect. The same result again is fine, another one is a [*ConflictError].
func (s *Store) Done(ctx context.Context, key string, result []byte) error {
	if key == "" {
		return errors.New("effect: key is empty")
	}
	return s.createSame(ctx, fmt.Sprintf("result of effect %q", key), effectKey("done", key), seal(result))
}

// Effect returns what is known of an effect.
func (s *Store) Effect(ctx context.Context, key string) (EffectEntry, error) {
	sealed, err := s.objects.Get(ctx, effectKey("done", key))
	if err == nil {
		result, err := unseal(effectKey("done", key), sealed)
		return EffectEntry{State: EffectDone, Result: result}, err
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
