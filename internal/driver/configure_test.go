package driver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Architecture A3.12.
func TestConfigure(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"an idle agent has it at once", `
			configure {"model":"m2"}
			open configure
			patch {"model":"m2"}
			configured s2 rerouted
			receipt done
			spec s2*
			notes configured
			phase idle
		`},
		{"an open turn goes on with what it began with", opened + `
			configure {"model":"m2"}
			configured s2 rerouted
			receipt done
			spec spec
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			spec s2*
		`},
		{"the next turn of a queue has it", opened + `
			followup b
			configure {"model":"m2"}
			configured s2 rerouted
			spec spec
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-turn:b) SE TE(completed) TS2 IS-(next-turn:1)
			spec s2*
		`},
		{"a request with the new route has it no longer to be declared", opened + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			configure {"model":"m2"}
			configured s2 rerouted
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			spec s2*
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed)
			spec s2
		`},
		{"a step that never asked the model leaves it to be declared", `
			configure {"model":"m2"}
			configured s2 rerouted
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step reject => TE(blocked)
			spec s2*
		`},
		{"a cancel does not lose it", opened + `
			configure {"model":"m2"}
			cancel
			configured s2
			receipt done
			step cancelled => CR(user) TE(aborted user)
			spec s2
		`},
		{"nor one that was checked before", opened + `
			configure {"model":"m2"}
			configured s2
			cancel
			step cancelled => CR(user) TE(aborted user)
			spec s2
		`},
		{"changes are checked one after another, each against the one before", opened + `
			configure {"a":1}
			configure {"a":2}
			configure {"a":3}
			open step configure
			configured s2
			base s2
			patch {"a":2}
			configured refused
			receipt refused INVALID_SPEC
			base s2
			patch {"a":3}
			configured s3
			receipt done
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			spec s3
		`},
		{"a refused change changes nothing", `
			configure {"model":"m2"}
			configured refused
			receipt refused INVALID_SPEC
			spec spec
		`},
		{"nor does one that no worker could check", `
			configure {"model":"m2"}
			lost configure exhausted
			receipt refused STORE
			spec spec
		`},
		{"the same request is applied once", `
			configure {"model":"m2"} req=r1
			configured s2
			configure {"model":"m2"} req=r1
			receipt duplicate
			open 
		`},
		{"an agent that ends answers who waits", `
			configure {"model":"m2"}
			dispose
			closed 
			configured s2
		`},
		{"a maintenance task is none of its business", `
			maintain t
			configure {"model":"m2"}
			configured s2
			spec spec
			task ok
			spec s2
		`},
	})
}

func TestConfigureIsRefusedBeforeAWorkerSeesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch string
		code  string
	}{
		"no JSON":   {`{"model":`, RefusedInvalid},
		"too large": {`{"title":"` + strings.Repeat("x", work.SpecLimit) + `"}`, RefusedTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := runScript(t, "", false)
			w.feed(ConfigureAsked{Ref: w.ref(), Patch: json.RawMessage(c.patch)})
			require.Equal(t, c.code, w.receipt.Code)
			require.Empty(t, w.open)
		})
	}
}

func TestManyChangesWaitAndTheRestIsRefused(t *testing.T) {
	t.Parallel()
	w := runScript(t, "", false)
	for i := range maxConfigures + 1 {
		w.feed(ConfigureAsked{Ref: w.ref(), Patch: json.RawMessage(fmt.Sprintf(`{"maxTokens":%d}`, i+1))})
	}
	require.Equal(t, RefusedBusy, w.receipt.Code)
	for i := range maxConfigures {
		w.configured(fmt.Sprintf("s%d", i+2), false)
	}
	require.Equal(t, fmt.Sprintf("s%d", maxConfigures+1), w.state().Spec)
	w.checkReplies()
}

// A later deployment's manifest comes with whatever a newer worker answers, and goes for the next turn.
func TestTheManifestIsRefreshedBetweenTurns(t *testing.T) {
	t.Parallel()
	newer := &work.Manifest{Rules: 1, Digest: "new", TurnStopping: true, Tasks: []string{"tidy"}}
	w := runScript(t, opened, false)
	r := w.take("step")
	in := r.effect.(StartStep).In
	w.feed(StepDone{ID: r.id, Out: work.StepOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: in.Head, Outcome: work.StepFailed,
		Worker: work.Worker{Rules: 1, Manifest: "new", Refresh: newer}}})
	require.Equal(t, *newer, w.state().Manifest, "it is idle")
	require.Equal(t, "new", w.state().ident().Manifest, "a worker can tell")

	w.feed(Sent{Message: user("b", 0), Target: "next-turn", Wakeup: true})
	w.stepDone(answer{outcome: work.StepMessage, finish: "stop", chunks: 1})
	require.NotNil(t, w.find("hook"), "the new hook runs")
}

func TestAnOpenTurnKeepsItsManifest(t *testing.T) {
	t.Parallel()
	w := runScript(t, called, false)
	c := w.find("tool")
	w.drop(c)
	w.feed(ToolDone{ID: c.id, Out: work.ToolOut{Worker: work.Worker{Rules: 1, Refresh: &work.Manifest{Digest: "new", TurnStopping: true}}}})
	require.Empty(t, w.state().Manifest.Digest)
	require.Equal(t, "new", w.state().Refresh.Digest)
}

// Architecture A3.12: a worker older than the state's rules fails the task, so that another takes it.
func TestANewerWorkersAgentIsLeftToOneLikeIt(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]Input{
		"it answers with newer rules":    Born{Out: work.SetupOut{Worker: work.Worker{Rules: work.Rules + 1}}},
		"its state comes from a new run": Resumed{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := State{Session: "s", Phase: Birth}
			if _, ok := in.(Resumed); ok {
				s.Rules = work.Rules + 1
			}
			_, effects := Restore(s).Handle(1, in)
			var defects int
			for _, e := range effects {
				if d, ok := e.(Defect); ok {
					defects++
					require.Contains(t, d.Message, "a newer worker must take it")
				}
			}
			require.Equal(t, 1, defects)
		})
	}
}

// A task that the manifest does not name is a worker's to refuse, if the workers tell what is new. See spec §3.6.
func TestAWorkerDecidesAboutATaskItMayHaveGotLater(t *testing.T) {
	t.Parallel()
	w := unborn(t)
	w.bornAs(work.SetupOut{Manifest: work.Manifest{Digest: "old", Refreshes: true}})
	w.feed(MaintainAsked{Ref: w.ref(), Task: "tidy"})
	w.taskDone(0, work.MaintainOut{Result: json.RawMessage(`1`), Worker: work.Worker{Refresh: &work.Manifest{Digest: "new", Tasks: []string{"tidy"}, Refreshes: true}}})
	require.Equal(t, Done, w.receipt.Disposition)
	require.Equal(t, []string{"tidy"}, w.state().Manifest.Tasks)

	w.feed(MaintainAsked{Ref: w.ref(), Task: "nobody's"})
	w.taskDone(0, work.MaintainOut{Failure: &session.Failure{Code: work.CodeUnknownTask, Message: "no"}})
	require.Equal(t, Refused, w.receipt.Disposition)
	require.Equal(t, RefusedUnknownTask, w.receipt.Code)
}
