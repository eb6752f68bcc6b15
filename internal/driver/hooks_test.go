package driver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// The turn-stopping hook, spec §4.9.4.
func TestStopping(t *testing.T) {
	t.Parallel()
	const stops = `
			born stop
			notes created` + opened
	runScripts(t, []script{
		{"C-190 it steers until there are three steps: one turn", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			open hook
			hook ok acts=steer:b => IS+(next-step:b) IS-(next-step:1)
			step ok => SS1.2 UM(b) CH×1 AM SE
			hook ok acts=steer:c => IS+(next-step:c) IS-(next-step:1)
			step ok => SS1.3 UM(c) CH×1 AM SE
			hook ok => TE(completed)
			status running,idle
		`},
		{"C-191 it does nothing: called once", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok => TE(completed)
			open 
		`},
		{"C-192 it fails: the turn does, the next one works", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook fail UNKNOWN => TE(error UNKNOWN)
			notes inserted(a) session-start claimed(a,1) error(UNKNOWN)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) CH×1 AM SE
			hook ok => TE(completed)
		`},
		{"C-192 it fails although it steered: what it sent is parked", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook fail X acts=steer:b => IS+(next-step:b) TE(error X)
			pending step:b
			phase idle
		`},
		{"a failure without a code is UNKNOWN", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook fail => TE(error UNKNOWN)
		`},
		{"it is lost: the turn fails", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			lost hook exhausted => TE(error UNKNOWN)
		`},
		{"C-193 an injection objects too", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok acts=inject:b => IS+(next-step:b) IS-(next-step:1)
		`},
		{"§4.9.4 a prompt is no objection", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok acts=followup:b => IS+(next-turn:b) TE(completed) TS2 IS-(next-turn:1)
		`},
		{"C-194 not between steps while tools are owed", stops + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok => TR(c1) SE
			open step+owed
			step ok => SS1.2 CH×1 AM SE
			open hook
		`},
		{"§4.9.3 not while there is steering", stops + `
			steer b
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:b) SE IS-(next-step:1)
			step ok => SS1.2 UM(b) CH×1 AM SE
			open hook
		`},
		{"C-173 after a concluding tool", stops + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok concludes => TR(c1) SE
			open hook
			hook ok => TE(completed)
		`},
		{"what callers send during it joins, in order", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			steer x => IS+(next-step:x)
			receipt steered seq=10
			followup y => IS+(next-turn:y)
			receipt queued
			hook ok acts=steer:b => IS+(next-step:b) IS-(next-step:2)
			step ok => SS1.2 UM(x) UM(b) CH×1 AM SE
			hook ok => TE(completed) TS2 IS-(next-turn:1)
		`},
		{"§4.9.5 max-tokens sticks", stops + `
			step max-tokens => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok => TE(max-tokens)
		`},
		{"C-058 it injects, the gate empties the step: no second step and no second call", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok acts=inject:x => IS+(next-step:x) IS-(next-step:1)
			step empty => TE(completed)
			notes inserted(a) session-start claimed(a,1) inserted(x) claimed(x,1) dropped(x,1,rewritten)
			phase idle
		`},
		{"C-059 it injects, the gate rejects the step", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok acts=inject:x => IS+(next-step:x) IS-(next-step:1)
			step reject => TE(blocked)
			phase idle
		`},
		{"C-234 it cancels", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok acts=cancel:hook:enough => CR(hook enough) TE(aborted hook enough)
			phase idle
		`},
		{"X12 it steers and cancels: no further step", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok acts=steer:b,cancelkeep:user => IS+(next-step:b) CR(user) TE(aborted user)
			pending step:b
			phase idle
		`},
		{"X12 cancelled during it", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			steer b => IS+(next-step:b)
			cancel => CR(user) ISx(next-step:1)
			stopped hook
			phase stopping
			hook fail X => TE(aborted user)
			notes inserted(a) session-start claimed(a,1) inserted(b) discarded(b)
			status running,idle
		`},
		{"X12 cancelled, and lost", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			cancel => CR(user)
			lost hook cancelled => TE(aborted user)
		`},
		{"X12 what it steers after the cancel is redirected and replayed", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			cancel => CR(user)
			hook ok acts=steer:b => IS+(next-turn:b) TE(aborted user) TS2 IS-(next-turn:1)
			status running,idle,running
		`},
		{"a disposal during it", stops + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			dispose => CR(disposed)
			hook ok acts=steer:b => IS+(next-turn:b) TE(aborted disposed)
			closed 
			pending turn:b
		`},
		{"not for a turn that ends otherwise", stops + `
			step error SERVER => SS1.1 UM(a) RH(initial) RC CH×1 AA SE TE(error SERVER)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step reject => TE(blocked)
			followup c => IS+(next-turn:c) TS3 IS-(next-turn:1)
			step empty => TE(completed)
		`},
	})
}

func TestTheStoppingHookCountsItsCalls(t *testing.T) {
	t.Parallel()
	w := runScript(t, `
			born stop`+opened+`
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			hook ok acts=steer:b => IS+(next-step:b) IS-(next-step:1)
			step ok => SS1.2 UM(b) CH×1 AM SE
	`, true)
	in := w.find("hook").effect.(StartHook).In
	require.Equal(t, work.HookIn{ID: in.ID, Ident: w.state().ident(), Point: work.HookTurnStopping, Turn: 1, N: 2}, in)
}

// The session-start hook, spec §6.1.6.
func TestStarting(t *testing.T) {
	t.Parallel()
	const waits = `
			born start
			notes created
			followup a => IS+(next-turn:a)
			phase starting
			open hook
			status running
	`
	runScripts(t, []script{
		{"C-280 at the first wake, once, before turn/start", waits + `
			notes inserted(a) session-start
			receipt started seq=0
			hook ok => TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			open step
		`},
		{"an agent that never runs never starts", `
			born start
			inject x => IS+(next-step:x)
			maintain t
			task ok
			dispose
			notes created inserted(x) disposed
			closed 
		`},
		{"C-284 what it injects is in the first request", waits + `
			hook ok acts=inject:x => IS+(next-step:x) TS1 IS-(next-step:1) IS-(next-turn:1)
			step ok => SS1.1 UM(x) UM(a) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"what it sends comes after the message that woke the agent", waits + `
			hook ok acts=followup:x => IS+(next-turn:x) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed) TS2 IS-(next-turn:1)
		`},
		{"C-285 a failure is contained", waits + `
			notes inserted(a) session-start
			hook fail X acts=inject:x => IS+(next-step:x) TS1 IS-(next-step:1) IS-(next-turn:1)
			notes inserted(x) error(X) claimed(x,1) claimed(a,1)
			step ok => SS1.1 UM(x) UM(a) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"C-285 so is a loss", waits + `
			lost hook exhausted => TS1 IS-(next-turn:1)
		`},
		{"callers may send meanwhile", waits + `
			followup b => IS+(next-turn:b)
			receipt queued
			steer c => IS+(next-step:c)
			receipt queued
			inject d => IS+(next-step:d)
			receipt parked
			hook ok => TS1 IS-(next-step:2) IS-(next-turn:1)
		`},
		{"C-045 the turn opens although the message is gone", waits + `
			remove a => ISx(next-turn:1)
			hook ok => TS1
			step empty => TE(completed)
		`},
		{"X2 cancelled during it: no turn, and no error is told", waits + `
			notes inserted(a) session-start
			cancel => CR(user) ISx(next-turn:1)
			stopped hook
			status 
			hook fail X
			notes discarded(a)
			status idle
			phase idle
			followup b => IS+(next-turn:b) TS1 IS-(next-turn:1)
			open step
		`},
		{"X2 with keepInbox the message is parked", waits + `
			cancel keep => CR(user)
			lost hook cancelled
			phase idle
			pending turn:a
		`},
		{"C-216 X2 and a prompt after it: only that one runs", waits + `
			cancel => CR(user) ISx(next-turn:1)
			steer b => IS+(next-turn:b)
			receipt queued
			hook ok => TS1 IS-(next-turn:1)
			status idle,running
			step ok => SS1.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"it cancels", waits + `
			hook ok acts=inject:x,cancel:user => IS+(next-step:x) CR(user) ISx(next-step:1) ISx(next-turn:1)
			phase idle
			status idle
		`},
		{"a disposal during it", waits + `
			dispose => CR(disposed) ISx(next-turn:1)
			hook ok acts=steer:x => IS+(next-turn:x)
			closed 
			pending turn:x
		`},
		{"while the log is still flushed", `
			born start
			hold
			inject x => IS+(next-step:x)
			followup a => IS+(next-turn:a)
			open publish hook
			hook ok => TS1
			phase claiming
			persist => IS-(next-step:1) IS-(next-turn:1)
			open step
		`},
		{"a flush that fails meanwhile", `
			born start
			hold
			inject x => IS+(next-step:x)
			followup a => IS+(next-turn:a)
			persist fail
			hook ok => TS1 IS-(next-step:1) IS-(next-turn:1)
			open flush step
		`},
		{"a rollover does not take place during it", waits + `
			roll
			phase starting
			hook ok => TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			phase idle
			resume
		`},
		{"input before birth starts it", `
			followup a => IS+(next-turn:a)
			born start
			open hook
			notes inserted(a) created session-start
			hook ok => TS1 IS-(next-turn:1)
		`},
		{"C-283 so does input of the created hooks, after the birth", `
			born start acts=followup:a,inject:x => IS+(next-turn:a) IS+(next-step:x)
			notes inserted(a) inserted(x) created session-start
			hook ok => TS1 IS-(next-step:1) IS-(next-turn:1)
		`},
	})
}

func TestTextsOfHooksAreClipped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100_000) + "\xff"
	for _, answer := range []func(id string) Input{
		func(id string) Input { return HookLost{ID: id, Message: long} },
		func(id string) Input {
			return HookDone{ID: id, Out: work.HookOut{Failure: &session.Failure{Message: long}}}
		},
	} {
		w := unborn(t)
		w.bornAs(work.SetupOut{Manifest: work.Manifest{SessionStart: true, TurnStopping: true}})
		w.act("followup a")
		w.feed(answer(w.take("hook").id))
		require.Less(t, len(asJSON(t, w.state())), 4*work.InlineLimit)
		w.act("step ok")
		w.feed(answer(w.take("hook").id))
		require.Less(t, len(asJSON(t, w.state())), 4*work.InlineLimit)
		for _, r := range w.log.Records() {
			require.Less(t, size(r), 4*work.InlineLimit)
		}
		require.Contains(t, session.Trace(w.log.Records(), nil), "TE(error UNKNOWN)")
	}
}
