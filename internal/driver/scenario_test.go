package driver

import "testing"

func TestGoldenTrace(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{{"C-001 the golden trace, event for event", `
		followup p1 => IS+(next-turn:p1) TS1 IS-(next-turn:1)
		step calls c1 chunks=4 => SS1.1 UM(p1) RH(initial) RC CH×4 AM TC(c1)
		tool c1 ok => TR(c1) SE
		step ok chunks=4 => SS1.2 CH×4 AM SE TE(completed)
		status running,idle
		followup p2 => IS+(next-turn:p2) TS2 IS-(next-turn:1)
		step ok chunks=4 => SS2.1 UM(p2) CH×4 AM SE TE(completed)
		status running,idle
	`}})
}

func TestInboxAndClaiming(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"C-004 C-005 status is running right after the wake", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			receipt started seq=0
			status running
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			status idle
		`},
		{"C-020 C-021 an injection waits for a wake and is claimed together with it", `
			inject a => IS+(next-step:a)
			receipt parked
			status 
			phase idle
			followup b => IS+(next-turn:b) TS1 IS-(next-step:1) IS-(next-turn:1)
			step ok => SS1.1 UM(a) UM(b) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"C-022 steer while idle opens a turn", `
			steer a => IS+(next-step:a) TS1 IS-(next-step:1)
			receipt started
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			status running,idle
		`},
		{"C-023 a second steer after the first claim joins the second step", `
			steer a => IS+(next-step:a) TS1 IS-(next-step:1)
			steer b -- the log is lent: its place is known later
			receipt steered seq=?
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:b) SE IS-(next-step:1)
			step ok => SS1.2 UM(b) CH×1 AM SE TE(completed)
			status running,idle
		`},
		{"C-024 three prompts in one go get three turns and one status pair", `
			batch followup a; followup b; followup c => IS+(next-turn:a) IS+(next-turn:b) IS+(next-turn:c) TS1 IS-(next-turn:1)
			receipt done [started] [queued] [queued]
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed) TS3 IS-(next-turn:1)
			step ok => SS3.1 UM(c) CH×1 AM SE TE(completed)
			status running,idle
		`},
		{"C-025 prompts that await idle get a status pair each", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed)
			status running,idle,running,idle
		`},
		{"C-027 C-044 a prompt sent while a turn runs gets the next one", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			followup b
			receipt queued
			pending turn:b
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-turn:b) TC(c1)
			tool c1 ok => TR(c1) SE
			step ok => SS1.2 CH×1 AM SE TE(completed) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed)
		`},
		{"C-028 steering during a tool joins the next step", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			steer b => IS+(next-step:b)
			receipt steered seq=10
			tool c1 ok => TR(c1) SE IS-(next-step:1)
			open step+owed
			step ok => SS1.2 UM(b) CH×1 AM SE TE(completed)
		`},
		{"C-029 injections during a tool come after all results, in order", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			inject b => IS+(next-step:b)
			tool c2 ok
			inject c => IS+(next-step:c)
			tool c1 ok => TR(c1) TR(c2) SE IS-(next-step:2)
			step ok => SS1.2 UM(b) UM(c) CH×1 AM SE TE(completed)
		`},
		{"C-030 what comes while the pre-step gate works joins the next step", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			inject b
			steer c
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:b) IS+(next-step:c) SE IS-(next-step:2)
			step ok => SS1.2 UM(b) UM(c) CH×1 AM SE TE(completed)
		`},
		{"C-031 input that came after the claim survives a rejection", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			inject b
			steer c
			step reject => IS+(next-step:b) IS+(next-step:c) TE(blocked)
			pending step:b,c
			status running,idle
			followup d => IS+(next-turn:d) TS2 IS-(next-step:2) IS-(next-turn:1)
			step ok => SS2.1 UM(b) UM(c) UM(d) RH(initial) RC CH×1 AM SE TE(completed)
		`},
		{"C-032 C-033 C-048 a rejection parks the queue until the next wake", `
			batch followup a; followup b => IS+(next-turn:a) IS+(next-turn:b) TS1 IS-(next-turn:1)
			step reject => TE(blocked)
			notes inserted(a) session-start inserted(b) claimed(a,1) dropped(a,1,blocked)
			pending turn:b
			status running,idle
			followup c => IS+(next-turn:c) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed) TS3 IS-(next-turn:1)
			step ok => SS3.1 UM(c) CH×1 AM SE TE(completed)
		`},
		{"C-034 a removed message is discarded and not claimed", `
			inject a => IS+(next-step:a)
			remove a => ISx(next-step:1)
			receipt done found=true
			notes inserted(a) discarded(a)
			phase idle
		`},
		{"C-035 clear empties next-step first, once", `
			park a => IS+(next-turn:a)
			inject s => IS+(next-step:s)
			clear => ISx(next-step:1) ISx(next-turn:1)
			clear
			notes inserted(a) inserted(s) discarded(s) discarded(a)
		`},
		{"C-036 a replacement keeps the place", `
			park a => IS+(next-turn:a)
			park b => IS+(next-turn:b)
			replace a a2 => ISr(next-turn:a→a2)
			receipt done found=true
			pending turn:a2,b
			replace b b => ISr(next-turn:b→b)
			notes inserted(a) inserted(b) discarded(a) inserted(a2) discarded(b) inserted(b)
		`},
		{"C-037 an edit of an unknown message reports it", `
			replace x y
			receipt done found=false
			remove x
			receipt done found=false
			notes 
		`},
		{"C-038 a pending id is refused in either list", `
			park a => IS+(next-turn:a)
			followup a
			receipt refused DUPLICATE_ID
			inject a
			receipt refused DUPLICATE_ID
			park b => IS+(next-turn:b)
			replace b a
			receipt refused DUPLICATE_ID
			pending turn:a,b
			phase idle
		`},
		{"C-039 what the log would refuse is refused before it wakes", `
			followup a invalid
			receipt refused INVALID
			inject a text=40000
			receipt refused TOO_LARGE
			park b => IS+(next-turn:b)
			replace b c text=40000
			receipt refused TOO_LARGE
			phase idle
			pending turn:b
		`},
		{"C-042 a claim is never a discard", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			notes inserted(a) session-start claimed(a,1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			notes 
		`},
		{"C-045 a wake while idle opens its turn although the message is gone", `
			batch followup a; remove a => IS+(next-turn:a) ISx(next-turn:1) TS1
			receipt done [started] [done found=true]
			step empty => TE(completed)
			status running,idle
			phase idle
		`},
		{"C-046 steering that lands when the turn has just ended is not stranded", `
			hold
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			phase draining
			steer b => IS+(next-step:b)
			receipt queued
			persist => TS2 IS-(next-step:1)
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed)
			open publish
			persist
			status running,idle
		`},
		{"§3.2 even an injection opens a turn when it lands on a normal end", `
			hold
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			inject b => IS+(next-step:b)
			receipt parked
			persist => TS2 IS-(next-step:1)
			status running
		`},
		{"§3.2 an injection that waits when the turn ends normally becomes its next step", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			inject b
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:b) SE IS-(next-step:1)
			step ok => SS1.2 UM(b) CH×1 AM SE TE(completed)
		`},
		{"C-049 a cancel in the pre-step gate drops the claimed message", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			cancel
			stopped step
			step cancelled => CR(user) TE(aborted user)
			notes inserted(a) session-start claimed(a,1) dropped(a,1,aborted)
		`},
	})
}

func TestPreStepGate(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"C-051 C-052 what the gate lets in is what enters", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok users=a,p => SS1.1 UM(a) UM(p) RH(initial) RC CH×1 AM SE TE(completed)
			notes inserted(a) session-start claimed(a,1)
		`},
		{"a message that the gate rewrote away is dropped", `
			steer s => IS+(next-step:s) TS1 IS-(next-step:1)
			steer t
			step ok users=x => SS1.1 UM(x) RH(initial) RC CH×1 AM IS+(next-step:t) SE IS-(next-step:1)
			notes inserted(s) session-start claimed(s,1) inserted(t) dropped(s,1,rewritten) claimed(t,1)
		`},
		{"C-053 an emptied first batch completes the turn without a step", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step empty => TE(completed)
			notes inserted(a) session-start claimed(a,1) dropped(a,1,rewritten)
			status running,idle
		`},
		{"C-053 zero steps end the drain: the queue is parked", `
			batch followup a; followup b => IS+(next-turn:a) IS+(next-turn:b) TS1 IS-(next-turn:1)
			step empty => TE(completed)
			pending turn:b
			phase idle
		`},
		{"C-054 a rejection blocks the turn", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step reject => TE(blocked)
		`},
		{"C-055 C-275 a failing gate ends the turn and parks the queue", `
			batch followup a; followup b => IS+(next-turn:a) IS+(next-turn:b) TS1 IS-(next-turn:1)
			step fail UNKNOWN => TE(error UNKNOWN)
			notes inserted(a) session-start inserted(b) claimed(a,1) dropped(a,1,error) error(UNKNOWN)
			pending turn:b
			followup c => IS+(next-turn:c) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed) TS3 IS-(next-turn:1)
		`},
		{"C-056 C-057 a tool continuation is proposed with an empty batch", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			open step
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok => TR(c1) SE
			open step+owed
			step ok => SS1.2 CH×1 AM SE TE(completed)
		`},
		{"C-058 an emptied later batch leaves the turn normally", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok acts=inject:x => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:x) SE IS-(next-step:1)
			step empty => TE(completed)
			status running,idle
		`},
		{"C-058 and a queue goes on after it", `
			batch followup a; followup b => IS+(next-turn:a) IS+(next-turn:b) TS1 IS-(next-turn:1)
			step ok acts=inject:x => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:x) SE IS-(next-step:1)
			step empty => TE(completed) TS2 IS-(next-turn:1)
		`},
		{"C-059 a rejected later step blocks the turn", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok acts=inject:x => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:x) SE IS-(next-step:1)
			step reject => TE(blocked)
			phase idle
		`},
	})
}

func TestMessageAttemptAndMaxTokens(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"C-120 an empty message ends the step", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step empty-message => SS1.1 UM(a) RH(initial) RC CH×1 AM∅ SE TE(completed)
		`},
		{"C-121 a stream without a chunk", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step empty-message chunks=0 => SS1.1 UM(a) RH(initial) RC AM∅ SE TE(completed)
		`},
		{"C-122 C-127 max-tokens is of its turn", `
			batch followup a; followup b => IS+(next-turn:a) IS+(next-turn:b) TS1 IS-(next-turn:1)
			step max-tokens => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(max-tokens) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed)
		`},
		{"C-125 max-tokens sticks to its turn", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			steer b
			step max-tokens => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:b) SE IS-(next-step:1)
			step ok => SS1.2 UM(b) CH×1 AM SE TE(max-tokens)
		`},
		{"C-126 a tool step after max-tokens still gets its request", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			steer b
			step max-tokens => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:b) SE IS-(next-step:1)
			step calls c1 => SS1.2 UM(b) CH×1 AM TC(c1)
			tool c1 ok => TR(c1) SE
			step ok => SS1.3 CH×1 AM SE TE(max-tokens)
		`},
		{"max-tokens does not survive an error or a cancel", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			steer b
			step max-tokens => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-step:b) SE IS-(next-step:1)
			step fail X => TE(error X)
			followup c => IS+(next-turn:c) TS2 IS-(next-turn:1)
			step ok => SS2.1 UM(c) CH×1 AM SE TE(completed)
		`},
		{"C-128 C-130 a failure that nobody recovers ends the turn", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step error SERVER => SS1.1 UM(a) RH(initial) RC CH×1 AA SE TE(error SERVER)
			notes inserted(a) session-start claimed(a,1) error(SERVER)
			status running,idle
		`},
		{"C-129 aborted by the provider is an error", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step error ABORTED => SS1.1 UM(a) RH(initial) RC CH×1 AA SE TE(error ABORTED)
		`},
		{"C-131 C-132 retries stay in the step and repeat no user", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step error SERVER again => SS1.1 UM(a) RH(initial) RC CH×1 AA
			open step#2
			step error SERVER again => CH×1 AA
			open step#3
			step ok chunks=2 => CH×2 AM SE TE(completed)
		`},
		{"C-133 a recovery that cancels and says retry is a cancel", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step error SERVER again acts=cancel:user => SS1.1 UM(a) RH(initial) RC CH×1 AA CR(user) SE TE(aborted user)
			notes inserted(a) session-start claimed(a,1)
			open 
		`},
		{"C-135 a failing request gate leaves no attempt", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step fail UNKNOWN entered => SS1.1 SE TE(error UNKNOWN)
			notes inserted(a) session-start claimed(a,1) dropped(a,1,error) error(UNKNOWN)
		`},
		{"a failing dispatch keeps the committed users", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step fail NO_ADAPTER committed => SS1.1 UM(a) RH(initial) RC SE TE(error NO_ADAPTER)
			notes inserted(a) session-start claimed(a,1) error(NO_ADAPTER)
		`},
		{"a failure without facts is UNKNOWN", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step fail => TE(error UNKNOWN)
		`},
		{"C-139 five retries, then the error; one step, one turn", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step error RATE_LIMIT retry=1@500 => SS1.1 UM(a) RH(initial) RC CH×1 AA LR(1)
			open retry
			phase retry
			timer retry => LRS(1)
			open step#2
			step error RATE_LIMIT retry=2@1000 => CH×1 AA LR(2)
			timer retry => LRS(2)
			step error RATE_LIMIT retry=3@2000 => CH×1 AA LR(3)
			timer retry => LRS(3)
			step error RATE_LIMIT retry=4@4000 => CH×1 AA LR(4)
			timer retry => LRS(4)
			step error RATE_LIMIT retry=5@8000 => CH×1 AA LR(5)
			timer retry => LRS(5)
			step error RATE_LIMIT => CH×1 AA SE TE(error RATE_LIMIT)
		`},
		{"a steered message waits for the step, not for the retry", `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step error SERVER retry=1@500 => SS1.1 UM(a) RH(initial) RC CH×1 AA LR(1)
			steer b => IS+(next-step:b)
			receipt steered seq=10
			timer retry => LRS(1)
			step ok => CH×1 AM SE IS-(next-step:1)
			step ok => SS1.2 UM(b) CH×1 AM SE TE(completed)
		`},
	})
}

func TestTools(t *testing.T) {
	t.Parallel()
	const start = `
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
	`
	runScripts(t, []script{
		{"C-150 one call", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok => TR(c1) SE
			step ok => SS1.2 CH×1 AM SE TE(completed)
		`},
		{"C-151 parallel calls start before any ends", start + `
			step calls c1*,c2*,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2) TC(c3)
			tool c1 ok => TR(c1)
			tool c2 ok => TR(c2)
			tool c3 ok => TR(c3) SE
		`},
		{"C-152 a later call that settles first waits", start + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c2 ok
			tool c1 ok => TR(c1) TR(c2) SE
		`},
		{"C-153 an exclusive call is a barrier", start + `
			step calls c1*,c2,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok => TR(c1) TC(c2)
			open tool:c2
			tool c2 ok => TR(c2) TC(c3)
			tool c3 ok => TR(c3) SE
		`},
		{"C-153 an exclusive first call keeps the pool waiting", start + `
			step calls c1,c2*,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok => TR(c1) TC(c2) TC(c3)
			tool c3 ok
			tool c2 ok => TR(c2) TR(c3) SE
		`},
		{"C-154 a freed slot starts the next call", `
			born max=2
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step calls c1*,c2*,c3*,c4* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok => TR(c1) TC(c3)
			tool c3 ok => TC(c4)
			tool c2 ok => TR(c2) TR(c3)
			tool c4 ok => TR(c4) SE
		`},
		{"C-155 a cap of one is serial", `
			born max=1
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok => TR(c1) TC(c2)
			tool c2 ok => TR(c2) SE
		`},
		{"C-156 at most ten run", start + `
			step calls c1*,c2*,c3*,c4*,c5*,c6*,c7*,c8*,c9*,c10*,c11*,c12* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2) TC(c3) TC(c4) TC(c5) TC(c6) TC(c7) TC(c8) TC(c9) TC(c10)
			tool c5 ok => TC(c11)
			tool c6 ok => TC(c12)
			tool c1 ok => TR(c1)
		`},
		{"a failed tool is an answer", start + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 error UNKNOWN_TOOL => TR!(c1,UNKNOWN_TOOL)
			tool c2 failed => TR!(c2) SE
			step ok => SS1.2 CH×1 AM SE TE(completed)
		`},
		{"C-171 C-172 contexts go through next-step and follow all results", start + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c2 ok ctx=y
			tool c1 ok ctx=w,x => TR(c1) IS+(next-step:w) IS+(next-step:x) TR(c2) IS+(next-step:y) SE IS-(next-step:3)
			step ok => SS1.2 UM(w) UM(x) UM(y) CH×1 AM SE TE(completed)
		`},
		{"a context whose id is pending is reported and left out", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			inject x => IS+(next-step:x)
			tool c1 ok ctx=x,y => TR(c1) IS+(next-step:y) SE IS-(next-step:2)
			notes inserted(a) session-start claimed(a,1) inserted(x) refused(DUPLICATE_ID) inserted(y) claimed(x,1) claimed(y,1)
		`},
		{"C-173 a concluding tool ends the turn", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok concludes => TR(c1) SE TE(completed)
		`},
		{"only a success concludes", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 error X concludes => TR!(c1,X) SE
			open step+owed
		`},
		{"C-174 steering during a concluding tool gets its step", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			steer b => IS+(next-step:b)
			tool c1 ok concludes => TR(c1) SE IS-(next-step:1)
			open step
			step ok => SS1.2 UM(b) CH×1 AM SE TE(completed)
		`},
		{"C-175 a concluding tool with a context", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok concludes ctx=x => TR(c1) IS+(next-step:x) SE IS-(next-step:1)
			step ok => SS1.2 UM(x) CH×1 AM SE TE(completed)
		`},
		{"C-176 all calls run although one concludes", start + `
			step calls c1,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok concludes => TR(c1) TC(c2)
			tool c2 ok => TR(c2) SE TE(completed)
		`},
		{"concluding is of its step", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok concludes ctx=x => TR(c1) IS+(next-step:x) SE IS-(next-step:1)
			step calls c2 => SS1.2 UM(x) CH×1 AM TC(c2)
			tool c2 ok => TR(c2) SE
			step ok => SS1.3 CH×1 AM SE TE(completed)
		`},
		{"A3.8 a tool steers before its own result", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok ctx=y acts=steer:x => IS+(next-step:x) TR(c1) IS+(next-step:y) SE IS-(next-step:2)
		`},
		{"A3.8 a tool cancels its own turn", start + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok acts=cancel:hook:why => CR(hook why) TR!(c1,ABORTED)
			stopped tool:c2
			tool c2 error X => TR!(c2,X) SE TE(aborted hook why)
		`},
		{"a lost tool is settled: its own result counts", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			lost tool c1 exhausted
			open settle(exhausted):c1
			tool c1 ok => TR(c1) SE
		`},
		{"a lost tool whose settlement is lost has an unknown outcome", start + `
			step calls c1,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			lost tool c1 unavailable
			open settle(unavailable):c1
			lost tool c1 exhausted => TR!(c1,TOOL_OUTCOME_UNKNOWN) TC(c2)
			tool c2 ok => TR(c2) SE
		`},
		{"a tool that is lost in a cancel is settled and not cancelled again", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			cancel => CR(user)
			stopped tool:c1
			lost tool c1 cancelled
			stopped 
			open settle(cancelled):c1
			cancel => CR(user)
			tool c1 error TOOL_NOT_STARTED => TR!(c1,TOOL_NOT_STARTED) SE TE(aborted user)
		`},
		{"a cancel leaves a settlement alone", start + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			lost tool c1 exhausted
			cancel => CR(user)
			stopped 
			tool c1 ok => TR!(c1,ABORTED) SE TE(aborted user)
		`},
	})
}
