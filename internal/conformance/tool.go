package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/everturn/everturn/tools"
)

// A toolSpec is a tool of a scenario.
type toolSpec struct {
	name       string
	classifier string // parallel, exclusive, refusing or failing
	effect     tools.Effect
	whole      bool // its results are never projected
	approved   bool // a person must let each call run
	takes      json.RawMessage
	deeds      []deed
}

// tool reads `tool NAME: [parallel|exclusive] [once|pure|keyed] [approved] [takes SCHEMA], deeds`. A deed without a comma
// before it is fine after the traits.
func (s *setup) tool(args []string, value string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("want `tool NAME: traits deeds`, such as `tool echo: parallel, text \"hi\"`")
	}
	t := &toolSpec{name: args[0]}
	w := &words{value}
	for traits := true; traits; {
		traits = t.trait(w)
	}
	if w.take("takes") {
		if t.takes, err = w.value("a schema"); err != nil {
			return err
		}
		w.take(",")
	}
	t.deeds, err = s.parseDeeds("tool", w)
	s.tools = append(s.tools, t)
	return err
}

// trait takes a trait and the comma after it.
func (t *toolSpec) trait(w *words) bool {
	switch word := w.peek(); word {
	case "parallel", "exclusive", "refusing", "failing":
		t.classifier = word
	case "whole":
		t.whole = true
	case "approved":
		t.approved = true
	case "once", "pure", "keyed":
		t.effect = tools.Effect(word)
	default:
		return false
	}
	w.take(w.peek())
	w.take(",")
	return true
}

// make makes the tool. A `hold` without a name of its own stands at the id of the call.
func (w *world) tool(spec *toolSpec) *tools.Tool {
	t := &tools.Tool{Name: spec.name, Description: "A tool of the scenario.", Effect: spec.effect,
		Parameters: json.RawMessage(`{"type":"object"}`), Parallel: w.classifier(spec), KeepWhole: spec.whole,
		Run: func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
			call, _ := tools.CallFrom(ctx)
			w.bodies.start(call.ID)
			defer w.bodies.end(call.ID)
			return w.body(ctx, call.ID, spec.deeds, args)
		}}
	if spec.approved {
		t.NeedsApproval = "it is declared"
	}
	if spec.takes != nil {
		nothing := func(context.Context, json.RawMessage) (string, error) { return "", nil }
		t.Parameters, t.Validate = spec.takes, tools.Must(tools.New(spec.name, "", nothing, tools.WithParameters(spec.takes))).Validate
	}
	return t
}

// body does what the tool does.
func (w *world) body(ctx context.Context, call string, deeds []deed, args json.RawMessage) (tools.Result, error) {
	var out tools.Result
	for _, d := range deeds {
		done, err := w.common(ctx, forCall(d, call))
		if !done {
			err = w.bodyDeed(&out, d, args)
		}
		if err != nil {
			return tools.Result{}, err
		}
	}
	return out, nil
}

func (w *world) bodyDeed(out *tools.Result, d deed, args json.RawMessage) error {
	switch d.verb {
	case "text":
		out.Content = tools.TextResult(d.args[0]).Content
	case "args":
		out.Content = tools.TextResult(string(args)).Content
	case "long":
		n, err := strconv.Atoi(d.args[0])
		out.Content = tools.TextResult(strings.Repeat("x", max(n, 0))).Content
		return err
	case "content":
		return json.Unmarshal([]byte(d.args[0]), &out.Content)
	case "bars":
		w.barred.Store(d.args[0], true)
	case "error":
		return errors.New(d.args[0])
	case "coded":
		return tools.Coded(d.args[0], d.args[1], d.args[2])
	case "meta":
		out.Meta = json.RawMessage(d.args[0])
	case "context":
		out.Contexts = append(out.Contexts, w.message(d.args[0]))
	case "concludes":
		out.ConcludesTurn = true
	case "question":
		return ask(out, d)
	case "delegate":
		child := w.child(d)
		out.Delegate = &child
	}
	return nil
}

// bodies keeps what tool bodies did.
type bodies struct {
	mu      sync.Mutex
	order   []string // +c1 for a start, -c1 for an end
	running []string
	most    int
}

func (b *bodies) start(call string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.order = append(b.order, "+"+call)
	b.running = append(b.running, call)
	b.most = max(b.most, len(b.running))
}

func (b *bodies) end(call string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.order = append(b.order, "-"+call)
	b.running = slices.DeleteFunc(b.running, func(c string) bool { return c == call })
}

// see says in words what is asked: running, ran, order or most.
func (b *bodies) see(what string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch what {
	case "running":
		return listed(slices.Sorted(slices.Values(b.running)))
	case "ran":
		var ran []string
		for _, o := range b.order {
			if id, ended := strings.CutPrefix(o, "-"); ended {
				ran = append(ran, id)
			}
		}
		slices.Sort(ran)
		return listed(ran)
	case "order":
		return listed(b.order)
	default:
		return fmt.Sprint(b.most)
	}
}

// listed writes names with commas; none if there are none.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}
