package driver

import "testing"

// opened is a turn whose first Step runs; streamed one whose first message is in the log.
const (
	opened = `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
	`
	called = opened + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
	`
	retried = opened + `
			step error SERVER retry=1@500 => SS1.1 UM(a) RH(initial) RC CH×1 AA LR(1)
	`
	gated = opened + `
			step calls c1?,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
	`
	asking = opened + `
			step calls c1*?+,c2*? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask deadline=60000 => approval/asked TC(c2)
			gate c2 ask => approval/asked
			calls asking,asking
	`
	checking = opened + `
			step calls c1?+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask deadline=60000 digest=d1 => approval/asked
			grant 1.1.c1 digest=d1 edit={"k":2}
			calls checking
			open approval check:c1
	`
	delegated = opened + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok delegate=k deadline=60000
			child k started
			tool c2 ok
			calls delegated,finished
	`
	cleared = `
			born max=2` + opened + `
			step calls c1*,c2*?,c3*+,c4*+,c5*,c6 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			gate c2 ask => approval/asked TC(c3)
			tool c1 ok => TR(c1) TC(c4)
			tool c3 ok => TC(c5)
			grant 1.1.c2 => approval/decided
			calls committed,cleared,executed,running,running,waiting
	`
	posting = cleared + `
			tool c4 ok
			tool c2 ok => TR(c2)
			tool c5 ok
			calls committed,committed,posting,executed,finished,waiting
	`
	stopping = `
			born stop` + opened + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE
			phase stopping
	`
	ended = `
			hold` + opened + `
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			phase draining
	`
	failed = `
			hold` + opened + `
			step fail X => TE(error X)
			phase draining
	`
)

// The phases of spec §5, with what is pending before and what is left after.
func TestCancelByPhase(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"X1 C-200 idle: nothing, and nothing is armed", `
			cancel
			receipt done
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"X1 C-201 idle: what is pending stays", `
			inject x => IS+(next-step:x)
			park y => IS+(next-turn:y)
			cancel
			pending step:x turn:y
			status 
		`},
		{"X1 while the tail is flushed at idle", `
			hold
			inject x => IS+(next-step:x)
			open publish
			cancel
			persist
			pending step:x
		`},
		{"X2 C-215 between wake and turn/start: no turn", `
			batch followup a; cancel => IS+(next-turn:a) CR(user) ISx(next-turn:1)
			receipt done [started] [done]
			status running,idle
			phase idle
			pending 
		`},
		{"X2 with keepInbox the message is parked", `
			batch followup a; cancel keep => IS+(next-turn:a) CR(user)
			status running,idle
			pending turn:a
			followup b => IS+(next-turn:b) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed) TS2 IS-(next-turn:1)
		`},
		{"C-216 X2 and a prompt right after: only that one runs", `
			batch followup a; cancel; followup b => IS+(next-turn:a) CR(user) ISx(next-turn:1) IS+(next-turn:b) TS1 IS-(next-turn:1)
			receipt done [started] [done] [queued]
			step ok => SS1.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed)
			status running,idle,running,idle
		`},
		{"C-237 a prompt and a cancel while idle: later work runs", `
			followup z => IS+(next-turn:z) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(z) RH(initial) RC CH×1 AM SE TE(completed)
			batch followup b; cancel => IS+(next-turn:b) CR(user) ISx(next-turn:1)
			phase idle
			followup c => IS+(next-turn:c) TS2 IS-(next-turn:1)
		`},
		{"X3 before the claim, while the log is lent", `
			hold
			inject x => IS+(next-step:x)
			followup a => IS+(next-turn:a) TS1
			phase claiming
			cancel => CR(user) ISx(next-step:1) ISx(next-turn:1) TE(aborted user)
			phase draining
			persist
			open publish
			persist
			status running,idle
		`},
		{"X3 before the claim with keepInbox: nothing was claimed, all is parked", `
			hold
			inject x => IS+(next-step:x)
			followup a => IS+(next-turn:a) TS1
			cancel keep => CR(user) TE(aborted user)
			release
			pending step:x turn:a
			phase idle
		`},
		{"X3 C-217 C-218 in assembly or pre-step", opened + `
			cancel
			stopped step
			step cancelled => CR(user) TE(aborted user)
			status running,idle
		`},
		{"X3 the gate rejects or empties, but the cancel came first", opened + `
			cancel
			step reject => CR(user) TE(aborted user)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			cancel
			step empty => CR(user) TE(aborted user)
			followup c => IS+(next-turn:c) TS3 IS-(next-turn:1)
			cancel
			step fail X => CR(user) TE(aborted user)
			notes inserted(a) session-start claimed(a,1) dropped(a,1,aborted) inserted(b) claimed(b,2) dropped(b,2,aborted) inserted(c) claimed(c,3) dropped(c,3,aborted)
		`},
		{"X3 a later step emptied after a cancel is aborted, not completed", opened + `
			step ok acts=inject:x => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:x) SE IS-(next-step:1)
			cancel
			step empty => CR(user) TE(aborted user)
		`},
		{"X4 C-219 C-220 C-221 step open, users not committed", opened + `
			cancel
			step cancelled entered => SS1.1 CR(user) SE TE(aborted user)
			notes inserted(a) session-start claimed(a,1) dropped(a,1,aborted)
		`},
		{"X5 users and header committed", opened + `
			cancel
			step cancelled committed => SS1.1 UM(a) RH(initial) RC CR(user) SE TE(aborted user)
			notes inserted(a) session-start claimed(a,1)
		`},
		{"X5 a failure that surfaces after the cancel is a cancel", opened + `
			cancel
			step fail STORE committed => SS1.1 UM(a) RH(initial) RC CR(user) SE TE(aborted user)
			notes inserted(a) session-start claimed(a,1)
		`},
		{"X6 C-202 C-222 C-224 visible text", opened + `
			cancel
			step cut chunks=3 => SS1.1 UM(a) RH(initial) RC CH×3 AM! CR(user) SE TE(aborted user)
			phase idle
		`},
		{"X7 C-225 nothing visible", opened + `
			cancel
			step aa chunks=2 => SS1.1 UM(a) RH(initial) RC CH×2 AA CR(user) SE TE(aborted user)
		`},
		{"X8 in the recovery gate: cancellation beats its answer", opened + `
			cancel
			step error SERVER again => SS1.1 UM(a) RH(initial) RC CH×1 AA CR(user) SE TE(aborted user)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			cancel
			step error SERVER retry=1@10 => SS2.1 UM(b) CH×1 AA CR(user) SE TE(aborted user)
			open 
		`},
		{"X8 in the wait before a retry", retried + `
			cancel => CR(user) SE TE(aborted user)
			status running,idle
		`},
		{"X8 its timer is cancelled, and if it fires all the same nobody waits", retried + `
			hold
			cancel => CR(user) SE TE(aborted user)
			stopped retry
			timer retry
			release
			phase idle
		`},
		{"X8 a retry that waits for the log", retried + `
			hold
			followup b text=20000 => IS+(next-turn:b)
			followup c text=20000 => IS+(next-turn:c)
			timer retry => LRS(1)
			open persist
			cancel => CR(user) ISx(next-turn:2) SE TE(aborted user)
			release
			phase idle
		`},
		{"X8 in a later attempt", retried + `
			timer retry => LRS(1)
			cancel
			step cancelled => CR(user) SE TE(aborted user)
		`},
		{"X8 in a later attempt that had nothing to write yet", retried + `
			timer retry => LRS(1)
			cancel
			step cancelled entered committed unwritten => CR(user) SE TE(aborted user)
		`},
		{"a later attempt that fails before it has anything to write", retried + `
			timer retry => LRS(1)
			step fail X entered committed unwritten => SE TE(error X)
		`},
		{"X9 C-226 the message is there, no call started", opened + `
			cancel
			step calls c1,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM CR(user) TC(c1) TR!(c1,ABORTED_BEFORE_DISPATCH) TC(c2) TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			open 
		`},
		{"a message that is complete all the same ends aborted", opened + `
			cancel
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM CR(user) SE TE(aborted user)
		`},
		{"a message at the ceiling ends aborted", opened + `
			cancel
			step max-tokens => SS1.1 UM(a) RH(initial) RC CH×1 AM CR(user) SE TE(aborted user)
		`},
		{"X10 C-227 running calls are awaited, others never start", `
			born max=2` + opened + `
			step calls c1*,c2*,c3*,c4* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			cancel => CR(user)
			stopped tool:c1 tool:c2
			tool c2 error X
			tool c1 ok => TR!(c1,ABORTED) TR!(c2,X) TC(c3) TR!(c3,ABORTED_BEFORE_DISPATCH) TC(c4) TR!(c4,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"X10 C-228 an exclusive call behind the pool never runs", opened + `
			step calls c1*,c2*,c3 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			cancel => CR(user)
			tool c1 ok => TR!(c1,ABORTED)
			tool c2 ok => TR!(c2,ABORTED) TC(c3) TR!(c3,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"X10 a call that finished before the cancel keeps its result", called + `
			tool c2 ok
			cancel => CR(user)
			stopped tool:c1
			tool c1 ok => TR!(c1,ABORTED) TR(c2) SE TE(aborted user)
		`},
		{"X11 C-229 cancelled in the first call's pre stage", called + `
			cancel => CR(user)
			tool c1 error ABORTED_BEFORE_DISPATCH => TR!(c1,ABORTED_BEFORE_DISPATCH)
			tool c2 error ABORTED_BEFORE_DISPATCH => TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"C-230 C-231 C-232 results after a cancel; their contexts are parked", called + `
			cancel => CR(user)
			tool c1 ok ctx=x => TR!(c1,ABORTED) IS+(next-step:x)
			tool c2 error DENIED ctx=y => TR!(c2,DENIED) IS+(next-step:y) SE TE(aborted user)
			phase idle
			pending step:x,y
			followup b => IS+(next-turn:b) TS2 IS-(next-step:2) IS-(next-turn:1)
		`},
		{"C-232 also when the agent is being disposed", called + `
			dispose => CR(disposed)
			tool c1 ok ctx=x => TR!(c1,ABORTED) IS+(next-step:x)
			tool c2 ok => TR!(c2,ABORTED) SE TE(aborted disposed)
			pending step:x
			closed 
		`},
		{"C-233 what was injected before the cancel is discarded", called + `
			tool c1 ok acts=inject:x,cancel:user => IS+(next-step:x) CR(user) ISx(next-step:1) TR!(c1,ABORTED)
			tool c2 ok => TR!(c2,ABORTED) SE TE(aborted user)
			pending 
		`},
		{"X12 C-234 the stopping hook cancels", opened + `
			step ok acts=cancel:user => SS1.1 UM(a) RH(initial) RC CH×1 AM CR(user) SE TE(aborted user)
		`},
		{"X12 a hook that steers and cancels: no further step", opened + `
			step ok acts=steer:b,cancelkeep:hook:stop => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:b) CR(hook stop) SE TE(aborted hook stop)
			pending step:b
			phase idle
		`},
		{"a hook that cancels and steers: the steering is redirected and replayed", opened + `
			step ok acts=cancel:user,steer:b => SS1.1 UM(a) RH(initial) RC CH×1 AM CR(user) IS+(next-turn:b) SE TE(aborted user) TS2 IS-(next-turn:1)
			status running,idle,running
		`},
		{"acts of a step that does not enter", opened + `
			step reject acts=steer:b => IS+(next-step:b) TE(blocked)
			pending step:b
			phase idle
		`},
		{"acts of an attempt that is tried again", opened + `
			step error SERVER again acts=inject:b => SS1.1 UM(a) RH(initial) RC CH×1 AA IS+(next-step:b)
			step ok => CH×1 AM SE IS-(next-step:1)
		`},
		{"X13 after turn/end of a normal turn the queue is discarded", ended + `
			followup b => IS+(next-turn:b)
			receipt queued
			cancel => CR(user) ISx(next-turn:1)
			persist
			release
			phase idle
			status running,idle
		`},
		{"X13 with keepInbox the queue is parked, without a latch", ended + `
			followup b => IS+(next-turn:b)
			cancel keep => CR(user)
			release
			phase idle
			pending turn:b
			status running,idle
		`},
		{"X13 a prompt after that cancel is latched and runs after the flush", ended + `
			cancel => CR(user)
			steer b => IS+(next-turn:b)
			receipt queued
			release => TS2 IS-(next-turn:1)
			status running,idle,running
		`},
		{"a prompt while an abnormal end is flushed is latched", failed + `
			steer b => IS+(next-step:b)
			receipt queued
			release => TS2 IS-(next-step:1)
			status running,idle,running
		`},
		{"an injection while an abnormal end is flushed is parked", failed + `
			inject b => IS+(next-step:b)
			receipt parked
			release
			phase idle
			pending step:b
		`},
		{"a cancel while an abnormal end is flushed drops the latch", failed + `
			followup b => IS+(next-turn:b)
			cancel => CR(user) ISx(next-turn:1)
			inject c => IS+(next-step:c)
			release
			phase idle
			pending step:c
		`},
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"C-203 C-204 queue and steering are discarded, next-step first", opened + `
			followup b
			steer c
			cancel
			step cancelled => IS+(next-turn:b) IS+(next-step:c) CR(user) ISx(next-step:1) ISx(next-turn:1) TE(aborted user)
			pending 
			phase idle
		`},
		{"C-205 keepInbox parks the queue; it runs before the next prompt", opened + `
			followup b
			cancel keep
			step cancelled => IS+(next-turn:b) CR(user) TE(aborted user)
			phase idle
			pending turn:b
			followup c => IS+(next-turn:c) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed) TS3 IS-(next-turn:1)
			step ok => SS3.1 UM(c) CH×1 AM SE TE(completed)
		`},
		{"C-206 what was claimed is not restored", opened + `
			cancel keep
			step cancelled => CR(user) TE(aborted user)
			pending 
		`},
		{"C-207 C-208 C-211 a prompt after keepInbox runs at convergence, as a prompt", opened + `
			cancel keep
			steer b
			receipt queued
			pending turn:b
			step cancelled => CR(user) IS+(next-turn:b) TE(aborted user) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed)
			status running,idle,running,idle
		`},
		{"C-209 a second cancel drops prompt and latch", opened + `
			cancel keep
			followup b
			cancel parent
			step cancelled => CR(user) IS+(next-turn:b) CR(parent) ISx(next-turn:1) TE(aborted user)
			phase idle
			pending 
			inject x => IS+(next-step:x)
			phase idle
		`},
		{"C-210 a removed prompt leaves no replay and no empty turn", opened + `
			cancel keep
			steer b
			remove b
			step cancelled => CR(user) IS+(next-turn:b) ISx(next-turn:1) TE(aborted user)
			phase idle
			status running,idle
			inject x => IS+(next-step:x)
			phase idle
		`},
		{"§3.1.5 a latch replays whatever is pending", opened + `
			inject p
			cancel keep
			followup b
			remove b
			step cancelled => IS+(next-step:p) CR(user) IS+(next-turn:b) ISx(next-turn:1) TE(aborted user) TS2 IS-(next-step:1)
		`},
		{"§3.1.2 input that does not wake keeps its target and latches nothing", opened + `
			cancel
			inject b
			receipt parked
			step cancelled => CR(user) IS+(next-step:b) TE(aborted user)
			pending step:b
			phase idle
		`},
		{"C-212 the first cause wins", opened + `
			cancel parent
			cancel user
			stopped step
			step cancelled => CR(parent) CR(user) TE(aborted parent)
		`},
		{"C-213 also over a disposal", opened + `
			cancel
			dispose
			step cancelled => CR(user) CR(disposed) TE(aborted user)
			closed 
		`},
		{"C-214 a hook's reason", opened + `
			cancel hook:because
			step cancelled => CR(hook because) TE(aborted hook because)
		`},
		{"§3.1.4 a cancel with cause disposed latches nothing", opened + `
			cancel disposed
			followup b
			receipt parked
			step cancelled => CR(disposed) IS+(next-turn:b) TE(aborted disposed)
			phase idle
			pending turn:b
			followup c => IS+(next-turn:c) TS2 IS-(next-turn:1)
		`},
		{"C-235 a body that ignores the signal keeps the agent running", called + `
			cancel => CR(user)
			status running
			phase tools
			tool c1 ok => TR!(c1,ABORTED)
			phase tools
			tool c2 ok => TR!(c2,ABORTED) SE TE(aborted user)
			status idle
		`},
		{"C-236 work after a cancel runs", opened + `
			cancel
			step cancelled => CR(user) TE(aborted user)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"an unknown cause is refused, unless it came natively", opened + `
			cancel nobody
			receipt refused INVALID
			cancel legacy
			receipt refused INVALID
			stopped 
			cancel nobody native
			receipt done
			step cancelled => CR(user) TE(aborted user)
		`},
		{"a step cancelled from outside the agent is an error", opened + `
			step cancelled => TE(error ABORTED)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step cut => SS2.1 UM(b) RH(initial) RC CH×1 AM! SE TE(error ABORTED)
		`},
		{"events that arise while the log is lent keep their order", opened + `
			followup b
			inject c
			replace b b2
			remove c
			steer d
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-turn:b) IS+(next-step:c) ISr(next-turn:b→b2) ISx(next-step:1) IS+(next-step:d) SE IS-(next-step:1)
			step ok => SS1.2 UM(d) CH×1 AM SE TE(completed) TS2 IS-(next-turn:1)
		`},
	})
}

func TestLostSteps(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"A3.6 exhausted: the settlement's attempt ends the turn", opened + `
			followup b
			lost step exhausted
			open settle(exhausted)
			followup c
			step error WORKER_LOST chunks=2 => SS1.1 UM(a) RH(initial) RC CH×2 AA IS+(next-turn:b) IS+(next-turn:c) SE TE(error WORKER_LOST)
			pending turn:b,c
		`},
		{"exhausted, and what was lost is complete", opened + `
			lost step exhausted
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok => TR(c1) SE
		`},
		{"exhausted, and nothing was written", opened + `
			lost step exhausted
			step fail WORKER_LOST unwritten => TE(error WORKER_LOST)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"cancelled: the settlement keeps what was seen", opened + `
			cancel
			lost step cancelled
			open settle(cancelled)
			stopped 
			step cut chunks=2 => SS1.1 UM(a) RH(initial) RC CH×2 AM! CR(user) SE TE(aborted user)
		`},
		{"cancelled, nothing had begun", opened + `
			cancel keep
			followup b
			lost step cancelled
			step cancelled unwritten => CR(user) IS+(next-turn:b) TE(aborted user) TS2 IS-(next-turn:1)
		`},
		{"a cancel during the settlement does not stop it", opened + `
			lost step exhausted
			cancel
			stopped 
			step aa => SS1.1 UM(a) RH(initial) RC CH×1 AA CR(user) SE TE(aborted user)
		`},
		{"the settlement is lost too: nothing of the step counts", opened + `
			followup b
			lost step exhausted
			lost step exhausted => IS+(next-turn:b) TE(error WORKER_LOST)
			notes inserted(a) session-start claimed(a,1) inserted(b) dropped(a,1,error) error(WORKER_LOST)
			pending turn:b
			phase idle
		`},
		{"the settlement is lost after a cancel", opened + `
			cancel
			lost step cancelled
			lost step exhausted => CR(user) TE(aborted user)
		`},
		{"a later attempt is lost for good", retried + `
			timer retry => LRS(1)
			lost step exhausted
			open settle(exhausted)#2
			lost step exhausted => SE TE(error WORKER_LOST)
		`},
		{"a settlement may be retried like any attempt", opened + `
			lost step exhausted
			step error WORKER_LOST retry=1@100 => SS1.1 UM(a) RH(initial) RC CH×1 AA LR(1)
			timer retry => LRS(1)
			open step#2
			step ok => CH×1 AM SE TE(completed)
		`},
	})
}

func TestStoreFaults(t *testing.T) {
	t.Parallel()
	const full = `
			inject x text=20000 => IS+(next-step:x)
			inject y text=20000 => IS+(next-step:y)
	`
	runScripts(t, []script{
		{"C-274 a refused flush is reported, idle, and repeated by the timer", ended + `
			persist fail
			phase idle
			status running,idle
			notes inserted(a) session-start claimed(a,1) error(STORE)
			open flush
			timer flush
			open publish
			persist
			open 
			notes 
		`},
		{"C-274 or by the next wake: its Step takes the tail along", ended + `
			persist fail
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			open flush step
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed)
			persist
			timer flush
			open 
		`},
		{"a Step that persisted proves that the store works again", ended + `
			followup b => IS+(next-turn:b)
			persist fail => TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed)
			open flush publish
		`},
		{"a flush that fails again is reported again", ended + `
			persist fail
			timer flush
			persist fail
			notes inserted(a) session-start claimed(a,1) error(STORE) error(STORE)
			open flush
			timer flush
			persist
			open 
		`},
		{"one timer stands for all failed flushes", ended + `
			persist fail
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step fail X unwritten => TE(error X)
			persist fail
			phase idle
			open flush
			timer flush
			persist
			open 
		`},
		{"a failed flush does not stop a queue that came meanwhile", ended + `
			followup b => IS+(next-turn:b)
			persist fail => TS2 IS-(next-turn:1)
		`},
		{"a long tail is persisted before it is lent", `
			hold` + full + `
			open publish
			followup a => IS+(next-turn:a) TS1
			open publish
			phase claiming
			persist
			open persist
			persist => IS-(next-step:2) IS-(next-turn:1)
			open step
		`},
		{"A3.4 a tail of some length is persisted before it is lent: the history has it already", `
			hold` + opened + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			inject x text=5000 => IS+(next-step:x)
			tool c1 ok => TR(c1) SE
			open persist
			persist => IS-(next-step:1)
			open step+owed
		`},
		{"A3.4 before a retry too", retried + `
			hold
			inject x text=5000 => IS+(next-step:x)
			timer retry => LRS(1)
			open persist
			persist
			open step#2
		`},
		{"A3.4 while the store is away it is lent to a step, which can wait", `
			hold` + opened + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			inject x text=5000 => IS+(next-step:x)
			tool c1 ok => TR(c1) SE
			persist fail => IS-(next-step:1)
			open flush step+owed
		`},
		{"A3.4 agents of older rules lend it", `
			born rules=2
			hold` + opened + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			inject x text=5000 => IS+(next-step:x)
			tool c1 ok => TR(c1) SE IS-(next-step:1)
			open step+owed
		`},
		{"a long tail that cannot be persisted ends the turn, with one error", `
			hold` + full + `
			persist fail
			notes inserted(x) inserted(y) error(STORE)
			followup a => IS+(next-turn:a) TS1
			open flush persist
			persist fail => TE(error STORE)
			notes inserted(a) session-start error(STORE)
			phase idle
			pending step:x,y turn:a
			followup b => IS+(next-turn:b) TS2
			persist => IS-(next-step:2) IS-(next-turn:1)
			step ok => SS2.1 UM(x) UM(y) UM(a) RH(initial) RC CH×1 AM SE TE(completed) TS3 IS-(next-turn:1)
		`},
		{"a long tail is persisted before a retry too", retried + `
			hold
			inject x text=20000 => IS+(next-step:x)
			inject y text=20000 => IS+(next-step:y)
			timer retry => LRS(1)
			open persist
			phase step
			persist
			open step#2
			step ok => CH×1 AM SE IS-(next-step:2)
		`},
		{"a long tail that cannot be persisted ends the retry", retried + `
			hold
			inject x text=20000 => IS+(next-step:x)
			inject y text=20000 => IS+(next-step:y)
			timer retry => LRS(1)
			persist fail => SE TE(error STORE)
			phase idle
			pending step:x,y
		`},
		{"a long tail is persisted before an immediate retry", opened + `
			hold
			inject x text=20000
			inject y text=20000
			step error SERVER again => SS1.1 UM(a) RH(initial) RC CH×1 AA IS+(next-step:x) IS+(next-step:y)
			open persist
			persist
			open step#2
		`},
		{"what arises while the log is lent to a persist has its seq at once", `
			hold
			inject x => IS+(next-step:x)
			inject y => IS+(next-step:y)
			receipt parked seq=1
			persist
			open publish
			persist
			open 
		`},
		{"a disposal tries a broken store once more and closes", ended + `
			persist fail
			dispose
			open flush publish
			persist fail
			closed 
		`},
	})
}

func TestDisposal(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"C-290 running: aborted, flushed, closed", opened + `
			dispose
			stopped step
			step cancelled => CR(disposed) TE(aborted disposed)
			status running,idle
			notes inserted(a) session-start claimed(a,1) dropped(a,1,aborted) disposed
			closed 
			phase closed
		`},
		{"C-291 idle: what is parked stays", `
			inject x => IS+(next-step:x)
			dispose
			receipt done
			closed 
			pending step:x
		`},
		{"C-292 a wake during convergence does not run", opened + `
			dispose
			followup b
			receipt parked
			step cancelled => CR(disposed) IS+(next-turn:b) TE(aborted disposed)
			closed 
			pending turn:b
		`},
		{"C-293 two disposals await the same end", opened + `
			dispose
			dispose
			step cancelled => CR(disposed) TE(aborted disposed)
			closed 
		`},
		{"a disposal after the end is answered at once", `
			dispose
			dispose
			receipt done
			closed 
		`},
		{"a disposal drops a latched wake", opened + `
			cancel keep
			followup b
			dispose
			step cancelled => CR(user) IS+(next-turn:b) CR(disposed) ISx(next-turn:1) TE(aborted user)
			closed 
		`},
		{"in the retry wait", retried + `
			dispose => CR(disposed) SE TE(aborted disposed)
			closed 
		`},
		{"among running tools", called + `
			dispose => CR(disposed)
			tool c1 ok => TR!(c1,ABORTED)
			tool c2 ok => TR!(c2,ABORTED) SE TE(aborted disposed)
			closed 
		`},
		{"before the claim", `
			hold
			inject x => IS+(next-step:x)
			followup a => IS+(next-turn:a) TS1
			dispose => CR(disposed) ISx(next-step:1) ISx(next-turn:1) TE(aborted disposed)
			release
			closed 
		`},
		{"before turn/start", `
			batch followup a; dispose; followup b => IS+(next-turn:a) CR(disposed) ISx(next-turn:1) IS+(next-turn:b)
			receipt done [started] [done] [parked]
			closed 
			pending turn:b
		`},
		{"while a normal end is flushed", ended + `
			followup b => IS+(next-turn:b)
			dispose => CR(disposed) ISx(next-turn:1)
			release
			status running,idle
			closed 
		`},
		{"while idle is flushed, and what comes then is flushed too", `
			hold
			inject x => IS+(next-step:x)
			dispose
			followup y => IS+(next-turn:y)
			receipt parked
			persist
			open publish
			persist
			closed 
			pending step:x turn:y
		`},
		{"before birth", `
			dispose
			followup a => IS+(next-turn:a)
			receipt parked
			born
			closed 
			status 
		`},
		{"everything after the end is refused", `
			dispose
			followup a
			receipt refused CLOSED
			remove a
			receipt refused CLOSED
			replace a b
			receipt refused CLOSED
			clear
			receipt refused CLOSED
			cancel
			receipt done
			batch followup a; clear
			receipt done [refused CLOSED] [refused CLOSED]
			closed 
		`},
		{"A3.9 a second native cancel of an idle agent disposes it", `
			cancel native
			cancel
			cancel native
			closed canceled
		`},
		{"A3.9 a run between two native cancels starts over", `
			cancel native
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			cancel native
			step cancelled => CR(user) TE(aborted user)
			cancel native
			phase idle
			cancel native
			closed canceled
		`},
		{"a native disposal closes canceled", opened + `
			dispose native
			step cancelled => CR(disposed) TE(aborted disposed)
			closed canceled
		`},
	})
}

func TestBirth(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"C-283 input before birth is queued and runs after it", `
			followup a => IS+(next-turn:a)
			receipt queued
			inject b => IS+(next-step:b)
			status 
			phase birth
			born => TS1 IS-(next-step:1) IS-(next-turn:1)
			notes inserted(a) inserted(b) created session-start claimed(b,1) claimed(a,1)
			status running
		`},
		{"an injection before birth waits for a wake", `
			inject a => IS+(next-step:a)
			born
			phase idle
			pending step:a
		`},
		{"a prompt removed before birth leaves no turn", `
			followup a => IS+(next-turn:a)
			remove a => ISx(next-turn:1)
			cancel
			born
			phase idle
			inject b => IS+(next-step:b)
			phase idle
		`},
	})
}

func TestRequestsAreAcceptedOnce(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"a repeated request changes nothing", `
			inject a req=r1 => IS+(next-step:a)
			inject a req=r1
			receipt duplicate
			inject b req=r1
			receipt duplicate
			remove a req=r1
			receipt duplicate
			pending step:a
		`},
		{"a refused request may be sent again", `
			inject a => IS+(next-step:a)
			inject a req=r2
			receipt refused DUPLICATE_ID
			clear => ISx(next-step:1)
			inject a req=r2 => IS+(next-step:a)
			receipt parked
		`},
		{"an id is free again once it left the inbox", `
			inject a => IS+(next-step:a)
			remove a => ISx(next-step:1)
			steer a => IS+(next-step:a) TS1 IS-(next-step:1)
			inject a
			receipt steered
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:a) SE IS-(next-step:1)
		`},
	})
}

func TestRolloverMoments(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"idle: at once", `
			roll
			resume
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
		`},
		{"idle: after the flush", `
			hold
			inject x => IS+(next-step:x)
			roll
			persist
			resume
			pending step:x
		`},
		{"between steps, with an empty tail", called + `
			roll
			tool c1 ok => TR(c1)
			tool c2 ok => TR(c2) SE
			phase claiming
			open 
			resume
			open step+owed
			step ok => SS1.2 CH×1 AM SE TE(completed)
		`},
		{"a store that refuses does not hold it up", called + `
			hold
			roll
			tool c1 ok => TR(c1)
			tool c2 ok => TR(c2) SE
			open persist
			persist fail
			open flush
			resume
			open flush step+owed
		`},
		{"what comes first ends the moment; it comes again", `
			roll
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			phase step
			followup b
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-turn:b) SE TE(completed) TS2
			phase claiming
			resume => IS-(next-turn:1)
		`},
		{"a cancel at the moment between steps", called + `
			roll
			tool c1 ok => TR(c1)
			tool c2 ok => TR(c2) SE
			cancel => CR(user) TE(aborted user)
			resume
			phase idle
		`},
		{"a disposal goes before it", `
			roll
			dispose
			closed 
		`},
	})
}
