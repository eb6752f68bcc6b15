package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// toolGates are the kinds of gates and listeners of tool calls. Their place is the id of a call, or *.
var toolGates = []string{"tool-pre", "guard", "tool-execute", "tool-post", "tool-result"}

// pipeline is what a scenario's definition has around its tools.
type pipeline struct {
	approval  *plugin.Approval
	plans     bool
	maxResult int
}

// toolGate reads `gate KIND CALL: deeds`, the kind being one of toolGates.
func (s *setup) toolGate(kind, call, value string) error {
	deeds, err := s.parseDeeds(kind, &words{value})
	s.gates = append(s.gates, &gateSpec{kind, call, deeds})
	return err
}

// approvals reads `approval: on|POLICY [allow TOOL [ARG=PATTERN]]`: calls that must be asked about wait for a person, unless
// the policy knows the answer.
func (s *setup) approvals(args []string, value string) error {
	w := &words{value}
	mode, err := w.bare("on or a policy")
	if err != nil || len(args) > 0 {
		return fmt.Errorf("want `approval: on` or a policy, such as `approval: allow-list allow write path=docs/*`")
	}
	service := &plugin.Approval{Deadline: plugin.NoDeadline, Policy: mode}
	if mode == "on" {
		service.Policy = ""
	}
	for w.take("allow") {
		rule := plugin.Rule{}
		if rule.Tool, err = w.bare("a tool"); err != nil {
			return err
		}
		if name, pattern, ok := strings.Cut(w.peek(), "="); ok {
			rule.Args = map[string]string{name: pattern}
			w.take(w.peek())
		}
		service.Allow = append(service.Allow, rule)
	}
	s.pipeline.approval = service
	return w.end()
}

// guardCalls registers what the scenario has around its tools, and nothing else: a gate costs a call a stage of its own.
func (w *world) guardCalls(d *plugin.Definition) {
	d.MaxResultBytes = w.pipeline.maxResult
	d.Approval = w.pipeline.approval
	for _, g := range w.gates {
		switch {
		case g.kind == "tool-pre" && d.ToolPreExecute == nil:
			d.ToolPreExecute = []plugin.ToolPreGate{w.toolPre}
		case g.kind == "guard" && d.Guards == nil:
			d.Guards = []plugin.Guard{w.guard}
		case g.kind == "tool-execute" && d.ToolExecute == nil:
			d.ToolExecute = []plugin.ToolExecuteGate{w.toolExecute}
		case g.kind == "tool-result" && d.ToolResult == nil:
			d.ToolResult = []plugin.ToolListener{w.toolResult}
		case g.kind == "tool-post" && d.ToolPostExecute == nil:
			d.ToolPostExecute = []plugin.ToolPostGate{w.toolPost}
		}
	}
	w.live = d
}

// callDeeds are the deeds of a gate of a tool call, those that every gate can do carried out.
func (w *world) callDeeds(ctx context.Context, kind, call string) (own []deed, err error) {
	for _, g := range w.gates {
		if g.kind != kind || g.place != "*" && g.place != call {
			continue
		}
		for _, d := range g.deeds {
			done, err := w.common(ctx, forCall(d, call))
			if err != nil {
				return nil, err
			}
			if !done {
				own = append(own, d)
			}
		}
	}
	return own, nil
}

// forCall gives each call a hold of its own.
func forCall(d deed, call string) deed {
	if len(d.args) > 0 && d.args[0] == "CALL" {
		d.args = append([]string{call}, d.args[1:]...)
	}
	return d
}

func (w *world) toolPre(ctx context.Context, in plugin.ToolCall, next func(context.Context) (plugin.Verdict, error)) (plugin.Verdict, error) {
	w.gateLog.add("tool-pre", in.ID)
	deeds, err := w.callDeeds(ctx, "tool-pre", in.ID)
	if err != nil {
		return plugin.Verdict{}, err
	}
	for _, d := range deeds {
		return plugin.Verdict{Kind: plugin.VerdictKind(d.verb), Reason: strings.Join(d.args, " ")}, nil
	}
	return next(ctx)
}

// guard denies where the scenario says so. It sees no context, so it does nothing else.
func (w *world) guard(in plugin.ToolCall) string {
	w.gateLog.add("guard", in.ID)
	deeds, err := w.callDeeds(context.Background(), "guard", in.ID)
	if err != nil {
		panic(err)
	}
	for _, d := range deeds {
		return strings.Join(d.args, " ")
	}
	return ""
}

func (w *world) toolExecute(ctx context.Context, in plugin.ToolCall, next func(context.Context) (tools.Result, error)) (tools.Result, error) {
	w.gateLog.add("tool-execute", in.ID)
	if _, err := w.callDeeds(ctx, "tool-execute", in.ID); err != nil {
		return tools.Result{}, err
	}
	return next(ctx)
}

// toolPost notes what it judges, with ! for a failure, and changes the decision of the gates within.
func (w *world) toolPost(ctx context.Context, in plugin.ToolOutcome, next func(context.Context) (plugin.PostDecision, error)) (plugin.PostDecision, error) {
	mark := ""
	if in.IsError {
		mark = "!"
	}
	w.gateLog.add("tool-post", in.Call.ID+mark)
	deeds, err := w.callDeeds(ctx, "tool-post", in.Call.ID)
	if err != nil {
		return plugin.PostDecision{}, err
	}
	out, err := next(ctx)
	for _, d := range deeds {
		switch d.verb {
		case "block":
			out.Block, out.Feedback = true, d.args[0]
		case "text":
			out.Content = session.TextContent(d.args[0])
		case "value":
			out.Value = json.RawMessage(d.args[0])
		case "context":
			out.Contexts = append(out.Contexts, w.message(d.args[0]))
		}
	}
	return out, err
}

// toolResult learns of final outcomes.
func (w *world) toolResult(out plugin.ToolOutcome) {
	w.gateLog.add("tool-result", out.Call.ID)
	deeds, err := w.callDeeds(context.Background(), "tool-result", out.Call.ID)
	if err != nil {
		panic(err)
	}
	for _, d := range deeds {
		w.barred.Store(d.args[0], true)
	}
}

// classifier says whether a call may run beside others; odd ones are those that a scenario wants to be wrong.
func (w *world) classifier(spec *toolSpec) func(json.RawMessage) bool {
	switch spec.classifier {
	case "parallel":
		return func(json.RawMessage) bool {
			_, exclusive := w.barred.Load(spec.name)
			return !exclusive
		}
	case "refusing":
		return func(json.RawMessage) bool { return false }
	case "failing":
		return func(json.RawMessage) bool { panic("the scenario lets the classifier fail") }
	default:
		return nil
	}
}

// parseDecision reads `approve CALL` and `deny CALL ["reason"]`, with `digest D` for what was looked at, `edit JSON` for other
// arguments and `remember [any|ARG=PATTERN]`: a person decides about a call that waits.
func parseDecision(grant bool) func(*setup, *words) (act, error) {
	return func(_ *setup, w *words) (act, error) {
		call, err := w.bare("the id of a call")
		o := agents.DecisionOptions{By: "somebody"}
		for err == nil && !w.done() {
			err = decision(w, &o)
		}
		return quiet(func(r *run, ctx context.Context) error { return r.decide(ctx, call, grant, o) }), err
	}
}

func decision(w *words, o *agents.DecisionOptions) (err error) {
	switch {
	case w.take("digest"):
		o.Digest, err = w.bare("a digest")
	case w.take("edit"):
		o.Arguments, err = w.value("arguments")
	case w.take("remember"):
		o.Remember = &signals.Remember{Any: w.take("any")}
		if name, pattern, ok := strings.Cut(w.peek(), "="); ok {
			o.Remember.Args = signals.Patterns{{Arg: name, Pattern: pattern}}
			w.take(w.peek())
		}
	default:
		o.Reason, err = w.text("the reason")
	}
	return err
}

// decide decides about the call of the step that waits; one that does not wait any more is tried nevertheless.
func (r *run) decide(ctx context.Context, call string, grant bool, o agents.DecisionOptions) error {
	state, err := r.agent.State(ctx)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%d.%d.%s", state.Turn, state.Step, call)
	if grant {
		return r.agent.Approve(ctx, id, o)
	}
	return r.agent.Deny(ctx, id, o)
}

// parseApprovals reads `approvals on|off|DURATION`: whether anybody can be asked from now on, and for how long.
func parseApprovals(_ *setup, w *words) (act, error) {
	word, err := w.bare("on, off or a duration")
	if err != nil {
		return nil, err
	}
	var service *plugin.Approval
	if word != "off" {
		service = &plugin.Approval{Deadline: plugin.NoDeadline}
	}
	if !slices.Contains([]string{"on", "off"}, word) {
		if service.Deadline, err = time.ParseDuration(word); err != nil {
			return nil, err
		}
	}
	return quiet(func(r *run, _ context.Context) error {
		r.live.Approval = service
		r.gateLog.see("tool-pre") // every gate of a later call sees it: they share this lock
		return nil
	}), nil
}
