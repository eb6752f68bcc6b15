package activities

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/tools"
)

// The effect ledger says of a call that must not be repeated whether it was started and what came of it. Calls of the
// classes pure and keyed need none. See architecture A3.7.

// effect is the class of the call: the tool's, and where this worker does not know the tool the recorded one.
func (c *call) effect() tools.Effect {
	switch {
	case c.tool != nil:
		return effectOf(c.tool)
	case c.in.Call.Effect != "":
		return tools.Effect(c.in.Call.Effect)
	}
	return tools.Once
}

func (c *call) ledgered() bool {
	e := c.effect()
	return e != tools.Pure && e != tools.Keyed
}

// note records that the body is about to run: barrier (b) of spec §4.11. An answer means that it must not.
func (c *call) note(ctx context.Context) (*work.ToolOut, error) {
	if !c.ledgered() {
		return nil, nil
	}
	if out, err := c.madeBefore(ctx); out != nil || err != nil {
		return out, err
	}
	// Not repeated: a repetition could not tell its own first try from another worker's.
	first, err := c.Store.StartedAs(ctx, c.in.Key, c.title())
	switch {
	case err != nil && ctx.Err() != nil:
		if stopped := c.halted(ctx); stopped != nil {
			return nil, stopped
		}
		out := beforeDispatch()
		return &out, nil
	case err != nil:
		out := failed(nameStore, work.CodeStore, clip("Error: the tool was not run, because its start could not be recorded: "+err.Error()))
		return &out, nil
	case !first:
		return c.recall(ctx)
	}
	return nil, nil
}

// title is what the ledger says of the call to somebody who has only the ledger, and tells it from a call with other
// arguments. See [Activities.Reset].
func (c *call) title() []byte {
	title := titleOf(c.in.Call)
	if edited := c.edited(); edited != nil {
		title = slices.Concat(title, []byte(changedTo), edited)
	}
	return title
}

func titleOf(c work.Call) []byte {
	arguments, blob := c.Arguments, c.Blob
	switch {
	case blob != nil:
		arguments = "arguments " + blob.SHA256
	case len(arguments) > maxToldResult:
		sum := sha256.Sum256([]byte(arguments))
		arguments = short(arguments, maxToldResult) + " " + hex.EncodeToString(sum[:])
	}
	return []byte(c.Name + " " + arguments)
}

// madeBefore says what became of the very same call, if it was made in what a reset gave up: the effect is not repeated.
func (c *call) madeBefore(ctx context.Context) (*work.ToolOut, error) {
	for _, key := range c.in.Before {
		note, started, err := c.Store.StartNote(ctx, key)
		if err != nil {
			return nil, err
		}
		if started && bytes.Equal(note, c.title()) {
			return c.recallAs(ctx, key)
		}
	}
	return nil, nil
}

// done records the result. If that fails the answer is given nonetheless: only a worker that dies now loses it.
func (c *call) done(ctx context.Context, out work.ToolOut) {
	if !c.ledgered() {
		return
	}
	data, err := json.Marshal(out)
	if err == nil {
		err = c.try(ctx, quickTries, func(ctx context.Context) error { return c.Store.Done(ctx, c.in.Key, data) })
	}
	if err != nil {
		c.Log(ctx, "tool result not in the ledger", "session_id", c.in.Ident.Session, "call_id", c.in.Call.ID, "error", err)
	}
}

// recall says what became of a call that another execution may have started; nothing means that the body may run.
func (c *call) recall(ctx context.Context) (*work.ToolOut, error) {
	looking, cancel := bounded(ctx)
	defer cancel()
	note, _, err := c.Store.StartNote(looking, c.in.Key)
	var damage *store.CorruptError
	if err != nil && !errors.As(err, &damage) {
		return nil, err
	}
	if len(note) > 0 && !bytes.Equal(note, c.title()) {
		out := failed(nameStore, work.CodeStore, "Error: the tool was not run, because the effect ledger has another call under its key. "+
			"The server's database may have been restored to an older copy.")
		return &out, nil
	}
	return c.recallAs(ctx, c.in.Key)
}

// recallAs is recall for what a key says.
func (c *call) recallAs(ctx context.Context, key string) (*work.ToolOut, error) {
	looking, cancel := bounded(ctx) // a cancel does not undo what has run
	defer cancel()
	entry, err := c.Store.Effect(looking, key)
	if err != nil {
		return nil, err
	}
	switch entry.State {
	case store.EffectNone:
		return nil, nil
	case store.EffectDone:
		return resultOf(entry.Result)
	}
	if c.effect() == tools.Reconcile && c.tool != nil {
		return c.reconcile(ctx, key)
	}
	out := c.unknownOutcome()
	return &out, nil
}

// unknownOutcome is the answer for a body that may have run.
func (c *call) unknownOutcome() work.ToolOut {
	out := outcomeUnknown()
	out.Content = c.noted(out.Content)
	return out
}

func resultOf(data []byte) (*work.ToolOut, error) {
	var out work.ToolOut
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("effect ledger: %w", err)
	}
	return &out, nil
}

// reconcile asks the tool what became of the effect; nothing means that it never happened.
func (c *call) reconcile(ctx context.Context, key string) (*work.ToolOut, error) {
	result, done, err := c.ask(ctx, key)
	switch {
	case err != nil:
		c.Log(ctx, "tool could not say what became of its effect", "session_id", c.in.Ident.Session, "call_id", c.in.Call.ID, "error", err)
		out := c.unknownOutcome()
		return &out, nil
	case !done:
		return nil, nil
	}
	c.ran = true
	out, err := c.shape(ctx, result, nil)
	if err != nil {
		return nil, err
	}
	c.done(ctx, out)
	return &out, nil
}

// ask contains a panic of the tool's Reconcile.
func (c *call) ask(ctx context.Context, key string) (result tools.Result, done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeoutOf(c.tool))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			done, err = false, fmt.Errorf("reconcile panicked: %v", v)
		}
	}()
	return c.tool.Reconcile(c.equip(ctx), key)
}

// settle answers for a call that nobody will run any more: the body is not run, the ledger is asked. A call that was never
// started is taken here, so that a worker that only seemed dead finds it taken and does not run it after all.
func (c *call) settle(ctx context.Context) (work.ToolOut, error) {
	if !c.ledgered() {
		return c.guess(), nil
	}
	if out, err := c.madeBefore(ctx); out != nil || err != nil {
		return deref(out), err
	}
	first, err := c.Store.Started(ctx, c.in.Key)
	if err != nil {
		return work.ToolOut{}, err
	}
	if first {
		out := c.neverStarted()
		c.done(ctx, out)
		return out, nil
	}
	out, err := c.recall(ctx)
	if out == nil && err == nil { // reconciled: it never happened
		return c.neverStarted(), nil
	}
	return deref(out), err
}

// guess is the answer for a call without a ledger.
func (c *call) guess() work.ToolOut {
	switch c.in.Lost {
	case lostCancelled:
		return failed(nameAbort, work.CodeAborted, "Error: tool call aborted")
	case lostUnavailable:
		return unavailable(c.in.Call.Name)
	}
	return c.unknownOutcome()
}

// neverStarted is the answer for a call whose body never ran.
func (c *call) neverStarted() work.ToolOut {
	switch c.in.Lost {
	case lostCancelled:
		return beforeDispatch()
	case lostUnavailable:
		return unavailable(c.in.Call.Name)
	}
	return notStarted()
}
