package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// Tool runs one tool call, or settles one from which no answer will come. Whatever the tool does is an answer for the
// model. See spec §4.8 and architecture A3.7.
func (a *Activities) Tool(ctx context.Context, in work.ToolIn) (work.ToolOut, error) {
	defer a.beat(ctx, in.Ident.Session, in.ID)()
	out, err := a.tool(ctx, in)
	if err != nil {
		return work.ToolOut{}, a.leave(err, fmt.Sprintf("tool %s of %s", in.Call.Name, in.Ident.Session))
	}
	return out, nil
}

func (a *Activities) tool(ctx context.Context, in work.ToolIn) (work.ToolOut, error) {
	c, err := a.openCall(ctx, in)
	if err != nil {
		return work.ToolOut{}, err
	}
	out, err := c.stage(ctx)
	if err != nil {
		return work.ToolOut{}, err
	}
	out.Exclusive, out.Alone = c.exclusive(ctx)
	out.Worker = a.worker(c.kind, in.Ident)
	return out, nil
}

// A call is one execution of [Activities.Tool].
type call struct {
	*Activities
	in   work.ToolIn
	kind *kind
	tool *tools.Tool // nil: unknown
	exec int
	acts *collector

	shown plugin.View     // what gates and listeners may know
	raw   string          // arguments, once they were read
	whole session.Content // of the result, if the answer holds only its reference
	ran   bool            // the body ran, here or elsewhere, or may have
}

func (a *Activities) openCall(ctx context.Context, in work.ToolIn) (*call, error) {
	k, err := a.enter(ctx, in.Ident)
	if err != nil {
		return nil, err
	}
	spec, err := a.spec(ctx, in.Ident.Spec)
	if err != nil {
		return nil, err
	}
	k = k.of(spec)
	c := &call{Activities: a, in: in, kind: k, exec: a.Execution(ctx), shown: viewOf(k, spec, in.Ident.Session, in.Turn, in.Step)}
	c.tool, _ = k.tool(c.shown, in.Call.Name)
	c.acts = &collector{session: in.Ident.Session, definition: k.Name, place: c.place()}
	return c, nil
}

// place tells the call from every other of the session.
func (c *call) place() string {
	sum := sha256.Sum256([]byte(c.in.Call.ID))
	return fmt.Sprintf("%d.%d-%s", c.in.Turn, c.in.Step, hex.EncodeToString(sum[:4]))
}

// stage runs the stage of the pipeline that was asked for.
func (c *call) stage(ctx context.Context) (work.ToolOut, error) {
	switch c.in.Mode {
	case work.ToolGate:
		return c.gate(ctx)
	case work.ToolCheck:
		return c.check(ctx)
	case work.ToolPost:
		return c.post(ctx)
	case work.ToolCollect:
		out, err := c.collect(ctx)
		if err != nil {
			return out, err
		}
		return c.afterBody(ctx, out)
	}
	out, err := c.outcome(ctx)
	if err != nil {
		return out, err
	}
	return c.afterBody(ctx, out)
}

// outcome decides whether the body may run. See the effect classes of architecture A3.7.
func (c *call) outcome(ctx context.Context) (work.ToolOut, error) {
	if c.in.Mode == work.ToolSettle {
		return c.settle(ctx)
	}
	if c.exec > 1 && c.ledgered() {
		if out, err := c.recall(ctx); out != nil || err != nil {
			return deref(out), err
		}
	}
	if out, err := c.stopped(ctx); out != nil || err != nil {
		return deref(out), err
	}
	return c.run(ctx)
}

// stopped answers a call that was cancelled before its body ran.
func (c *call) stopped(ctx context.Context) (*work.ToolOut, error) {
	if ctx.Err() == nil {
		return nil, nil
	}
	if err := c.halted(ctx); err != nil {
		return nil, err
	}
	out := beforeDispatch()
	return &out, nil
}

func deref(out *work.ToolOut) work.ToolOut {
	if out == nil {
		return work.ToolOut{}
	}
	return *out
}

// run runs the body between the entries of the ledger.
func (c *call) run(ctx context.Context) (work.ToolOut, error) {
	call, invalid, err := c.materialise(ctx)
	if err != nil || invalid != nil {
		return deref(invalid), err
	}
	if out, err := c.clear(ctx, call); out != nil || err != nil {
		return deref(out), err
	}
	if c.tool == nil && len(c.kind.ToolExecute) == 0 {
		return c.shape(ctx, tools.Result{}, c.unknown())
	}
	if out, err := c.note(ctx); out != nil || err != nil {
		return deref(out), err
	}
	if err := c.point(ctx, "tool/started"); err != nil {
		return work.ToolOut{}, err
	}
	c.ran = true
	result, failure := c.kind.Executed(c.acts.at(ctx, "execute"), call, c.body)
	if err := c.point(ctx, "tool/body-done"); err != nil {
		return work.ToolOut{}, err
	}
	if failure != nil && ctx.Err() != nil && (!c.ledgered() || interrupted(ctx, failure)) {
		if stopped := c.halted(ctx); stopped != nil {
			return work.ToolOut{}, stopped // it may run again elsewhere, or the ledger is asked there
		}
	}
	out, err := c.shape(ctx, result, failure)
	if err != nil {
		return work.ToolOut{}, err
	}
	c.done(ctx, out)
	if err := c.point(ctx, "tool/done"); err != nil {
		return work.ToolOut{}, err
	}
	return out, nil
}

// arguments is the raw text of the model, or of a person who changed it.
func (c *call) arguments(ctx context.Context) (string, error) {
	if edited := c.edited(); edited != nil {
		return string(edited), nil
	}
	if c.in.Call.Blob == nil {
		return c.in.Call.Arguments, nil
	}
	text, err := c.Store.Blob(ctx, c.in.Call.Blob.SHA256)
	if err != nil {
		return "", fmt.Errorf("arguments: %w", err)
	}
	return string(text), nil
}

// body executes the tool under its time limit.
func (c *call) body(ctx context.Context) (tools.Result, error) {
	if c.tool == nil {
		return tools.Result{}, c.unknown()
	}
	limit := timeoutOf(c.tool)
	limited, cancel := context.WithTimeoutCause(ctx, limit, errToolTimeout)
	defer cancel()
	result, err := c.tool.Invoke(c.equip(limited), c.raw)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), errToolTimeout) {
		return tools.Result{}, tools.Coded(nameTimeout, CodeToolTimeout, fmt.Sprintf("tool %q did not finish within %s", c.tool.Name, limit))
	}
	return result, err
}

func (c *call) unknown() error {
	return tools.Coded(nameUnknownTool, work.CodeUnknownTool, fmt.Sprintf("unknown tool %q", c.in.Call.Name))
}

var errToolTimeout = errors.New("the tool ran out of time")

// equip gives the body what it may know and use.
func (c *call) equip(ctx context.Context) context.Context {
	ctx = c.acts.at(ctx, "tool")
	return tools.WithCall(ctx, tools.Call{
		Session: c.in.Ident.Session, Turn: c.in.Turn, Step: c.in.Step, ID: c.in.Call.ID, Key: c.in.Key, Try: c.exec, Params: slices.Clone(c.shown.Params), Plan: c.in.Plan,
	})
}

func (c *call) point(ctx context.Context, name string) error {
	return c.probe(ctx, name, c.in.Ident.Session, c.in.Turn, c.in.Step, c.exec)
}

func timeoutOf(t *tools.Tool) time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	return tools.DefaultTimeout
}

func effectOf(t *tools.Tool) tools.Effect {
	if t.Effect == "" {
		return tools.Once
	}
	return t.Effect
}

// contexts completes the messages a result defers to the next step. See spec §4.8.11.
func (c *call) contexts(ctx context.Context, kind string, in []session.Message) ([]session.Message, error) {
	var out []session.Message
	for i, m := range in {
		m = signed(m, c.kind.Name, fmt.Sprintf("%s-%s-%d", kind, c.place(), i+1))
		var err error
		if m.Content, err = c.inline(ctx, m.Content); err != nil {
			return nil, fmt.Errorf("context %s: %w", m.ID, err)
		}
		out = append(out, m)
	}
	return out, nil
}
