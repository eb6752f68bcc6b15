package driver

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "seed of the random schedules; 0 picks one")
	walksFlag = flag.Int("walks", 4000, "how many random schedules at most")
	timeFlag  = flag.Duration("walks-time", 4*time.Second, "when to stop")
)

// TestRandomSchedules walks at random: every kind of input, effects that end in any order and any way, rollovers at any
// point. After every input all laws hold; in the end nothing is lost, doubled or stuck.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	const groups = 4
	for g := range groups {
		t.Run(fmt.Sprint(g), func(t *testing.T) {
			t.Parallel()
			n := 0
			for start := time.Now(); n < max(1, *walksFlag/groups) && time.Since(start) < *timeFlag; n++ {
				newWalker(t, seed+uint64(n*groups+g)).walk()
			}
			t.Logf("%d schedules from seed %d", n, seed)
		})
	}
}

// A walker drives a world at random.
type walker struct {
	*world
	r        *rand.Rand
	accepted map[string]int // messages by id, as accepted
	ids      int
	callIDs  int
}

func newWalker(t testing.TB, seed uint64) *walker {
	w := &walker{world: unborn(t), r: rand.New(rand.NewPCG(seed, 1)), accepted: map[string]int{}}
	w.say("go test -run TestRandomSchedules ./internal/driver -args -walks 1 -seed %d", seed)
	return w
}

func (w *walker) chance(n int) bool { return w.r.IntN(n) == 0 }

func (w *walker) walk() {
	w.stroll()
	for w.chance(4) { // the workflow is gone: another incarnation goes on
		w.reincarnate()
		w.stroll()
	}
	w.account()
}

// stroll walks and comes to rest.
func (w *walker) stroll() {
	w.hold = true
	for range 10 + w.r.IntN(60) {
		switch {
		case w.chance(3):
			w.ask()
		case w.chance(8):
			w.anyKid()
		default:
			w.answer()
		}
		if w.chance(20) {
			w.checkFates(slices.Collect(maps.Keys(w.accepted)))
		}
		if w.chance(15) {
			w.restore() // a worker crashed: Temporal replays it to the same state
		}
		if w.chance(10) && w.state().Rolling {
			w.rollover()
		}
		if w.chance(20) { // somebody set the server's clock, back or forth by up to a day
			w.now += w.r.Int64N(2*86_400_000) - 86_400_000
		}
	}
	w.drain()
	w.checkReplies()
	w.checkSteps()
}

// reincarnate resumes the session: its log, its notifications and its messages go on.
func (w *walker) reincarnate() {
	next := w.reborn("resume", w.anyManifest())
	next.path = append(w.path, next.path...) // ownership ends with the run: the children of an earlier one are nobody's
	next.notes = append(w.notes, next.notes...)
	w.say("resumed")
	w.world = next
}

func (w *walker) anyManifest() work.Manifest {
	m := work.Manifest{Rules: work.Rules, MaxParallel: w.r.IntN(4), SessionStart: w.chance(2), TurnStopping: w.chance(2), Tells: session.Told()}
	if w.chance(2) {
		m.Approvals = &work.Approvals{Mode: anyMode[w.r.IntN(len(anyMode)-1)], Allow: []work.Rule{{Tool: "echo", Digest: "d3"}}}
	}
	return m
}

// checkSteps reads the log: calls start and are answered in model order, all of them in their step, and a projection
// follows its original. See spec §4.8.
func (w *walker) checkSteps() {
	var calls, started, answered []string
	var before session.Record
	for _, r := range w.log.Records() {
		switch e := r.Event.(type) {
		case session.AssistantMessage:
			calls, started, answered = nil, nil, nil
			for _, b := range e.Message.Content {
				if c, ok := b.(session.ToolCallBlock); ok {
					calls = append(calls, c.ID)
				}
			}
		case session.ToolCall:
			started = append(started, e.CallID)
		case session.ToolResult:
			if r.Surface.Replace {
				if before.Seq != r.Surface.Start || before.Event.Type() != r.Event.Type() {
					w.failf("projection %d does not follow its original", r.Seq)
				}
				break
			}
			id := e.Message.Content[0].(session.ToolResultBlock).ToolCallID
			answered = append(answered, id)
			if e.Error != nil && e.Error.Code == session.CodeToolNotStarted && !slices.Contains(started, id) {
				started = append(started, id) // kept from starting by a defect
			}
		case session.StepEnd:
			if !slices.Equal(calls, started) || !slices.Equal(calls, answered) {
				w.failf("step %d.%d: calls %v, started %v, answered %v", e.Turn, e.Step, calls, started, answered)
			}
			calls, started, answered = nil, nil, nil
		}
		before = r
	}
}

// ask feeds something that a caller asks for.
func (w *walker) ask() {
	if w.chance(12) {
		w.feed(RollAsked{})
		return
	}
	if w.chance(6) {
		batch := Batch{Ref: w.ref()}
		for range 1 + w.r.IntN(4) {
			batch.Acts = append(batch.Acts, w.request(""))
		}
		w.feedAsked(batch)
		return
	}
	w.feedAsked(w.request(w.ref()))
}

// feedAsked remembers which messages were accepted.
func (w *walker) feedAsked(in Input) {
	w.feed(in)
	if b, ok := in.(Batch); ok {
		receipts := w.answers[b.Ref].Receipts // a task that ends now has a receipt of its own
		require.Len(w.t, receipts, len(b.Acts), "one receipt per act")
		for i, act := range b.Acts {
			w.noteAccepted(act, receipts[i])
		}
		return
	}
	w.noteAccepted(in, w.receipt)
}

func (w *walker) noteAccepted(in Input, r Receipt) {
	switch in := in.(type) {
	case Sent:
		if r.Disposition != Refused {
			w.accepted[in.Message.ID]++
		}
	case Replaced:
		if r.Disposition == Done && *r.Found {
			w.accepted[in.Message.ID]++
		}
	}
}

func (w *walker) request(ref string) Input {
	switch w.r.IntN(35) {
	case 33, 34:
		return w.anyPolicy(ref)
	case 30, 31, 32:
		return w.anyMove(ref)
	case 26, 27:
		return SpawnAsked{Ref: ref, Child: w.anySpawn()}
	case 28, 29:
		return ConfigureAsked{Ref: ref, Patch: json.RawMessage(`{"title":"t"}`)}
	case 20, 21, 22, 23:
		return w.anyDecision(ref)
	case 24, 25:
		return w.anyTask(ref)
	case 0:
		return Removed{Ref: ref, ID: w.anyPending(), Revision: w.anyRevision()}
	case 1:
		m := w.message()
		return Replaced{Ref: ref, ID: w.anyPending(), Message: m, Bytes: len(m.Text()), Revision: w.anyRevision()}
	case 2:
		return Cleared{Ref: ref, Revision: w.anyRevision()}
	case 3, 4, 5:
		via := ViaAPI
		if w.chance(8) {
			via = ViaNative
		}
		return CancelAsked{Ref: ref, Cause: w.anyCause(), KeepInbox: w.chance(2), Via: via}
	case 6:
		if w.chance(6) {
			return DisposeAsked{Ref: ref, Native: w.chance(2)}
		}
		fallthrough
	default:
		m := w.message()
		target := session.NextTurn
		if w.chance(2) {
			target = session.NextStep
		}
		return w.anyOverlap(Sent{Ref: ref, Message: m, Bytes: len(m.Text()), Target: target, Wakeup: !w.chance(3)})
	}
}

// anyOverlap says of some messages what is to become of them if the agent is busy.
func (w *walker) anyOverlap(in Sent) Sent {
	switch w.r.IntN(12) {
	case 0, 1:
		in.Interrupt, in.Target, in.Wakeup = true, session.NextTurn, true
	case 2:
		in.Reject = true
	case 3:
		in.OnlyIfIdle = true
	case 4:
		turn := w.state().Turn - w.r.IntN(2)
		in.Turn = &turn
	}
	return in
}

// anyMove is a promotion or another order, now and then of what is not there.
func (w *walker) anyMove(ref string) Input {
	target := []string{"", session.NextTurn, session.NextStep}[w.r.IntN(3)]
	if w.chance(2) {
		return Promoted{Ref: ref, ID: w.anyPending(), Target: target, Revision: w.anyRevision()}
	}
	var ids []string
	for _, p := range *w.d.list(target) {
		ids = append(ids, p.ID)
	}
	w.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	if w.chance(8) {
		ids = append(ids, w.anyPending())
	}
	return Reordered{Ref: ref, Target: target, IDs: ids, Revision: w.anyRevision()}
}

// anyRevision is mostly none, else the one there is or an old one.
func (w *walker) anyRevision() *int64 {
	if !w.chance(3) {
		return nil
	}
	revision := w.state().Revision - int64(w.r.IntN(2))
	return &revision
}

// anyDecision is what somebody says to a call that waits for it, or for something else, or to none.
func (w *walker) anyDecision(ref string) Input {
	id, kind := "nothing", []string{"", work.WaitQuestion, work.WaitClient}[w.r.IntN(3)]
	for _, c := range w.state().Calls {
		if c.waits() && !w.chance(4) {
			id, kind = c.Ask.ID, c.Ask.Kind
		}
	}
	if kind != "" {
		return Answered{Ref: ref, ID: id, By: "somebody", Said: work.Said{Kind: kind, Answers: json.RawMessage(`[{"skip":true}]`)}}
	}
	in := Decided{Ref: ref, ID: id, Grant: w.chance(2), By: "somebody", Reason: "why"}
	if w.chance(3) {
		in.Digest = w.anyDigest()
	}
	switch w.r.IntN(6) {
	case 0:
		in.Arguments = json.RawMessage(fmt.Sprintf(`{"edit":%d}`, w.r.IntN(3)))
	case 1:
		rule := w.anyRule()
		in.Remember = &rule
	}
	return in
}

func (w *walker) anyDigest() string { return []string{"d1", "d2", "d3", "d4"}[w.r.IntN(4)] }

func (w *walker) anyRule() work.Rule {
	r := work.Rule{Tool: []string{"echo", "other"}[w.r.IntN(2)]}
	if w.chance(2) {
		r.UntilMS = w.now + int64(w.r.IntN(400))
	}
	if w.chance(2) {
		r.Digest = []string{"d1", "d2", SameCall}[w.r.IntN(3)]
	}
	if w.chance(3) {
		r.Args = []work.ArgPattern{{Name: "k", Pattern: "*"}}
	}
	return r
}

var anyMode = []string{"", work.PolicyAsk, work.PolicyAsk, work.PolicyAllowList, work.PolicyNever, work.PolicyAlways, "nobody's"}

func (w *walker) anyPolicy(ref string) Input {
	in := PolicyAsked{Ref: ref, Mode: anyMode[w.r.IntN(len(anyMode))], By: "somebody"}
	if w.chance(2) {
		in.Allow = append(in.Allow, w.anyRule())
	}
	if w.chance(3) {
		in.Revoke = append(in.Revoke, fmt.Sprintf("rule-%d", 1+w.r.IntN(4)))
	}
	return in
}

func (w *walker) anySpawn() work.Spawn {
	w.callIDs++
	return work.Spawn{ID: fmt.Sprintf("k%d", w.callIDs), Create: json.RawMessage(`{}`), Follows: w.chance(2), Keep: w.chance(2)}
}

// anyKid lets something happen to a child.
func (w *walker) anyKid() {
	if len(w.kids) == 0 {
		return
	}
	k := w.kids[w.r.IntN(len(w.kids))]
	if w.chance(2) {
		w.feed(ChildTold{Child: k.id, Bond: w.bond(k.start), Head: work.Head{Hash: "h", Count: 9}})
		return
	}
	w.childEnds(k, w.chance(2))
}

func (w *walker) anyTask(ref string) Input {
	task := "t"
	if w.chance(10) {
		task = "nobody's"
	}
	return MaintainAsked{Ref: ref, Task: task, Args: json.RawMessage(`{"k":1}`)}
}

func (w *walker) message() session.Message {
	w.ids++
	size := 0
	if w.chance(50) {
		size = 30_000
	}
	return user(fmt.Sprintf("m%d", w.ids), size)
}

func (w *walker) anyPending() string {
	all := slices.Concat(w.state().NextStep, w.state().NextTurn)
	if len(all) == 0 || w.chance(10) {
		return "nobody"
	}
	return all[w.r.IntN(len(all))].ID
}

func (w *walker) anyCause() session.Cause {
	return []session.Cause{{Kind: session.CauseUser}, {Kind: session.CauseParent}, {Kind: session.CauseHook, Reason: "why"},
		{Kind: session.CauseDisposed}}[w.r.IntN(4)]
}

// answer ends one open effect, whichever.
func (w *walker) answer() {
	if len(w.open) == 0 {
		return
	}
	r := w.open[w.r.IntN(len(w.open))]
	switch e := r.effect.(type) {
	case StartSetup:
		if w.chance(3) {
			w.state().Owner, w.state().Bond, w.state().Reports = "p", "1.child-1", w.chance(2)
		}
		w.bornAs(work.SetupOut{Manifest: w.anyManifest(), Acts: w.anyActs()})
	case StartHook:
		w.answerHook(r)
	case StartMaintain:
		w.answerTask(r)
	case StartConfigure:
		w.configured([]string{"", "s2", "s3"}[w.r.IntN(3)], w.chance(2))
	case StartPersist:
		w.persisted(!w.chance(5))
	case StartTimer:
		w.drop(r)
		w.feed(TimerFired{ID: r.id})
	case StartStep:
		w.answerStep(r, e.In)
	case StartTool:
		w.answerTool(r, e.In)
	case StartChild:
		w.answerStart(r)
	case LookAtChild:
		w.looked(r, e)
	}
	if w.chance(10) { // a late answer to something that ended already
		w.feed(StepDone{ID: r.id})
		w.feed(ToolDone{ID: r.id})
		w.feed(HookDone{ID: r.id})
		w.feed(MaintainDone{ID: r.id})
		w.feed(ConfigureDone{ID: r.id})
		w.feed(TimerFired{ID: r.id})
		w.feed(ChildStarted{ID: r.id})
		w.feed(ChildSeen{ID: r.id, Gone: true})
	}
}

func (w *walker) answerStart(r *running) {
	if w.chance(5) {
		w.drop(r)
		w.feed(ChildFailed{ID: r.id, Code: "SESSION_ALREADY_EXISTS", Message: "taken"})
		return
	}
	w.childStarted(r)
}

// looked answers a look with what is so.
func (w *world) looked(r *running, e LookAtChild) {
	w.drop(r)
	w.feed(ChildSeen{ID: r.id, Gone: w.kid(func(k *kid) bool { return k.id == e.Child }) == nil})
}

func (w *walker) answerHook(r *running) {
	w.drop(r)
	if w.chance(6) {
		w.feed(HookLost{ID: r.id, Message: "gone"})
		return
	}
	out := work.HookOut{Acts: w.anyActs(), Worker: work.Worker{Rules: 1}}
	if w.chance(3) {
		m := w.anyManifest()
		m.Digest = fmt.Sprint(w.r.IntN(3))
		out.Worker.Refresh = &m
	}
	if w.chance(5) {
		out.Failure = &session.Failure{Code: "X", Message: "failed"}
	}
	w.feed(HookDone{ID: r.id, Out: out})
}

func (w *walker) answerTask(r *running) {
	if w.chance(6) {
		w.drop(r)
		w.feed(MaintainLost{ID: r.id, Why: LostExhausted, Message: "gone"})
		return
	}
	w.taskDone(w.r.IntN(3), work.MaintainOut{Result: json.RawMessage(`1`), Acts: w.anyActs(), Worker: work.Worker{Rules: 1}})
}

func (w *walker) answerStep(r *running, in work.StepIn) {
	if w.chance(8) {
		w.drop(r)
		why := LostExhausted
		if r.cancelled {
			why = LostCancelled
		}
		w.feed(StepLost{ID: r.id, Why: why, Message: "gone"})
		return
	}
	a := w.anyAnswer(r, in)
	a.acts = w.anyActs()
	a.chunks = w.r.IntN(3)
	w.stepDone(a)
}

// anyAnswer is what a Step may say in its situation.
func (w *walker) anyAnswer(r *running, in work.StepIn) answer {
	again := in.Attempt > 1 // the step is open and its users are committed
	users := in.Batch
	if w.chance(6) {
		users = users[:w.r.IntN(len(users)+1)]
	}
	if w.chance(10) {
		users = append(slices.Clone(users), w.message().ID)
	}
	if users == nil {
		users = []string{}
	}
	stopped := r.cancelled || w.chance(20)
	switch n := w.r.IntN(10); {
	case stopped && n < 2:
		return answer{outcome: work.StepMessage, interrupted: true, users: users}
	case stopped && n < 5:
		return answer{outcome: work.StepCancelled, entered: again || w.chance(2), committed: !again && w.chance(2), unwritten: false, users: users}
	case stopped && n < 7:
		return answer{outcome: work.StepAttempt, users: users}
	case n < 2:
		return answer{outcome: work.StepMessage, finish: session.FinishStop, users: users, empty: w.chance(4)}
	case n < 3:
		return answer{outcome: work.StepMessage, finish: session.FinishMaxTokens, users: users}
	case n < 7:
		return answer{outcome: work.StepMessage, finish: session.FinishToolCalls, users: users, calls: w.anyCalls()}
	case n < 8:
		a := answer{outcome: work.StepAttempt, finish: session.FinishError, users: users, failure: &session.Failure{Code: "SERVER", Message: "failed"}}
		if !w.chance(3) {
			a.recovery = &work.Recovery{Provider: "p", Mode: "normal", DelayMS: 10, Retry: in.Attempt, Maximum: 5}
		}
		if w.chance(4) {
			a.recovery = &work.Recovery{}
		}
		return a
	case again || n < 9:
		a := answer{outcome: work.StepFailed, failure: &session.Failure{Code: "UNKNOWN", Message: "failed"}, users: users}
		switch {
		case again:
			a.entered = true
		case w.chance(3):
			a.entered = true
		case w.chance(3):
			a.committed = true
		case w.chance(3):
			a.unwritten = true
		}
		return a
	case in.Owed || w.chance(2):
		return answer{outcome: work.StepRejected}
	default:
		return answer{outcome: work.StepEmpty}
	}
}

func (w *walker) anyCalls() []work.Call {
	var out []work.Call
	for range 1 + w.r.IntN(5) {
		w.callIDs++
		out = append(out, work.Call{ID: fmt.Sprintf("c%d", w.callIDs), Name: "echo", Arguments: "{}",
			Parallel: !w.chance(3), Gated: w.chance(3), Posted: w.chance(3)})
	}
	return out
}

// anyActs are calls of plugin.Agent made inside a hook.
func (w *walker) anyActs() []work.Act {
	var out []work.Act
	for w.chance(6) {
		if w.chance(6) {
			spawn := w.anySpawn()
			out = append(out, work.Act{Kind: work.ActSpawn, Child: &spawn})
			continue
		}
		if w.chance(4) {
			cause := w.anyCause()
			out = append(out, work.Act{Kind: work.ActCancel, Cause: &cause, KeepInbox: w.chance(2)})
			continue
		}
		m := w.message()
		target := session.NextTurn
		if w.chance(2) {
			target = session.NextStep
		}
		out = append(out, work.Act{Kind: work.ActSend, Message: &m, Target: target, Wakeup: w.chance(2)})
		w.accepted[m.ID]++
	}
	return out
}

func (w *walker) answerTool(r *running, in work.ToolIn) {
	w.drop(r)
	if w.chance(8) {
		w.feed(ToolLost{ID: r.id, Why: []Lost{LostExhausted, LostExhausted, LostFailed}[w.r.IntN(3)], Message: "gone"})
		return
	}
	if in.Mode == work.ToolCheck { // nothing is asked for there
		verdict := []string{work.Allow, work.Allow, work.Deny}[w.r.IntN(3)]
		w.feed(ToolDone{ID: r.id, Out: work.ToolOut{Verdict: verdict, Digest: w.anyDigest(), Content: session.TextContent("said"), IsError: w.chance(4)}})
		return
	}
	out := work.ToolOut{Content: session.TextContent("result"), IsError: w.chance(4), Concludes: w.chance(6), Acts: w.anyActs(), SkipPost: w.chance(8)}
	if in.From != "" {
		out.Alone = w.chance(8)
		for _, c := range w.state().Calls {
			if w.chance(4) {
				out.Exclusive = append(out.Exclusive, c.ID)
			}
		}
	}
	if in.Mode == work.ToolGate {
		w.feed(ToolDone{ID: r.id, Out: w.anyVerdict(out)})
		return
	}
	if in.Mode == work.ToolRun && w.chance(4) {
		kind := []string{work.WaitQuestion, work.WaitClient}[w.r.IntN(2)]
		w.feed(ToolDone{ID: r.id, Out: work.ToolOut{Acts: out.Acts, Defer: &work.Deferral{Kind: kind}, DeadlineMS: int64(w.r.IntN(2)) * 1000}})
		return
	}
	if in.Mode == work.ToolRun && w.chance(4) {
		spawn := w.anySpawn()
		w.feed(ToolDone{ID: r.id, Out: work.ToolOut{Acts: out.Acts, Delegate: &spawn, DeadlineMS: int64(w.r.IntN(2)) * 1000}})
		return
	}
	if w.chance(4) {
		out.Projection = session.TextContent("res…")
	}
	judged := in.Call.Posted && in.Mode != work.ToolPost // its post stage may drop them
	for !judged && w.chance(5) {
		m := w.message()
		out.Contexts = append(out.Contexts, m)
		w.accepted[m.ID]++
	}
	w.feed(ToolDone{ID: r.id, Out: out})
}

func (w *walker) anyVerdict(out work.ToolOut) work.ToolOut {
	switch n := w.r.IntN(12); {
	case n < 5:
		out.Verdict = work.Allow
	case n < 9:
		out.Verdict, out.DeadlineMS = work.Ask, int64(w.r.IntN(2))*1000
		if !w.chance(6) { // a worker of before
			out.Digest = w.anyDigest()
		}
	case n < 10:
		out.Verdict, out.IsError = work.Fault, true
	default:
		out.Verdict, out.IsError = work.Deny, true
	}
	return out
}

// drain ends every effect the ordinary way: the agent must become idle.
func (w *walker) drain() {
	w.hold = false
	for range 2000 {
		switch {
		case w.state().Rolling:
			w.rollover()
		case (len(w.open) == 0 || w.chance(3)) && w.kid(w.awaited) != nil:
			k := w.kid(w.awaited)
			if k.leaving || w.chance(3) {
				w.childEnds(k, w.chance(2))
			} else {
				w.feed(ChildTold{Child: k.id, Bond: w.bond(k.start), Head: work.Head{Hash: "h", Count: 9}})
			}
		case len(w.open) == 0 && slices.ContainsFunc(w.state().Calls, func(c Call) bool { return c.State == CallAsking }):
			w.feed(w.anyDecision(w.ref()))
		case len(w.open) == 0:
			if s := w.state(); !s.Quiet() || s.Disposing && s.Phase != Closed {
				w.failf("stuck in %s", s.Phase)
			}
			return
		default:
			w.endOne()
		}
	}
	w.failf("never idle: %s", w.state().Phase)
}

// awaited reports whether the agent waits for a child: for its answer, or for it to leave.
func (w *world) awaited(k *kid) bool {
	return slices.ContainsFunc(w.state().Children, func(c Child) bool { return c.ID == k.id && (c.Call != "" || c.Leaving) })
}

func (w *walker) endOne() {
	r := w.open[w.r.IntN(len(w.open))]
	switch e := r.effect.(type) {
	case StartSetup:
		w.born(0)
	case StartPersist:
		w.persisted(true)
	case StartTimer:
		w.drop(r)
		w.feed(TimerFired{ID: r.id})
	case StartStep:
		w.stepDone(answer{outcome: work.StepMessage, finish: session.FinishStop, chunks: 1})
	case StartTool:
		w.toolDone(e.In.Call.ID, work.ToolOut{Verdict: work.Allow, Digest: "d1", Content: session.TextContent("result"), Concludes: true})
	case StartHook:
		w.drop(r)
		w.feed(HookDone{ID: r.id})
	case StartConfigure:
		w.configured("s4", false)
	case StartMaintain:
		w.taskDone(1, work.MaintainOut{})
	case StartChild:
		w.childStarted(r)
	case LookAtChild:
		w.looked(r, e)
	}
}

// A fate is what became of the messages of one id.
type fate struct{ inserted, pending, claimed, discarded, entered, dropped int }

// account closes the books: every accepted message is exactly one of pending, discarded, entered or dropped, and nobody
// waits for a receipt.
func (w *walker) account() {
	w.t.Helper()
	fates := w.fates()
	w.checkFates(slices.Collect(maps.Keys(fates)))
	for id, n := range w.accepted {
		if fates[id] == nil || fates[id].inserted != n {
			w.failf("%s was accepted %d times, and inserted: %+v", id, n, fates[id])
		}
	}
	for id, f := range fates {
		if f.inserted != f.pending+f.claimed+f.discarded {
			w.failf("%s is lost or doubled: %+v", id, *f)
		}
		if f.inserted > 0 && f.claimed != f.entered+f.dropped {
			w.failf("%s was claimed, and neither entered nor dropped: %+v", id, *f)
		}
	}
	if _, open := w.log.State().Turn(); open {
		w.failf("a turn is open")
	}
}

// fates reads the log and the notifications.
func (w *walker) fates() map[string]*fate {
	out := map[string]*fate{}
	of := func(id string) *fate {
		if out[id] == nil {
			out[id] = &fate{}
		}
		return out[id]
	}
	var box session.Inbox
	for _, r := range w.log.Records() {
		switch e := r.Event.(type) {
		case session.UserMessage:
			of(e.ID).entered++
		case session.InboxSpliced:
			list := box.NextTurn
			if e.Target == session.NextStep {
				list = box.NextStep
			}
			for _, m := range list[e.Start : e.Start+e.RemovedCount] {
				if e.Outcome == session.OutcomeCanceled {
					of(m.ID).discarded++
				} else {
					of(m.ID).claimed++
				}
			}
			for _, m := range e.Inserted {
				of(m.ID).inserted++
			}
			require.NoError(w.t, box.Apply(e))
		case session.InboxMoved:
			require.NoError(w.t, box.ApplyMove(e))
		}
	}
	for _, m := range slices.Concat(box.NextStep, box.NextTurn) {
		of(m.ID).pending++
	}
	for _, n := range w.notes {
		if rest, ok := strings.CutPrefix(n, "dropped("); ok {
			id, _, _ := strings.Cut(rest, ",")
			of(id).dropped++
		}
	}
	return out
}
