package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// A deed is one thing that a gate or a tool does when it is called, in order.
type deed struct {
	verb string
	args []string
}

// A verb says what a deed takes and where it may stand.
type verb struct {
	args   string // one letter each: n a bare name, t a text, j a JSON value; a capital one may be left out
	places string // of gates and tools, blank-separated; empty means everywhere
}

var verbs = map[string]verb{
	"hold":       {args: "n"},
	"pin":        {args: "n"},
	"followup":   {args: "n"},
	"steer":      {args: "n"},
	"inject":     {args: "n"},
	"cancel":     {args: "NN"},
	"throw":      {args: "t"},
	"panic":      {args: "t"},
	"cancelled":  {},
	"allow":      {places: "tool-pre"},
	"deny":       {args: "T", places: "tool-pre guard"},
	"ask":        {args: "T", places: "tool-pre"},
	"block":      {args: "t", places: "tool-post"},
	"value":      {args: "j", places: "tool-post"},
	"answer":     {args: "j", places: "task"},
	"log":        {args: "n", places: "task"},
	"long":       {args: "n", places: "tool"},
	"content":    {args: "j", places: "tool"},
	"bars":       {args: "n", places: "tool tool-result"},
	"reject":     {args: "T", places: "pre-step"},
	"empty":      {places: "pre-step"},
	"rewrite":    {args: "t", places: "pre-step"},
	"add":        {args: "n", places: "pre-step"},
	"series":     {places: "pre-step"},
	"model":      {args: "n", places: "request"},
	"provider":   {args: "n", places: "request"},
	"effort":     {args: "n", places: "request"},
	"stop":       {args: "t", places: "request"},
	"mutate":     {places: "request stream"},
	"recording":  {args: "t", places: "stream"},
	"again":      {places: "stream"},
	"substitute": {places: "stream"},
	"retry":      {places: "request-error"},
	"text":       {args: "t", places: "tool tool-post"},
	"args":       {places: "tool"},
	"error":      {args: "t", places: "tool"},
	"coded":      {args: "nnt", places: "tool"},
	"meta":       {args: "j", places: "tool"},
	"context":    {args: "n", places: "tool tool-post"},
	"concludes":  {places: "tool"},
	"question":   {args: "jN", places: "tool"},
	"delegate":   {args: "ntN", places: "tool"},
	"spawn":      {args: "nN"},
}

// parseDeeds reads `verb args, verb args`.
func (s *setup) parseDeeds(place string, w *words) ([]deed, error) {
	var out []deed
	for !w.done() {
		d, err := parseDeed(place, w)
		if err != nil {
			return nil, err
		}
		switch d.verb {
		case "hold", "pin":
			s.holds[d.args[0]] = true
		case "delegate", "spawn":
			s.kids[d.args[0]] = true
		}
		out = append(out, d)
		if !w.done() && !w.take(",") {
			return nil, fmt.Errorf("%s: a comma is expected in front of %q", d.verb, w.rest)
		}
	}
	return out, nil
}

func parseDeed(place string, w *words) (deed, error) {
	name, err := w.bare("a deed")
	if err != nil {
		return deed{}, err
	}
	v, known := verbs[name]
	if !known || v.places != "" && !slices.Contains(strings.Fields(v.places), place) {
		return deed{}, fmt.Errorf("%q is nothing that a %s does", name, place)
	}
	d := deed{verb: name}
	for _, kind := range v.args {
		optional := 'A' <= kind && kind <= 'Z'
		if optional && (w.done() || w.peek() == ",") {
			break
		}
		arg, err := parseArg(name, kind, w)
		if err != nil {
			return d, err
		}
		d.args = append(d.args, arg)
	}
	return d, nil
}

func parseArg(verb string, kind rune, w *words) (string, error) {
	switch kind {
	case 'j':
		raw, err := w.value(verb + ": a JSON value")
		return string(raw), err
	case 't', 'T':
		return w.text(verb + ": a text")
	default:
		return w.bare(verb + ": a name")
	}
}

// common carries out what gates and tools alike can do; done is false if the deed is something else.
func (w *world) common(ctx context.Context, d deed) (done bool, err error) {
	agent := plugin.AgentFrom(ctx)
	switch d.verb {
	case "hold":
		return true, w.yard.arrive(ctx, d.args[0])
	case "pin":
		return true, w.yard.arrive(context.WithoutCancel(ctx), d.args[0])
	case "followup":
		agent.Followup(w.message(d.args[0]))
	case "steer":
		agent.Steer(w.message(d.args[0]))
	case "inject":
		agent.Inject(w.message(d.args[0]))
	case "cancel":
		cause, keep, err := parseCause(d.args)
		if err != nil {
			return true, err
		}
		agent.Cancel(cause, keep)
	case "spawn":
		agent.Spawn(w.child(d))
	case "throw":
		return true, fmt.Errorf("%s", d.args[0])
	case "cancelled": // whoever ignores the signal until it is there
		<-ctx.Done()
	case "panic":
		panic(d.args[0])
	default:
		return false, nil
	}
	return true, nil
}

// parseCause reads `[user|parent|hook:REASON|disposed] [keepInbox]`.
func parseCause(args []string) (cause session.Cause, keep bool, err error) {
	cause.Kind = session.CauseUser
	for _, a := range args {
		kind, reason, _ := strings.Cut(a, ":")
		switch {
		case a == "keepInbox":
			keep = true
		case slices.Contains([]string{"user", "parent", "hook", "disposed"}, kind):
			cause = session.Cause{Kind: session.CauseKind(kind), Reason: reason}
		default:
			return cause, keep, fmt.Errorf("cancel: %q is neither a cause nor keepInbox", a)
		}
	}
	return cause, keep, nil
}
