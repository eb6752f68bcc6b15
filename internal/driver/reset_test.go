package driver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
)

// reset sets the agent back to where it is: what was open is nobody's from now on, and its answers change nothing. An
// answered step is one whose answer had come before that point.
func (w *world) reset(told, answered bool) {
	w.t.Helper()
	in := Reset{Out: work.ResetOut{Epoch: w.state().Epoch + 1, Worker: work.Worker{Rules: work.Rules}}}
	if told {
		m := user("told", 0)
		in.Out.Context = &m
	}
	w.abandoned = map[string]bool{}
	for _, r := range slices.Clone(w.open) {
		switch r.effect.(type) {
		case StartTimer, StartPersist:
			continue
		case StartStep:
			if answered {
				continue
			}
		}
		w.drop(r)
		w.abandoned[r.id] = true
		in.Open = append(in.Open, r.id)
	}
	w.feed(in)
	for _, id := range in.Open {
		for _, late := range []Input{StepLost{ID: id}, ToolLost{ID: id}, HookLost{ID: id}, MaintainLost{ID: id}} {
			before := asJSON(w.t, w.state())
			events, effects := w.d.Handle(w.now, late)
			require.Empty(w.t, events, "an abandoned effect")
			require.Empty(w.t, effects, "an abandoned effect")
			require.Equal(w.t, before, asJSON(w.t, w.state()), "an abandoned effect")
		}
	}
	w.restore()
}

// showEpochs shows in which epoch the open effects work, and, of a call, the epoch of its key.
func (w *world) showEpochs() string {
	var out []string
	for _, r := range w.open {
		switch e := r.effect.(type) {
		case StartStep:
			out = append(out, fmt.Sprintf("step@%d", e.In.Ident.Epoch))
		case StartHook:
			out = append(out, fmt.Sprintf("%s@%d", e.In.Point, e.In.Ident.Epoch))
		case StartTool:
			out = append(out, fmt.Sprintf("%s@%d/%s", e.In.Call.ID, e.In.Ident.Epoch, strings.Split(e.In.Key, "/")[1]))
		case StartPersist:
			out = append(out, fmt.Sprintf("persist@%d", e.In.Ident.Epoch))
		}
	}
	return strings.Join(out, " ")
}

// What ran when the run was set back is begun anew in the new epoch; calls that the model had asked for keep their keys.
// See architecture A3.12.
func TestReset(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"at idle", `
			reset
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			epochs step@2
		`},
		{"at idle, with effects to tell of: they are context of the next step", `
			reset told => IS+(next-step:told)
			phase idle
			followup a => IS+(next-turn:a) TS1 IS-(next-step:1) IS-(next-turn:1)
			epochs step@2
		`},
		{"while the model answers", opened + `
			epochs step@1
			reset
			open step
			epochs step@2
			reset
			epochs step@3
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"with the model's answer on its way: the calls of that answer may have been made before", opened + `
			reset answered
			open step
			epochs step@1
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			epochs c1@2/1
			before 
			tool c1 ok => TR(c1) SE
			step calls c2 => SS1.2 CH×1 AM TC(c2)
			epochs c2@2/2
			before s/1/1.2/c2
			reset
			epochs c2@3/2
			before s/1/1.2/c2
			tool c2 ok => TR(c2) SE
			step calls c3 => SS1.3 CH×1 AM TC(c3)
			before s/1/1.3/c3 s/2/1.3/c3
		`},
		{"while a later attempt runs", retried + `
			timer retry => LRS(1)
			reset
			open step#2
			epochs step@2
		`},
		{"while a retry waits", retried + `
			reset
			open retry
			timer retry => LRS(1)
			epochs step@2
		`},
		{"while a lost step is settled it is begun anew", opened + `
			lost step exhausted
			open settle(exhausted)
			reset
			open step
		`},
		{"while a cancelled step ends", opened + `
			cancel => 
			reset
			open settle(cancelled)
			epochs step@2
		`},
		{"while tools run", called + `
			epochs c1@1/1 c2@1/1
			reset
			open tool:c1 tool:c2
			epochs c1@2/1 c2@2/1
			tool c1 ok => TR(c1)
			reset
			epochs c2@3/1
			tool c2 ok => TR(c2) SE
			epochs step@3
			step calls c3 => SS1.2 CH×1 AM TC(c3)
			epochs c3@3/3
		`},
		{"while a cancelled tool ends: the ledger is asked", called + `
			cancel => CR(user)
			reset
			open settle(cancelled):c1 settle(cancelled):c2
		`},
		{"while a lost tool is settled", called + `
			lost tool c1 exhausted
			reset
			open settle(cancelled):c1 tool:c2
		`},
		{"while a gate runs", gated + `
			reset
			open gate:c1
			epochs c1@2/1
		`},
		{"while a cancelled gate ends", gated + `
			cancel => CR(user)
			reset => TR!(c1,ABORTED_BEFORE_DISPATCH) TC(c2) TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"while a person decides", asking + `
			reset
			phase tools
			grant 1.1.c1 => approval/decided
			epochs c1@2/1
		`},
		{"while a post stage runs", posting + `
			reset
			open post:c3
			epochs c3@2/1
		`},
		{"while a hook runs", stopping + `
			reset
			epochs turn-stopping@2
			hook ok => TE(completed)
		`},
		{"while the first hook runs", `
			born start
			followup a => IS+(next-turn:a)
			reset
			epochs session-start@2
		`},
		{"while a cancelled hook ends", stopping + `
			cancel => CR(user)
			reset => TE(aborted user)
		`},
		{"while a task runs it counts as lost: nobody knows how far it came", `
			maintain t
			reset
			phase idle
			result WORKER_LOST
		`},
	})
}

func TestAResetCountsOnlyForward(t *testing.T) {
	t.Parallel()
	w := unborn(t)
	w.born(0)
	before := asJSON(t, w.state())
	told := user("told", 0)
	w.feed(Reset{Out: work.ResetOut{Epoch: w.state().Epoch, Context: &told}})
	require.Equal(t, before, asJSON(t, w.state()))
}
