package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// gated reports whether every call needs a decision before its body runs.
func (k *kind) gated() bool { return len(k.ToolPreExecute) > 0 || len(k.Guards) > 0 }

// posted reports whether an outcome is judged.
func (k *kind) posted() bool { return len(k.ToolPostExecute) > 0 }

// gate decides about the call: the stage before its body. See spec §4.8, pipeline 1–4.
func (c *call) gate(ctx context.Context) (work.ToolOut, error) {
	if out, err := c.stopped(ctx); out != nil || err != nil {
		return fault(deref(out)), err
	}
	call, invalid, err := c.materialise(ctx)
	if err != nil {
		return work.ToolOut{}, err
	}
	out := fault(deref(invalid))
	if invalid == nil {
		if out, err = c.decide(ctx, call); err != nil {
			return out, err
		}
	}
	if out.Verdict == work.Fault || out.Verdict == work.Deny && !c.in.Call.Posted {
		return c.final(ctx, out)
	}
	return out, nil
}

// fault is the answer of a gate that cannot say anything else: no post stage.
func fault(out work.ToolOut) work.ToolOut {
	out.Verdict, out.SkipPost = work.Fault, true
	return out
}

// decide asks gates and guards.
func (c *call) decide(ctx context.Context, call plugin.ToolCall) (work.ToolOut, error) {
	v, failure := c.kind.DecideCall(c.acts.at(ctx, "pre"), call)
	if v.Kind == plugin.Allow && c.mustAsk() {
		v = plugin.Verdict{Kind: plugin.Ask, Reason: c.tool.NeedsApproval}
	}
	if out, err := c.stopped(ctx); out != nil || err != nil {
		return fault(deref(out)), err
	}
	out := c.verdict(v)
	if failure != nil {
		out = fault(coded(failure))
	}
	var err error
	out.Acts, err = c.take(ctx, c.acts)
	return out, err
}

// mustAsk reports whether the tool itself is declared to need an approval, whatever gates say.
func (c *call) mustAsk() bool { return c.tool != nil && c.tool.NeedsApproval != "" }

// The texts of calls that nobody could be asked about.
const (
	textNoApproval = "this call needs an approval, and this agent has no approval service"
	textNotAsked   = "this call needs an approval, which was not asked for before it ran; make the call again"
	textOtherCall  = "the approval of this call is about other arguments; make the call again"
)

func (c *call) verdict(v plugin.Verdict) work.ToolOut {
	switch {
	case v.Kind == plugin.Deny:
		return denied("", v.Reason)
	case v.Kind == plugin.Ask && c.kind.Approval == nil:
		return denied(textNoApproval, v.Reason)
	case v.Kind == plugin.Ask:
		return work.ToolOut{Verdict: work.Ask, Reason: clip(v.Reason), DeadlineMS: deadlineMS(c.kind.Approval), Digest: c.digest()}
	}
	return work.ToolOut{Verdict: work.Allow}
}

// digest is what a decision about the call is bound to.
func (c *call) digest() string { return work.CallDigest(c.in.Call.Name, c.raw) }

// deadlineMS is how long a person is waited for; 0 means without end.
func deadlineMS(a *plugin.Approval) int64 {
	switch {
	case a.Deadline == 0:
		return wholeMS(plugin.DefaultApprovalDeadline)
	case a.Deadline < 0:
		return 0
	}
	return wholeMS(a.Deadline)
}

// wholeMS rounds up: a short deadline must not become none.
func wholeMS(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

// denied is the result of a call that must not run. See spec §4.8, pipeline 4.
func denied(why, reason string) work.ToolOut {
	switch {
	case why == "" && reason == "":
		why = "this call was denied"
	case why == "":
		why = reason
	case reason != "":
		why += ": " + reason
	}
	return work.ToolOut{Verdict: work.Deny, IsError: true, Content: session.TextContent(clip("Error: " + why))}
}

// clear lets the body run. A decision that was recorded counts, if it is about these arguments, but the guards are asked
// again: an approval may be old. A call that was listed by a worker without gates is decided here. See architecture A3.12.
func (c *call) clear(ctx context.Context, call plugin.ToolCall) (*work.ToolOut, error) {
	out := work.ToolOut{Verdict: work.Allow}
	switch {
	case c.in.Approved != nil && c.in.Approved.Digest != c.digest():
		out = denied(textOtherCall, "")
	case !c.kind.gated() && !c.mustAsk():
	case c.in.Call.Gated && c.mustAsk() && c.in.Approved == nil:
		out = denied(textNotAsked, c.tool.NeedsApproval)
	case c.in.Call.Gated:
		reason, err := c.kind.Objection(call)
		if err != nil {
			out = fault(coded(err))
		} else if reason != "" {
			out = denied("", reason)
		}
	default:
		var err error
		if out, err = c.decide(ctx, call); err != nil {
			return nil, err
		}
	}
	switch out.Verdict {
	case work.Allow:
		return nil, nil
	case work.Ask:
		asked := denied(textNotAsked, out.Reason)
		asked.Acts, out = out.Acts, asked
	}
	out.Verdict, out.Reason, out.DeadlineMS, out.Digest = "", "", 0, ""
	return &out, nil
}

// materialise reads the arguments and what the gates may know of the call. Arguments that are not lossless JSON are an
// answer. See spec §4.8, pipeline 1.
func (c *call) materialise(ctx context.Context) (call plugin.ToolCall, invalid *work.ToolOut, err error) {
	if c.raw, err = c.arguments(ctx); err != nil {
		return call, nil, err
	}
	call = plugin.ToolCall{ID: c.in.Call.ID, Name: c.in.Call.Name, View: c.shown}
	var failure error
	if call.Arguments, failure = argumentsOf(c.in.Call.Name, c.raw); failure != nil {
		out := coded(failure)
		out.SkipPost = true
		return call, &out, nil
	}
	return call, nil, nil
}

// declaredView is the view outside of a request: its route is the one the agent declares.
func (a *Activities) declaredView(ctx context.Context, k *kind, id work.Ident, turn, step int) (plugin.View, error) {
	spec, err := a.spec(ctx, id.Spec)
	if err != nil {
		return plugin.View{}, err
	}
	return viewOf(k, spec, id.Session, turn, step), nil
}

func viewOf(k *kind, spec work.Spec, sessionID string, turn, step int) plugin.View {
	config := declaredConfig(k.Definition, spec)
	return plugin.View{
		Session: sessionID, Turn: turn, Step: step,
		Provider: config.Provider, Model: config.Model, CWD: spec.CWD, Params: spec.Params,
	}
}

// argumentsOf applies the arguments rule; text that is no JSON is passed on as a string.
func argumentsOf(tool, raw string) (json.RawMessage, error) {
	args, isJSON := tools.ParseArguments(raw)
	if !isJSON {
		return json.Marshal(valid(raw))
	}
	if problem := lossy(args); problem != "" {
		return nil, tools.Coded("InvalidArgsError", tools.InvalidArgs, fmt.Sprintf("invalid arguments for tool %q: %s", tool, problem))
	}
	return args, nil
}

// lossy names the first number that other readers would read differently. See spec §2.1.
func lossy(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		n, isNumber := token.(json.Number)
		if !isNumber {
			continue
		}
		if f, err := strconv.ParseFloat(n.String(), 64); err != nil || f == 0 && n.String()[0] == '-' {
			return fmt.Sprintf("the number %.40s cannot be kept as it is", n)
		}
	}
}
