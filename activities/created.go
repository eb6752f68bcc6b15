package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// announce runs the created hooks, one after another; the first failure refuses the birth. An id that is taken is
// refused before. See spec §6.1.3–5.
func (a *Activities) announce(ctx context.Context, k *kind, in work.SetupIn, header session.Header) ([]work.Act, error) {
	if len(k.Created) == 0 {
		return nil, nil
	}
	fresh := in.Resume == nil && in.Fork == nil
	if have, err := a.Store.Header(ctx, header.ID); fresh && err == nil && have != header {
		return nil, a.taken(header.ID, errors.New("its header is another one"))
	}
	key := "created/" + ownerOf(in)
	if acts, done, err := a.announced(ctx, key); done || err != nil {
		return acts, err
	}
	acts, err := a.runCreated(ctx, k, in)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(acts)
	if err != nil {
		return nil, fmt.Errorf("created hooks: %w", err)
	}
	err = a.try(ctx, quickTries, func(ctx context.Context) error { return a.Store.Done(ctx, key, data) })
	return acts, err
}

// announced is what the hooks asked for in an earlier execution of this birth.
func (a *Activities) announced(ctx context.Context, key string) (acts []work.Act, done bool, err error) {
	entry, err := a.Store.Effect(ctx, key)
	if err != nil || entry.State != store.EffectDone {
		return nil, false, err
	}
	if err := json.Unmarshal(entry.Result, &acts); err != nil {
		return nil, false, fmt.Errorf("created hooks: %w", err)
	}
	return acts, true, nil
}

func (a *Activities) runCreated(ctx context.Context, k *kind, in work.SetupIn) ([]work.Act, error) {
	acts := &collector{session: in.Ident.Session, definition: k.Name, place: fmt.Sprintf("%d", in.Ident.Epoch)}
	view := viewOf(k, in.Spec, in.Ident.Session, 0, 0)
	for i, hook := range k.Created {
		if err := hook.Run(acts.at(ctx, fmt.Sprintf("created%d", i+1)), view); err != nil {
			if stopped := a.halted(ctx); stopped != nil {
				return nil, stopped
			}
			return nil, a.refuse(work.ErrCreatedHook, fmt.Errorf("created hook %d: %w", i+1, err))
		}
	}
	return a.take(ctx, acts)
}

// Hook runs the hooks of one point of an agent's life. What they asked for is applied by the caller, also if one failed.
// See spec §4.9.4, §6.1.6.
func (a *Activities) Hook(ctx context.Context, in work.HookIn) (work.HookOut, error) {
	defer a.beat(ctx, in.Ident.Session, in.ID)()
	out, err := a.hook(ctx, in)
	if err != nil {
		return work.HookOut{}, a.leave(err, fmt.Sprintf("hooks at %s of %s", in.Point, in.Ident.Session))
	}
	return out, nil
}

func (a *Activities) hook(ctx context.Context, in work.HookIn) (work.HookOut, error) {
	k, err := a.enter(ctx, in.Ident)
	if err != nil {
		return work.HookOut{}, err
	}
	view, err := a.declaredView(ctx, k, in.Ident, in.Turn, 0)
	if err != nil {
		return work.HookOut{}, err
	}
	acts := &collector{session: in.Ident.Session, definition: k.Name, place: fmt.Sprintf("%d-%d.%d", in.Ident.Epoch, in.Turn, in.N)}
	failure := a.runHooks(ctx, k, in, plugin.Moment{View: view, N: in.N}, acts)
	if failure != nil {
		if stopped := a.halted(ctx); stopped != nil {
			return work.HookOut{}, stopped
		}
	}
	out := work.HookOut{Worker: a.worker(k, in.Ident)}
	if failure != nil {
		out.Failure = failureOf(failure)
	}
	out.Acts, err = a.take(ctx, acts)
	return out, err
}

// runHooks runs the hooks one after another. The start of a session is an announcement: there a failing one keeps none
// of the others from running.
func (a *Activities) runHooks(ctx context.Context, k *kind, in work.HookIn, m plugin.Moment, acts *collector) error {
	hooks := k.TurnStopping
	if in.Point == work.HookSessionStart {
		hooks = k.SessionStart
	}
	for i, hook := range hooks {
		err := hook.Run(acts.at(ctx, fmt.Sprintf("%s%d", in.Point, i+1)), m)
		switch {
		case err == nil:
		case in.Point == work.HookSessionStart:
			a.Log(ctx, "hook failed", "session_id", in.Ident.Session, "point", in.Point, "hook", i+1, "error", err)
		default:
			return fmt.Errorf("%s hook %d: %w", in.Point, i+1, err)
		}
	}
	return nil
}
