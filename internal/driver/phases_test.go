package driver

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// A situation is a moment at which an input may come. p is pending in all of them but closed, where it was left behind.
type situation struct {
	name  string
	phase Phase
	text  string // a script
}

var situations = []situation{
	{"birth", Birth, `inject p => IS+(next-step:p)`},
	{"idle", Idle, `inject p => IS+(next-step:p)`},
	{"idle/flush", Idle, "hold\ninject p => IS+(next-step:p)"},
	{"idle/broken", Idle, "hold\ninject p => IS+(next-step:p)\npersist fail\nrelease"},
	{"idle/configuring", Idle, "inject p => IS+(next-step:p)\nconfigure {\"model\":\"m2\"}"},
	{"maintaining", Maintaining, "inject p => IS+(next-step:p)\nmaintain t"},
	{"maintaining/flush", Maintaining, "hold\ninject p => IS+(next-step:p)\nmaintain t"},
	{"starting", Starting, "born start\ninject p => IS+(next-step:p)\nfollowup a => IS+(next-turn:a)"},
	{"opening", Opening, ""},
	{"claiming", Claiming, "hold\ninject p => IS+(next-step:p)\nfollowup a => IS+(next-turn:a) TS1"},
	{"claiming/roll", Claiming, called + "inject p => IS+(next-step:p)\ntool c1 ok => TR(c1)\nroll\ntool c2 ok => TR(c2) SE"},
	{"step", Stepping, opened + "inject p"},
	{"step/settling", Stepping, opened + "inject p\nlost step exhausted"},
	{"step/long tail", Stepping, retried + "hold\ninject p text=20000 => IS+(next-step:p)\ninject q text=20000 => IS+(next-step:q)\ntimer retry => LRS(1)"},
	{"retry", Retrying, retried + "inject p => IS+(next-step:p)"},
	{"tools", Tools, called + "inject p => IS+(next-step:p)"},
	{"tools/gating", Tools, gated + "inject p => IS+(next-step:p)"},
	{"tools/asking", Tools, asking + "inject p => IS+(next-step:p)"},
	{"tools/checking", Tools, checking + "inject p => IS+(next-step:p)"},
	{"tools/cleared", Tools, cleared + "inject p => IS+(next-step:p)"},
	{"tools/posting", Tools, posting + "inject p => IS+(next-step:p)"},
	{"tools/roll", Tools, asking + "inject p => IS+(next-step:p)\nroll"},
	{"tools/delegated", Tools, delegated + "inject p => IS+(next-step:p)"},
	{"tools/looking", Tools, delegated + "inject p => IS+(next-step:p)\nroll\nresume\ntimer look"},
	{"idle/starting", Idle, "born acts=spawn:k\ninject p => IS+(next-step:p)"},
	{"idle/child", Idle, "inject p => IS+(next-step:p)\nspawn k\nchild k started"},
	{"stopping", Stopping, stopping + "inject p => IS+(next-step:p)"},
	{"draining", Draining, ended + "inject p => IS+(next-step:p)"},
	{"draining/failed", Draining, failed + "inject p => IS+(next-step:p)"},
	{"closed", Closed, "inject p => IS+(next-step:p)\ndispose"},
}

// What becomes of an input. An answer is given to the effect that runs, if there is one; a stale answer is dropped
// everywhere.
const (
	handled = "+"            // the state changes
	noop    = "="            // answered, and nothing changes
	dropped = "."            // nothing at all
	closed  = "CLOSED"       // refused
	invalid = "INVALID"      // refused: an answer cannot be part of a batch, and only a batch gets between wake and turn/start
	unasked = "UNKNOWN_CALL" // refused
	busy    = "BUSY"         // refused
)

// everyInput has a row for every input: what it comes to, and the situations in which it comes to something else.
var everyInput = map[string]struct {
	mostly string
	but    map[string]string // situations, separated by commas
}{
	"Sent":           {handled, map[string]string{"closed": closed}},
	"Removed":        {handled, map[string]string{"closed": closed}},
	"Replaced":       {handled, map[string]string{"closed": closed}},
	"Cleared":        {handled, map[string]string{"closed": closed}},
	"Batch":          {handled, map[string]string{"closed": closed, "opening": invalid}},
	"CancelAsked":    {handled, map[string]string{"birth,idle,idle/configuring,idle/flush,idle/broken,idle/starting,idle/child,closed": noop}},
	"DisposeAsked":   {handled, map[string]string{"closed": noop}},
	"Decided":        {unasked, map[string]string{"tools/asking,tools/roll": handled, "tools/checking": busy, "closed": closed}},
	"Answered":       {unasked, map[string]string{"closed": closed}},
	"PolicyAsked":    {handled, map[string]string{"closed": closed}},
	"PlanAsked":      {handled, map[string]string{"closed": closed}},
	"MaintainAsked":  {busy, map[string]string{"idle,idle/configuring,idle/flush,idle/broken,idle/starting,idle/child": handled, "closed": closed, "opening": invalid}},
	"ConfigureAsked": {handled, map[string]string{"closed": closed, "opening": invalid}},
	"ConfigureDone":  {dropped, map[string]string{"idle/configuring": handled, "opening": invalid}},
	"ConfigureLost":  {dropped, map[string]string{"idle/configuring": handled, "opening": invalid}},
	"Born":           {dropped, map[string]string{"birth": handled, "opening": invalid}},
	"StepDone":       {dropped, map[string]string{"step,step/settling": handled, "opening": invalid}},
	"StepLost":       {dropped, map[string]string{"step,step/settling": handled, "opening": invalid}},
	"ToolDone":       {dropped, map[string]string{"tools,tools/gating,tools/checking,tools/cleared,tools/posting": handled, "opening": invalid}},
	"ToolLost":       {dropped, map[string]string{"tools,tools/gating,tools/checking,tools/cleared,tools/posting": handled, "opening": invalid}},
	"HookDone":       {dropped, map[string]string{"starting,stopping": handled, "opening": invalid}},
	"HookLost":       {dropped, map[string]string{"starting,stopping": handled, "opening": invalid}},
	"MaintainDone":   {dropped, map[string]string{"maintaining": handled, "opening": invalid}},
	"MaintainLost":   {dropped, map[string]string{"maintaining": handled, "opening": invalid}},
	"Persisted":      {dropped, map[string]string{flushes: handled, "opening": invalid}},
	"PersistFailed":  {dropped, map[string]string{flushes: handled, "opening": invalid}},
	"TimerFired":     {dropped, map[string]string{"idle/broken,retry,tools/asking,tools/checking,tools/roll": handled, "opening": invalid}},
	"SpawnAsked":     {handled, map[string]string{"closed": closed, "opening": invalid}},
	"ChildStarted":   {dropped, map[string]string{"idle/starting": handled, "opening": invalid}},
	"ChildFailed":    {dropped, map[string]string{"idle/starting": handled, "opening": invalid}},
	"ChildTold":      {dropped, map[string]string{"idle/starting,idle/child,tools/delegated,tools/looking": handled, "opening": invalid}},
	"ChildClosed":    {dropped, map[string]string{"idle/child,tools/delegated": handled, "opening": invalid}},
	"ChildSeen":      {dropped, map[string]string{"tools/looking": handled, "opening": invalid}},
	"Promoted":       {handled, map[string]string{"closed": "CLOSED"}},
	"Reordered":      {noop, map[string]string{"closed": "CLOSED", "opening": handled}},
	"RollAsked":      {handled, map[string]string{"claiming/roll,tools/roll,closed": dropped, "opening": invalid}},
	"Reset":          {handled, map[string]string{"birth,closed": dropped, "opening": invalid}},
	"Resumed":        {dropped, map[string]string{"idle/broken,claiming/roll,retry,tools/asking,tools/checking,tools/roll,tools/delegated,tools/looking,idle/child": handled, "opening": invalid}},
}

const flushes = "idle/flush,maintaining/flush,claiming,step/long tail,draining,draining/failed"

// expected is what the table says of an input in a situation.
func expected(t *testing.T, s situation, kind string) string {
	row := everyInput[kind]
	for names, what := range row.but {
		if slices.Contains(strings.Split(names, ","), s.name) {
			return what
		}
	}
	require.NotEmpty(t, row.mostly, "input %s has no row in this test", kind)
	return row.mostly
}

// TestEveryPhaseTakesEveryInput checks the table against the driver, and the table against the source: a phase, a state
// of a call or an input that is added needs its entry.
func TestEveryPhaseTakesEveryInput(t *testing.T) {
	t.Parallel()
	sums := closedSums(t)
	covered, names := map[string]bool{}, map[string]bool{}
	for _, s := range situations {
		names[s.name], covered["phase "+string(s.phase)] = true, true
		for _, c := range reach(t, s).state().Calls {
			covered["call "+string(c.State)] = true
		}
	}
	for _, p := range sums.phases {
		require.True(t, covered["phase "+p], "phase %s has no situation in this test", p)
	}
	for _, c := range sums.calls {
		require.True(t, covered["call "+c], "call state %q has no situation in this test", c)
	}
	require.Len(t, everyInput, len(sums.inputs))
	for kind, row := range everyInput {
		for exceptions := range row.but {
			for name := range strings.SplitSeq(exceptions, ",") {
				require.True(t, names[name], "%s: no situation %q", kind, name)
			}
		}
	}
	for _, kind := range sums.inputs {
		for _, s := range situations {
			t.Run(s.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				require.Equal(t, expected(t, s, kind), outcome(t, s, kind))
			})
		}
	}
}

// reach makes a world in a situation.
func reach(t *testing.T, s situation) *world {
	w := unborn(t)
	if s.phase != Birth && !strings.Contains(s.text, "born") {
		w.born(0)
	}
	if s.phase != Opening {
		runLines(w, s.text)
		require.Equal(t, s.phase, w.state().Phase)
		w.hold = true
	}
	return w
}

// outcome feeds one input and says what happened.
func outcome(t *testing.T, s situation, kind string) string {
	w := reach(t, s)
	if s.phase == Opening {
		return inBatch(w, kind)
	}
	ids := map[string]string{}
	for _, r := range w.open {
		name, _, _ := strings.Cut(r.id, "-")
		ids[name] = r.id
	}
	if kind != "Born" && kind != "Resumed" && kind != "Reset" && kind != "RollAsked" && len(w.inputOf(kind, nil)) == 2 {
		before := asJSON(t, w.state())
		for _, stale := range w.inputOf(kind, nil) {
			events, effects := w.d.Handle(w.now, stale)
			require.Empty(t, events, "a stale answer")
			require.Empty(t, effects, "a stale answer")
			require.Equal(t, before, asJSON(t, w.state()), "a stale answer")
		}
	}
	return w.verdict(w.inputOf(kind, ids)[0])
}

// verdict handles an input and classifies what it did.
func (w *world) verdict(in Input) string {
	before := asJSON(w.t, w.state())
	events, effects := w.d.Handle(w.now+1, in)
	require.NoError(w.t, Check(w.state()))
	changed := before != asJSON(w.t, w.state())
	var receipt *Receipt
	for _, e := range effects {
		if r, ok := e.(Reply); ok && r.Ref == "r" {
			receipt = &r.Receipt
		}
	}
	if receipt != nil && len(receipt.Receipts) == 1 {
		receipt = &receipt.Receipts[0]
	}
	switch {
	case receipt != nil && receipt.Disposition == Refused:
		require.False(w.t, changed || len(events) > 0, "refused")
		return receipt.Code
	case changed:
		return handled
	case receipt != nil:
		require.Len(w.t, effects, 1)
		return noop
	default:
		require.Empty(w.t, events)
		require.Empty(w.t, effects)
		return dropped
	}
}

// inBatch feeds an input between the wake and turn/start.
func inBatch(w *world, kind string) string {
	in := w.inputOf(kind, nil)[0]
	events, effects := w.d.Handle(w.now+1, Batch{Ref: "r", Acts: []Input{
		Sent{Message: user("p", 0), Target: session.NextStep}, Sent{Message: user("a", 0), Target: session.NextTurn, Wakeup: true}, in}})
	require.NotEmpty(w.t, events)
	require.NoError(w.t, Check(w.state()))
	for _, e := range effects {
		if r, ok := e.(Reply); ok {
			if got := r.Receipt.Receipts[2]; got.Disposition == Refused {
				return got.Code
			}
			return handled
		}
	}
	return dropped
}

// inputOf makes an input of a kind. Answers name the effect that ids holds, or effects that do not run.
func (w *world) inputOf(kind string, ids map[string]string) []Input {
	answer := func(effect string, make func(id string) Input) []Input {
		if id, ok := ids[effect]; ok {
			return []Input{make(id)}
		}
		return []Input{make(effect + "-999"), make("")}
	}
	switch kind {
	case "Sent":
		return []Input{Sent{Ref: "r", Message: user("new", 0), Target: session.NextTurn, Wakeup: true}}
	case "Removed":
		return []Input{Removed{Ref: "r", ID: "p"}}
	case "Replaced":
		return []Input{Replaced{Ref: "r", ID: "p", Message: user("new", 0)}}
	case "Promoted":
		return []Input{Promoted{Ref: "r", ID: "p", Target: session.NextTurn}}
	case "Reordered": // the order that it has
		ids := (&Driver{state: w.state()}).ids(session.NextStep)
		if len(ids) == 0 {
			ids = []string{"p"}
		}
		return []Input{Reordered{Ref: "r", Target: session.NextStep, IDs: ids}}
	case "Cleared":
		return []Input{Cleared{Ref: "r"}}
	case "CancelAsked":
		return []Input{CancelAsked{Ref: "r", Cause: session.Cause{Kind: session.CauseUser}, Via: ViaAPI}}
	case "DisposeAsked":
		return []Input{DisposeAsked{Ref: "r"}}
	case "Batch":
		return []Input{Batch{Ref: "r", Acts: []Input{Cleared{}}}}
	case "Born":
		return []Input{Born{}}
	case "RollAsked":
		return []Input{RollAsked{}}
	case "Resumed":
		return []Input{Resumed{}}
	case "SpawnAsked":
		return []Input{SpawnAsked{Ref: "r", Child: work.Spawn{ID: "new", Create: json.RawMessage(`{}`)}}}
	case "ChildStarted":
		return answer("child", func(id string) Input { return ChildStarted{ID: id} })
	case "ChildFailed":
		return answer("child", func(id string) Input { return ChildFailed{ID: id, Code: "X"} })
	case "ChildTold":
		return []Input{ChildTold{Child: "k", Bond: w.bondOf("k"), Closed: true}}
	case "ChildClosed":
		for _, k := range w.kids {
			if !k.blind {
				ids = map[string]string{"kid": k.start}
			}
		}
		return answer("kid", func(id string) Input { return ChildClosed{ID: id} })
	case "ChildSeen":
		return answer("look", func(id string) Input { return ChildSeen{ID: id} })
	case "Reset":
		return []Input{Reset{Out: work.ResetOut{Epoch: 2}, Open: slices.Collect(maps.Values(ids))}}
	case "StepDone":
		return answer("step", func(id string) Input { return StepDone{ID: id, Out: w.failedStep(id)} })
	case "StepLost":
		return answer("step", func(id string) Input { return StepLost{ID: id, Why: LostExhausted} })
	case "ToolDone":
		return answer("tool", func(id string) Input { return ToolDone{ID: id} })
	case "ToolLost":
		return answer("tool", func(id string) Input { return ToolLost{ID: id, Why: LostExhausted} })
	case "Persisted":
		return answer("persist", func(id string) Input { return Persisted{ID: id, Out: w.persistOut(id)} })
	case "PersistFailed":
		return answer("persist", func(id string) Input { return PersistFailed{ID: id, Message: "disk full"} })
	case "Decided":
		for _, c := range w.state().Calls {
			if c.Ask != nil {
				return []Input{Decided{Ref: "r", ID: c.Ask.ID, Grant: true}}
			}
		}
		return []Input{Decided{Ref: "r", ID: "1.1.c1", Grant: true}}
	case "Answered":
		return []Input{Answered{Ref: "r", ID: "1.1.c1", Said: work.Said{Kind: work.WaitQuestion}}}
	case "PolicyAsked":
		return []Input{PolicyAsked{Ref: "r", Mode: work.PolicyNever}}
	case "PlanAsked":
		return []Input{PlanAsked{Ref: "r", On: true}}
	case "MaintainAsked":
		return []Input{MaintainAsked{Ref: "r", Task: "t"}}
	case "MaintainDone":
		return answer("maintain", func(id string) Input { return MaintainDone{ID: id, Out: w.failedTask(id)} })
	case "MaintainLost":
		return answer("maintain", func(id string) Input { return MaintainLost{ID: id, Why: LostExhausted} })
	case "ConfigureAsked":
		return []Input{ConfigureAsked{Ref: "r", Patch: json.RawMessage(`{"title":"t"}`)}}
	case "ConfigureDone":
		return answer("configure", func(id string) Input {
			return ConfigureDone{ID: id, Out: work.ConfigureOut{Recorded: &work.Recorded{Spec: "s2"}}}
		})
	case "ConfigureLost":
		return answer("configure", func(id string) Input { return ConfigureLost{ID: id} })
	case "HookDone":
		return answer("hook", func(id string) Input { return HookDone{ID: id} })
	case "HookLost":
		return answer("hook", func(id string) Input { return HookLost{ID: id} })
	case "TimerFired":
		for _, kind := range []string{"flush", "approval"} {
			if id, ok := ids[kind]; ok {
				return []Input{TimerFired{ID: id}}
			}
		}
		return answer("retry", func(id string) Input { return TimerFired{ID: id} })
	}
	w.failf("no input %s", kind)
	return nil
}

// failedStep is the answer of a Step that wrote nothing.
func (w *world) failedStep(id string) work.StepOut {
	for _, r := range w.open {
		if e, ok := r.effect.(StartStep); ok && r.id == id {
			return work.StepOut{Echo: work.EchoOf(e.In.Head.Count, e.In.Tail), Head: e.In.Head, Outcome: work.StepFailed}
		}
	}
	return work.StepOut{}
}

// failedTask is the answer of a task that wrote nothing.
func (w *world) failedTask(id string) work.MaintainOut {
	for _, r := range w.open {
		if e, ok := r.effect.(StartMaintain); ok && r.id == id {
			return work.MaintainOut{Echo: work.EchoOf(e.In.Head.Count, e.In.Tail), Head: e.In.Head, Failure: &session.Failure{Code: "X"}}
		}
	}
	return work.MaintainOut{}
}

func (w *world) persistOut(id string) work.PersistOut {
	for _, r := range w.open {
		if e, ok := r.effect.(StartPersist); ok && r.id == id {
			return work.PersistOut{Echo: work.EchoOf(e.In.Head.Count, e.In.Tail), Head: work.Head{Hash: "h", Count: e.In.Head.Count + int64(len(e.In.Tail))}}
		}
	}
	return work.PersistOut{}
}

type sums struct{ phases, calls, inputs []string }

// closedSums reads the phases, the states of a call and the inputs from the source.
func closedSums(t *testing.T) (out sums) {
	files := token.NewFileSet()
	for _, name := range []string{"state.go", "input.go"} {
		file, err := parser.ParseFile(files, name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.GenDecl:
				out.phases = append(out.phases, constantsOf(decl, "Phase")...)
				out.calls = append(out.calls, constantsOf(decl, "CallState")...)
			case *ast.FuncDecl:
				if decl.Name.Name == "isInput" {
					out.inputs = append(out.inputs, decl.Recv.List[0].Type.(*ast.Ident).Name)
				}
			}
		}
	}
	require.NotEmpty(t, out.phases)
	require.NotEmpty(t, out.calls)
	require.NotEmpty(t, out.inputs)
	slices.Sort(out.inputs)
	return out
}

// constantsOf are the values of the constants of a type.
func constantsOf(decl *ast.GenDecl, kind string) []string {
	var out []string
	for _, spec := range decl.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == kind {
				out = append(out, strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
	}
	return out
}
