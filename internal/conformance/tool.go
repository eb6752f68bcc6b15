package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everturn/everturn/tools"
)

// A toolSpec is a tool of a scenario.
type toolSpec struct {
	name     string
	parallel bool
	effect   tools.Effect
	deeds    []deed
}

// tool reads `tool NAME: [parallel|exclusive] [once|pure|keyed], deeds`. A deed without a comma before it is fine after
// the traits.
func (s *setup) tool(args []string, value string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("want `tool NAME: traits deeds`, such as `tool echo: parallel, text \"hi\"`")
	}
	t := &toolSpec{name: args[0]}
	w := &words{value}
	for traits := true; traits; {
		traits = t.trait(w)
	}
	t.deeds, err = s.parseDeeds("tool", w)
	s.tools = append(s.tools, t)
	return err
}

// trait takes a trait and the comma after it.
func (t *toolSpec) trait(w *words) bool {
	switch word := w.peek(); word {
	case "parallel", "exclusive":
		t.parallel = word == "parallel"
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
		Parameters: json.RawMessage(`{"type":"object"}`),
		Run: func(ctx context.Context, args json.RawMessage) (tools.Result, error) {
			call, _ := tools.CallFrom(ctx)
			w.bodies.start(call.ID)
			defer w.bodies.end(call.ID)
			return w.body(ctx, call.ID, spec.deeds, args)
		}}
	if spec.parallel {
		t.Parallel = func(json.RawMessage) bool { return true }
	}
	return t
}

// body does what the tool does.
func (w *world) body(ctx context.Context, call string, deeds []deed, args json.RawMessage) (tools.Result, error) {
	var out tools.Result
	for _, d := range deeds {
		if len(d.args) > 0 && d.args[0] == "CALL" { // each call has a hold of its own
			d.args = append([]string{call}, d.args[1:]...)
		}
		done, err := w.common(ctx, d)
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
