package driver

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	{"opening", Opening, ""},
	{"claiming", Claiming, "hold\ninject p => IS+(next-step:p)\nfollowup a => IS+(next-turn:a) TS1"},
	{"claiming/roll", Claiming, called + "inject p => IS+(next-step:p)\ntool c1 ok => TR(c1)\nroll\ntool c2 ok => TR(c2) SE"},
	{"step", Stepping, opened + "inject p"},
	{"step/settling", Stepping, opened + "inject p\nlost step exhausted"},
	{"step/long tail", Stepping, retried + "hold\ninject p text=20000 => IS+(next-step:p)\ninject q text=20000 => IS+(next-step:q)\ntimer retry => LRS(1)"},
	{"retry", Retrying, retried + "inject p => IS+(next-step:p)"},
	{"tools", Tools, called + "inject p => IS+(next-step:p)"},
	{"draining", Draining, ended + "inject p => IS+(next-step:p)"},
	{"draining/failed", Draining, failed + "inject p => IS+(next-step:p)"},
	{"closed", Closed, "inject p => IS+(next-step:p)\ndispose"},
}

// What becomes of an input. An answer is given to the effect that runs, if there is one; a stale answer is dropped
// everywhere.
const (
	handled = "+"       // the state changes
	noop    = "="       // answered, and nothing changes
	dropped = "."       // nothing at all
	closed  = "CLOSED"  // refused
	invalid = "INVALID" // refused: an answer cannot be part of a batch, and only a batch gets between wake and turn/start
)

// everyInput has a row for every input and a column for every situation, in order.
var everyInput = map[string][]string{
	//                birth    idle     /flush   /broken  opening  claiming /roll    step     /settle  /long    retry    tools    draining /failed  closed
	"Sent":          {handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, closed},
	"Removed":       {handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, closed},
	"Replaced":      {handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, closed},
	"Cleared":       {handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, closed},
	"CancelAsked":   {noop, noop, noop, noop, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, noop},
	"DisposeAsked":  {handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, handled, noop},
	"Batch":         {handled, handled, handled, handled, invalid, handled, handled, handled, handled, handled, handled, handled, handled, handled, closed},
	"Born":          {handled, dropped, dropped, dropped, invalid, dropped, dropped, dropped, dropped, dropped, dropped, dropped, dropped, dropped, dropped},
	"StepDone":      {dropped, dropped, dropped, dropped, invalid, dropped, dropped, handled, handled, dropped, dropped, dropped, dropped, dropped, dropped},
	"StepLost":      {dropped, dropped, dropped, dropped, invalid, dropped, dropped, handled, handled, dropped, dropped, dropped, dropped, dropped, dropped},
	"ToolDone":      {dropped, dropped, dropped, dropped, invalid, dropped, dropped, dropped, dropped, dropped, dropped, handled, dropped, dropped, dropped},
	"ToolLost":      {dropped, dropped, dropped, dropped, invalid, dropped, dropped, dropped, dropped, dropped, dropped, handled, dropped, dropped, dropped},
	"Persisted":     {dropped, dropped, handled, dropped, invalid, handled, dropped, dropped, dropped, handled, dropped, dropped, handled, handled, dropped},
	"PersistFailed": {dropped, dropped, handled, dropped, invalid, handled, dropped, dropped, dropped, handled, dropped, dropped, handled, handled, dropped},
	"TimerFired":    {dropped, dropped, dropped, handled, invalid, dropped, dropped, dropped, dropped, dropped, handled, dropped, dropped, dropped, dropped},
	"RollAsked":     {handled, handled, handled, handled, invalid, handled, dropped, handled, handled, handled, handled, handled, handled, handled, dropped},
	"Resumed":       {dropped, dropped, dropped, handled, invalid, dropped, handled, dropped, dropped, dropped, handled, dropped, dropped, dropped, dropped},
}

// TestEveryPhaseTakesEveryInput checks the table against the driver, and the table against the source: a phase or an
// input that is added needs its entry.
func TestEveryPhaseTakesEveryInput(t *testing.T) {
	t.Parallel()
	phases, inputs := closedSums(t)
	covered := map[Phase]bool{}
	for _, s := range situations {
		covered[s.phase] = true
	}
	for _, p := range phases {
		require.True(t, covered[Phase(p)], "phase %s has no situation in this test", p)
	}
	require.Len(t, everyInput, len(inputs))
	for _, kind := range inputs {
		row, ok := everyInput[kind]
		require.True(t, ok, "input %s has no row in this test", kind)
		require.Len(t, row, len(situations), kind)
		for i, s := range situations {
			t.Run(s.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				require.Equal(t, row[i], outcome(t, s, kind))
			})
		}
	}
}

// outcome feeds one input and says what happened.
func outcome(t *testing.T, s situation, kind string) string {
	w := unborn(t)
	if s.phase != Birth {
		w.born(0)
	}
	if s.phase == Opening {
		return inBatch(w, kind)
	}
	runLines(w, s.text)
	require.Equal(t, s.phase, w.state().Phase)
	w.hold = true
	ids := map[string]string{}
	for _, r := range w.open {
		name, _, _ := strings.Cut(r.id, "-")
		ids[name] = r.id
	}
	if kind != "Born" && kind != "Resumed" && kind != "RollAsked" && len(w.inputOf(kind, nil)) == 2 {
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
		if r, ok := e.(Reply); ok {
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
	case "TimerFired":
		if id, ok := ids["flush"]; ok {
			return []Input{TimerFired{ID: id}}
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

func (w *world) persistOut(id string) work.PersistOut {
	for _, r := range w.open {
		if e, ok := r.effect.(StartPersist); ok && r.id == id {
			return work.PersistOut{Echo: work.EchoOf(e.In.Head.Count, e.In.Tail), Head: work.Head{Hash: "h", Count: e.In.Head.Count + int64(len(e.In.Tail))}}
		}
	}
	return work.PersistOut{}
}

// closedSums reads the phases and the inputs from the source.
func closedSums(t *testing.T) (phases, inputs []string) {
	files := token.NewFileSet()
	for _, name := range []string{"state.go", "input.go"} {
		file, err := parser.ParseFile(files, name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.GenDecl:
				phases = append(phases, phasesOf(decl)...)
			case *ast.FuncDecl:
				if decl.Name.Name == "isInput" {
					inputs = append(inputs, decl.Recv.List[0].Type.(*ast.Ident).Name)
				}
			}
		}
	}
	require.NotEmpty(t, phases)
	require.NotEmpty(t, inputs)
	slices.Sort(inputs)
	return phases, inputs
}

func phasesOf(decl *ast.GenDecl) []string {
	var out []string
	for _, spec := range decl.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Phase" {
				out = append(out, strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
	}
	return out
}
