package driver

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Spec §3.6.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"C-250 status stays idle, the result is returned", `
			maintain t
			open maintain
			phase maintaining
			task ok
			receipt done
			result {"n":1}
			status 
			notes 
			phase idle
		`},
		{"§3.6.3 so is its failure", `
			maintain t
			task fail X
			receipt done
			result X
			notes 
		`},
		{"what it logged is in the log, whether it failed or not", `
			maintain t
			task ok writes=2 => session/title session/title
			maintain t
			task fail X writes=1 => session/title
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
		`},
		{"C-251 not while the agent runs", opened + `
			maintain t
			receipt refused BUSY
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"C-251 not while it drains", ended + `
			maintain t
			receipt refused BUSY
		`},
		{"C-252 not while another task runs", `
			maintain t
			maintain t
			receipt refused BUSY
			task ok
			receipt done
		`},
		{"not before birth, not after the end", `
			maintain t
			receipt refused BUSY
			born
			dispose
			maintain t
			receipt refused CLOSED
		`},
		{"not while it is disposed", `
			hold
			inject x => IS+(next-step:x)
			dispose
			maintain t
			receipt refused BUSY
			release
			closed 
		`},
		{"not an unknown one", `
			maintain u
			receipt refused UNKNOWN_TASK
			phase idle
		`},
		{"not with arguments that are too large", `
			maintain t args=40000
			receipt refused TOO_LARGE
			maintain t args=30000
			task ok
			receipt done
		`},
		{"a request is accepted once", `
			maintain t req=r1
			maintain t req=r1
			receipt duplicate
			task ok
			maintain t req=r1
			receipt duplicate
			phase idle
		`},
		{"a refused request may come again", opened + `
			maintain t req=r1
			receipt refused BUSY
			step empty => TE(completed)
			maintain t req=r1
			task ok
			receipt done
		`},
		{"not in a batch", `
			batch maintain t; inject a => IS+(next-step:a)
			receipt done [refused INVALID] [parked]
			phase idle
		`},
		{"C-253 a prompt during it runs after it", `
			maintain t
			followup a
			receipt queued
			status 
			task ok => IS+(next-turn:a) TS1 IS-(next-turn:1)
			status running
		`},
		{"§3.6.4 steering stays steering", `
			maintain t
			steer a
			receipt queued
			task ok writes=1 => session/title IS+(next-step:a) TS1 IS-(next-step:1)
		`},
		{"C-254 a prompt that was removed opens no turn", `
			maintain t
			followup a
			remove a
			task ok => IS+(next-turn:a) ISx(next-turn:1)
			phase idle
			status 
			inject b => IS+(next-step:b)
			phase idle
		`},
		{"C-255 an injection runs nothing", `
			maintain t
			inject a
			receipt parked
			task ok => IS+(next-step:a)
			phase idle
			pending step:a
		`},
		{"C-256 cancelled: what was latched is gone, a prompt after it runs, as a prompt", `
			maintain t
			followup a
			cancel
			stopped maintain
			steer b
			task fail ABORTED => IS+(next-turn:a) CR(user) ISx(next-turn:1) IS+(next-turn:b) TS1 IS-(next-turn:1)
			result ABORTED
			status running
		`},
		{"§3.6.5 cancelled, and nothing after it", `
			maintain t
			followup a
			cancel
			task ok => IS+(next-turn:a) CR(user) ISx(next-turn:1)
			phase idle
			status 
			followup b => IS+(next-turn:b) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"§3.4.3 the first cause wins, a later cancel still empties", `
			maintain t
			cancel keep
			followup a
			cancel parent
			task ok => CR(user) IS+(next-turn:a) CR(parent) ISx(next-turn:1)
			phase idle
		`},
		{"§3.4.3 what was pending before is discarded", `
			inject x => IS+(next-step:x)
			maintain t
			cancel
			task ok => CR(user) ISx(next-step:1)
		`},
		{"C-258 with keepInbox the latched prompt runs after the task", `
			maintain t
			followup a
			cancel keep
			task fail ABORTED => IS+(next-turn:a) CR(user) TS1 IS-(next-turn:1)
		`},
		{"§3.1.4 a cancel with cause disposed latches nothing", `
			maintain t
			cancel disposed
			followup a
			receipt parked
			task ok => CR(disposed) IS+(next-turn:a)
			phase idle
			pending turn:a
		`},
		{"a disposal during it", `
			maintain t
			followup a
			dispose
			followup b
			receipt parked
			stopped maintain
			task fail ABORTED => IS+(next-turn:a) CR(disposed) ISx(next-turn:1) IS+(next-turn:b)
			closed 
			pending turn:b
			status 
		`},
		{"a disposal before the log is free", `
			hold
			inject x => IS+(next-step:x)
			maintain t
			dispose => CR(disposed) ISx(next-step:1)
			result ABORTED
			release
			closed 
		`},
		{"it is lost", `
			maintain t
			followup a
			lost task exhausted => IS+(next-turn:a) TS1 IS-(next-turn:1)
			result WORKER_LOST
		`},
		{"it is lost in a cancel", `
			maintain t
			cancel
			lost task cancelled => CR(user)
			receipt done
			result ABORTED
			phase idle
		`},
		{"asked while a flush runs: it waits for the log", `
			hold
			inject x => IS+(next-step:x)
			maintain t
			open publish
			phase maintaining
			inject y => IS+(next-step:y)
			persist
			open maintain
			inject z
			task ok writes=1 => session/title IS+(next-step:z)
			open publish
			persist
			phase idle
			pending step:x,y,z
		`},
		{"asked while a flush runs that fails: the task takes the tail along", `
			hold
			inject x => IS+(next-step:x)
			maintain t
			persist fail
			open flush maintain
			task ok writes=1 => session/title
			timer flush
			open 
		`},
		{"and one that logs nothing leaves it to the next flush", `
			hold
			inject x => IS+(next-step:x)
			persist fail
			maintain t
			task ok
			open flush publish
			persist
			phase idle
		`},
		{"asked while a flush runs, and cancelled before it began", `
			hold
			inject x => IS+(next-step:x)
			maintain t
			cancel keep => CR(user)
			result ABORTED
			phase idle
			open publish
			persist
			open publish
			persist
			open 
		`},
		{"C-258 and what was latched runs, with keepInbox", `
			hold
			inject x => IS+(next-step:x)
			maintain t
			followup a => IS+(next-turn:a)
			cancel keep => CR(user) TS1
			result ABORTED
			phase claiming
			persist => IS-(next-step:1) IS-(next-turn:1)
		`},
		{"A3.4 a long tail is persisted before it is lent", `
			hold
			inject x => IS+(next-step:x)
			inject y text=20000 => IS+(next-step:y)
			inject z text=20000 => IS+(next-step:z)
			maintain t
			persist
			open persist
			phase maintaining
			persist
			open maintain
			task ok
		`},
		{"A3.4 a long tail that cannot be persisted ends the task", `
			hold
			inject x text=20000 => IS+(next-step:x)
			inject y text=20000 => IS+(next-step:y)
			persist fail
			notes inserted(x) inserted(y) error(STORE)
			maintain t
			open flush persist
			followup a => IS+(next-turn:a)
			persist fail => TS1
			result STORE
			phase claiming
			open flush persist
		`},
		{"acts come before the result, and what wakes runs after it", `
			maintain t
			inject x
			task ok writes=1 acts=followup:y => session/title IS+(next-step:x) IS+(next-turn:y) TS1 IS-(next-step:1) IS-(next-turn:1)
			result {"n":1}
		`},
		{"a task that cancels itself only empties the inbox", `
			maintain t
			followup x
			task ok acts=cancel:user => IS+(next-turn:x) CR(user) ISx(next-turn:1)
			result {"n":1}
			phase idle
		`},
		{"A3.9 a run between two native cancels, of a task too", `
			cancel native
			maintain t
			task ok
			cancel native
			phase idle
			cancel native
			closed canceled
		`},
		{"a native cancel during it", `
			maintain t
			cancel native
			task fail ABORTED => CR(user)
			phase idle
		`},
		{"a rollover waits for it", `
			maintain t
			roll
			task ok
			resume
			phase idle
		`},
	})
}

func TestTheDriverHandsOverWhatATaskNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.feed(MaintainAsked{Ref: w.ref(), Request: "r", Task: "t", Args: json.RawMessage(`{"k":1}`)})
	in := w.find("maintain").effect.(StartMaintain).In
	require.Equal(t, work.MaintainIn{ID: in.ID, Ident: w.state().ident(), Task: "t", Args: json.RawMessage(`{"k":1}`)}, in)
	require.False(t, w.state().Quiet(), "C-257 whenIdle waits for it")
	w.taskDone(0, work.MaintainOut{Result: json.RawMessage(`1`)})
	require.True(t, w.state().Quiet())
	require.Equal(t, &Maintenance{Request: "r", Task: "t", Done: true, Result: json.RawMessage(`1`)}, w.state().Maintenance)
	w.checkReplies()

	w.feed(MaintainAsked{Ref: "x", Task: "t", Args: json.RawMessage(`{`)})
	require.Equal(t, RefusedInvalid, w.receipt.Code)
}

func TestATaskThatWasLentSomethingElse(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*work.MaintainOut){
		"other events":           func(out *work.MaintainOut) { out.Echo.Hash = "other" },
		"a head inside the loan": func(out *work.MaintainOut) { out.Head = work.Head{Hash: "h", Count: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.hold = true
			w.inject("a", 0)
			w.inject("b", 0)
			w.persisted(false)
			w.act("maintain t")
			id := w.find("maintain").id
			out := w.failedTask(id)
			change(&out)
			requireDefect(t, w, MaintainDone{ID: id, Out: out})
		})
	}
}

// A resumed or forked session goes on where its log ends, spec §7.1, §7.3.
func TestInheritedLogs(t *testing.T) {
	t.Parallel()
	const before = opened + `
			followup b
			inject x
			cancel keep
			step cut => SS1.1 UM(a) RH(initial) RC CH×1 AM! IS+(next-turn:b) IS+(next-step:x) CR(user) SE TE(aborted user)
	`
	for name, c := range map[string]struct{ mode, then string }{
		"C-300 C-303 C-304 a resume: pending again, nothing runs until a wake, turns go on": {"resume", `
			notes created(resume)
			phase idle
			status 
			pending step:x turn:b
			open 
			inject y => IS+(next-step:y)
			phase idle
			followup c => IS+(next-turn:c) TS2 IS-(next-step:2) IS-(next-turn:1)
			notes inserted(y) inserted(c) session-start(resume) claimed(x,2) claimed(y,2) claimed(b,2)
			step ok => SS2.1 UM(x) UM(y) UM(b) CH×1 AM SE TE(completed) TS3 IS-(next-turn:1)
		`},
		"C-320 a fork: the parent's input is not inherited": {"fork", `
			phase idle
			pending 
			followup c => IS+(next-turn:c) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(c) CH×1 AM SE TE(completed)
		`},
		"a resumed agent is edited, maintained and disposed like another": {"resume", `
			remove x => ISx(next-step:1)
			maintain t
			task ok writes=1 => session/title
			clear => ISx(next-turn:1)
			dispose
			closed 
		`},
		"a cancel finds it idle": {"resume", `
			cancel
			pending step:x turn:b
		`},
		"a rollover right after": {"resume", `
			roll
			resume
			pending step:x turn:b
			followup c => IS+(next-turn:c) TS2 IS-(next-step:1) IS-(next-turn:1)
		`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := runScript(t, before, false).reborn(c.mode, work.Manifest{})
			require.EqualValues(t, 2, w.state().Epoch)
			runLines(w, c.then)
			w.checkReplies()
		})
	}
	t.Run("the session-start hook runs once per incarnation", func(t *testing.T) {
		t.Parallel()
		w := runScript(t, before, false).reborn("resume", work.Manifest{SessionStart: true})
		runLines(w, `
			followup c => IS+(next-turn:c)
			open hook
			hook ok acts=inject:y => IS+(next-step:y) TS2 IS-(next-step:2) IS-(next-turn:1)
		`)
	})
	t.Run("acts of the created hooks come after what is inherited", func(t *testing.T) {
		t.Parallel()
		w := runScript(t, before, false)
		_, effects := New(State{Session: "s", Definition: "def"}, work.SetupIn{}, w.now)
		require.Len(t, effects, 1)
		d, _ := New(State{Session: "s", Definition: "def"}, work.SetupIn{}, w.now)
		m := user("y", 0)
		events, _ := d.Handle(w.now, Born{Out: work.SetupOut{Source: "resume", Log: &work.Inherited{Epoch: 3, Head: work.Head{Hash: "h", Count: 20}, Turn: 4,
			NextTurn: []work.Pending{{ID: "b", Bytes: 5}}}, Acts: []work.Act{{Kind: work.ActSend, Message: &m, Target: session.NextTurn, Wakeup: true}}}})
		require.Equal(t, "IS+(next-turn:y) TS5 IS-(next-turn:1)", session.Trace(events, nil))
		require.EqualValues(t, 20, events[0].Seq)
		require.Equal(t, []Pending{{ID: "y", Bytes: len(m.Text())}}, d.State().NextTurn)
		require.Equal(t, []string{"b"}, d.State().Batch)
		require.NoError(t, Check(d.State()))
	})
	t.Run("a taken id is still taken", func(t *testing.T) {
		t.Parallel()
		w := runScript(t, before, false).reborn("resume", work.Manifest{})
		runLines(w, `
			followup b
			receipt refused DUPLICATE_ID
		`)
	})
}
