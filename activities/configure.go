package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Configure changes the recorded data of an agent: it checks the change against the definition and stores what it comes
// to. Nothing is in force before the workflow says so. It may run again: what it stores is named by its content. See
// architecture A3.12.
func (a *Activities) Configure(ctx context.Context, in work.ConfigureIn) (work.ConfigureOut, error) {
	defer a.beat(ctx, in.Ident.Session, in.ID)()
	out, err := a.configure(ctx, in)
	if err != nil {
		return work.ConfigureOut{}, a.leave(err, "configure "+in.Ident.Session)
	}
	return out, nil
}

func (a *Activities) configure(ctx context.Context, in work.ConfigureIn) (out work.ConfigureOut, err error) {
	k, err := a.enter(ctx, in.Ident)
	if err != nil {
		return out, err
	}
	out.Worker = a.worker(k, in.Ident)
	inForce, err := a.spec(ctx, in.Ident.Spec)
	if err != nil {
		return out, err
	}
	base, err := a.spec(ctx, in.Base)
	if err != nil {
		return out, err
	}
	changed, err := patched(base, in.Patch)
	if err == nil {
		err = a.checkSpec(k, changed)
	}
	if err != nil {
		out.Code, out.Message = work.ErrInvalidSpec, clip(err.Error())
		return out, nil
	}
	digest, err := a.putSpec(ctx, changed)
	if err != nil {
		return out, err
	}
	out.Recorded = recordedOf(digest, changed)
	out.Recorded.Rerouted = !sameRoute(declaredConfig(k.Definition, changed), declaredConfig(k.Definition, inForce))
	return out, nil
}

// sameRoute compares what can be declared.
func sameRoute(a, b session.CallConfig) bool {
	return a.Provider == b.Provider && a.Model == b.Model && a.ReasoningEffort == b.ReasoningEffort && a.MaxTokens == b.MaxTokens
}

// A field of the recorded data that can be changed.
type field int

const (
	whole  field = iota + 1 // a new value takes the old one's place
	merged                  // an object: its keys are changed one by one
	fixed                   // of the session, for good
)

var fields = map[string]field{
	"title": whole, "provider": whole, "model": whole, "reasoningEffort": whole, "maxTokens": whole, "sections": whole, "webhooks": whole, "budget": whole,
	"tools": whole, "clientTools": whole, "queue": whole, "params": merged, "metadata": merged, "definition": fixed, "cwd": fixed, "parent": fixed,
}

// patched is a spec with a change applied: an absent field stays, null gives it back to the definition. Fields that are
// not known here are left alone, but a change of nothing is none.
func patched(s work.Spec, patch json.RawMessage) (out work.Spec, err error) {
	var changes map[string]json.RawMessage
	if err := json.Unmarshal(patch, &changes); err != nil {
		return out, errors.New("the change is not a JSON object")
	}
	object, err := objectOf(s)
	if err != nil {
		return out, err
	}
	known := 0
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		value := changes[name]
		switch fields[name] {
		case fixed:
			return out, fmt.Errorf("%s belongs to the session and cannot be changed", name)
		case whole:
			set(object, name, value)
		case merged:
			if err := merge(object, name, value); err != nil {
				return out, fmt.Errorf("%s: %w", name, err)
			}
		default:
			continue
		}
		known++
	}
	if known == 0 {
		return out, errors.New("the change names no field of the recorded data")
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, typed(err)
	}
	return out, nil
}

// typed says which field has a value of another type.
func typed(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: a %s is no %s", wrong.Field, wrong.Value, wrong.Type)
	}
	return err
}

func objectOf(v any) (object map[string]json.RawMessage, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return object, json.Unmarshal(raw, &object)
}

func set(object map[string]json.RawMessage, name string, value json.RawMessage) {
	if isNull(value) {
		delete(object, name)
		return
	}
	object[name] = value
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// merge changes the keys of an object; null takes one away, or all.
func merge(object map[string]json.RawMessage, name string, value json.RawMessage) error {
	if isNull(value) {
		delete(object, name)
		return nil
	}
	var changes, inner map[string]json.RawMessage
	if err := json.Unmarshal(value, &changes); err != nil {
		return errors.New("not a JSON object")
	}
	if old, ok := object[name]; ok {
		if err := json.Unmarshal(old, &inner); err != nil {
			return err
		}
	}
	if inner == nil {
		inner = map[string]json.RawMessage{}
	}
	for key, v := range changes {
		set(inner, key, v)
	}
	if len(inner) == 0 {
		delete(object, name)
		return nil
	}
	raw, err := json.Marshal(inner)
	object[name] = raw
	return err
}
