package driver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// A world carries out the effects of one driver and keeps its log. After every input it checks the state, the log, and
// that both agree.
type world struct {
	t       testing.TB
	d       *Driver
	now     int64
	log     *session.Log // every record passed the rules of the session
	traced  int
	tracer  session.Tracer
	open    []*running // started and not answered, in order
	ids     map[string]bool
	hold    bool // persists wait for the test
	rolls   bool // rollovers are asked for all the time, and carried out
	path    []step
	asked   []string           // refs
	replies map[string]int     // per ref
	receipt Receipt            // the last one
	answers map[string]Receipt // per ref
	notes   []string           // since the last look
	status  []string           // since the last look

	abandoned map[string]bool // effects of before a reset
	cause     *session.Cause  // first cancel logged since the turn opened
	closed    *Close
	rolled    int
	latch     latch
	allowed   map[string]bool   // gated calls that may run, by key
	edited    map[string]string // the arguments that a person put in the place of theirs, by key
	calls     []Call            // before the last input
	ruled     work.Policy       // the last one in the log
	kids      []*kid            // child agents that were started, in order
	ended     map[string]bool   // child agents that are gone, by the effect that started them
	missed    []string          // of those, who was told something: the parent hears that they are gone
	tells     []string          // what children were told
	told      []string          // what the owner was told
	firsts    map[string]bool   // messages that interrupt
	news      []work.TellIn     // what the world was told
}

// A kid is a child agent, as far as its parent can see.
type kid struct {
	id      string
	start   string // effect that started it
	leaving bool   // told to dispose of itself
	blind   bool   // the run that started it is over
}

// A step of a world's path: an input, or what the test says of itself.
type step struct {
	phase Phase
	in    Input
	text  string
}

func (s step) String() string {
	if s.in == nil {
		return s.text
	}
	return fmt.Sprintf("%s: %s", s.phase, brief(s.in))
}

// running is a started effect.
type running struct {
	id        string
	effect    Effect
	cancelled bool
}

func unborn(t testing.TB) *world {
	w := &world{t: t, now: 1_764_500_000_000, log: session.NewLog(session.Header{Version: session.FormatVersion, ID: "s"}),
		ids: map[string]bool{}, replies: map[string]int{}, answers: map[string]Receipt{}, allowed: map[string]bool{}, edited: map[string]string{}}
	var effects []Effect
	w.d, effects = New(State{Session: "s", Definition: "def", Epoch: 1}, work.SetupIn{Spec: work.Spec{Definition: "def"}}, w.now)
	w.carryOut(effects)
	return w
}

func newWorld(t testing.TB) *world {
	w := unborn(t)
	w.born(0)
	w.notes = nil
	return w
}

func (w *world) born(maxParallel int) {
	w.bornAs(work.SetupOut{Manifest: work.Manifest{MaxParallel: maxParallel}})
}

// bornAs answers Setup; every definition here has a maintenance task t.
func (w *world) bornAs(out work.SetupOut) {
	w.take("setup")
	out.Spec, out.Store, out.Worker = "spec", "store", work.Worker{Rules: work.Rules}
	if out.Manifest.Rules == 0 {
		out.Manifest.Rules = work.Rules
	}
	out.Manifest.Tasks = append(out.Manifest.Tasks, "t")
	w.feed(Born{Out: out})
	require.Equal(w.t, StatusIdle, w.status[0], "it is listed from its birth on")
	w.status = w.status[1:]
}

// reborn is an agent that inherits the log of another world; mode is resume or fork. See spec §7.1, §7.3.
func (w *world) reborn(mode string, manifest work.Manifest) *world {
	w.t.Helper()
	records := w.log.Records()
	header := session.Header{Version: session.FormatVersion, ID: "s", CreatedAt: 1}
	if mode == "fork" {
		header.ID, header.ParentSession, header.SeedLength = "fork", "s", int64(len(records))
	}
	next := &world{t: w.t, now: w.now + 1000, log: session.NewLog(header), ids: map[string]bool{}, replies: map[string]int{}, answers: map[string]Receipt{}, allowed: map[string]bool{}, edited: map[string]string{}}
	seed := session.NewRecord(w.now, session.EndSeed{})
	seed.Seq = int64(len(records))
	for _, r := range append(slices.Clone(records), seed) {
		_, err := next.log.Append(r)
		require.NoError(w.t, err)
	}
	next.tracer.Inbox, next.traced = next.log.State().Inbox(), len(records)+1
	var effects []Effect
	next.d, effects = New(State{Session: header.ID, Definition: "def"}, work.SetupIn{Spec: work.Spec{Definition: "def"}}, next.now)
	next.carryOut(effects)
	turn, _ := next.log.State().Turn()
	from := &work.Inherited{Epoch: 2, Head: next.head(), Turn: turn}
	if mode == "resume" && w.state().Policy != nil {
		policy := w.ruled
		from.Policy, next.ruled = &policy, policy
	}
	for _, m := range next.tracer.Inbox.NextTurn {
		from.NextTurn = append(from.NextTurn, work.Pending{ID: m.ID, Bytes: len(m.Text())})
	}
	for _, m := range next.tracer.Inbox.NextStep {
		from.NextStep = append(from.NextStep, work.Pending{ID: m.ID, Bytes: len(m.Text())})
	}
	next.bornAs(work.SetupOut{Manifest: manifest, Source: "resume", Log: from})
	return next
}

func (w *world) state() *State { return w.d.State() }

func (w *world) failf(format string, args ...any) {
	w.t.Helper()
	require.FailNow(w.t, fmt.Sprintf(format, args...), "%s\nlog: %s", w.showPath(), session.Trace(w.log.Records(), nil))
}

func (w *world) say(format string, args ...any) {
	w.path = append(w.path, step{text: fmt.Sprintf(format, args...)})
}

func (w *world) showPath() string {
	out := "path:"
	for _, s := range w.path {
		out += "\n" + s.String()
	}
	return out
}

// feed hands one input to the driver, carries out what follows and checks every law.
func (w *world) feed(in Input) {
	w.t.Helper()
	w.now += 7
	before := *w.state()
	before.Calls = slices.Clone(before.Calls)
	w.calls = before.Calls
	w.allow(before, in)
	w.noteFirsts(in)
	w.path = append(w.path, step{phase: before.Phase, in: in})
	events, effects := w.d.Handle(w.now, in)
	for _, r := range events {
		w.append(r)
	}
	w.checkTold(events, effects)
	w.carryOut(effects)
	w.checkEnd(in, effects)
	w.checkLaws(before, in)
	w.settleOpen()
}

// noteFirsts notes which messages are to come before what is queued.
func (w *world) noteFirsts(in Input) {
	if b, ok := in.(Batch); ok {
		for _, act := range b.Acts {
			w.noteFirsts(act)
		}
	}
	if sent, ok := in.(Sent); ok && sent.Interrupt {
		if w.firsts == nil {
			w.firsts = map[string]bool{}
		}
		w.firsts[sent.Message.ID] = true
	}
}

// settleOpen says who was not there to be told something, answers persists that nobody holds, and carries out rollovers
// that are asked for.
func (w *world) settleOpen() {
	for len(w.missed) > 0 {
		id := w.missed[0]
		w.missed = w.missed[1:]
		w.feed(ChildClosed{ID: id, Message: "not there"})
	}
	if r := w.find("persist"); r != nil && !w.hold {
		w.persisted(true)
	}
	if !w.rolls {
		return
	}
	if !w.state().Roll && w.state().Phase != Closed {
		w.feed(RollAsked{})
	} else if w.state().Rolling {
		w.rollover()
	}
}

// rollover moves the state to another run: its timers are gone, everything else is in the state.
func (w *world) rollover() {
	for _, r := range w.open {
		_, timer := r.effect.(StartTimer)
		_, look := r.effect.(LookAtChild)
		if !timer && !(look && w.d.child(func(c *Child) bool { return c.Look == r.id }) == nil) { // nobody awaits what is seen of a child that is gone
			w.failf("rolled over while %s runs", r.id)
		}
	}
	w.open = nil
	for _, k := range w.kids {
		k.blind = true
	}
	w.restore()
	w.rolled++
	rolls := w.rolls
	w.rolls = false // once per input is enough
	w.feed(Resumed{})
	w.rolls = rolls
}

// restore replaces the driver by one that knows only the state's JSON.
func (w *world) restore() {
	old := *w.state()
	restored, err := old.Clone()
	require.NoError(w.t, err)
	w.d = Restore(restored)
	require.JSONEq(w.t, asJSON(w.t, &old), asJSON(w.t, w.state()), "a rollover loses nothing")
}

func asJSON(t testing.TB, v any) string {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

// append adds a record at the place it says it has.
func (w *world) append(r session.Record) {
	w.t.Helper()
	if r.Seq != w.log.State().Count() {
		w.failf("event %s has seq %d, want %d", r.Event.Type(), r.Seq, w.log.State().Count())
	}
	if _, err := w.log.Append(r); err != nil {
		w.failf("the log refuses %s: %v", r.Event.Type(), err)
	}
	w.observe(r.Event)
}

// observe checks what the session's rules leave open.
func (w *world) observe(e session.Event) {
	switch e := e.(type) {
	case session.TurnStart:
		w.cause = nil
	case session.CancelRequested:
		if w.cause == nil {
			w.cause = &e.Cause
		}
	case session.TurnEnd: // exactly the first cause, if there is one
		if (w.cause == nil) != (e.Reason.Aborted == nil) || w.cause != nil && *w.cause != *e.Reason.Aborted {
			w.failf("turn ends %v, the first cause is %v", e.Reason, w.cause)
		}
	case session.Feature:
		w.observeApproval(e)
	case session.InboxSpliced:
		box := w.log.State().Inbox()
		if e.Outcome == "" && e.RemovedCount == 0 && len(e.Inserted) == 1 {
			id := e.Inserted[0].ID
			list, at, _ := box.Find(id)
			items := box.NextTurn
			if list == session.NextStep {
				items = box.NextStep
			}
			switch {
			case !w.firsts[id] && at != len(items)-1:
				w.failf("%s was not inserted at the tail", id)
			case w.firsts[id] && (at != 0 || list != session.NextTurn):
				w.failf("%s, which interrupts, was not inserted before everything that is queued", id)
			}
		}
		if e.Outcome == "" && e.RemovedCount > 0 && e.Start != 0 {
			w.failf("a claim begins at %d", e.Start)
		}
	}
}

func (w *world) carryOut(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case StartSetup:
			w.start("setup", e)
		case StartStep:
			w.checkLent(e.In.Head, e.In.Tail, work.TailLimit+work.InlineLimit)
			w.start(e.In.ID, e)
		case StartPersist:
			w.checkLent(e.In.Head, e.In.Tail, work.LendLimit)
			w.start(e.In.ID, e)
		case StartTool:
			w.checkTool(e.In)
			w.start(e.In.ID, e)
		case StartTimer:
			w.checkDeadline(e)
			w.start(e.ID, e)
		case StartHook:
			w.start(e.In.ID, e)
		case StartMaintain:
			w.checkLent(e.In.Head, e.In.Tail, work.TailLimit+work.InlineLimit)
			w.start(e.In.ID, e)
		case StartChild:
			w.start(e.ID, e)
		case LookAtChild:
			w.start(e.ID, e)
		case TellChild:
			w.tellChild(e)
		case TellParent:
			w.told = append(w.told, map[bool]string{true: "closed", false: "idle"}[e.Closed])
		case Tell:
			w.checkNews(e.In)
		case StartConfigure:
			if w.find("configure") != nil {
				w.failf("two changes are checked at once")
			}
			w.start(e.In.ID, e)
		case Recorded:
		case CancelEffect:
			w.cancelEffect(e.ID)
		case Reply:
			w.replies[e.Ref]++
			w.receipt, w.answers[e.Ref] = e.Receipt, e.Receipt
		case Notify:
			if e.Name != "session/event" { // the log says it
				w.note(e)
			}
		case Transition:
			w.status = append(w.status, strings.TrimSuffix(e.Status+"+"+e.Waiting, "+"))
		case Rollover:
			if !w.state().Rolling {
				w.failf("rollover said, but not meant")
			}
		case Close:
			if w.closed != nil {
				w.failf("closed twice")
			}
			w.closed = &e
		case Defect:
			w.failf("defect: %s", e.Message)
		default:
			w.failf("unknown effect %T", e)
		}
	}
}

// tellChild notes what a child is told; it may still be starting. It is told to leave once.
func (w *world) tellChild(e TellChild) {
	k := w.kid(func(k *kid) bool { return k.start == e.ID })
	starting := slices.ContainsFunc(w.open, func(r *running) bool { return r.id == e.ID })
	switch {
	case k == nil && !starting && !w.ended[e.ID]:
		w.failf("child %s is told to %s, but was never there", e.Child, e.Act)
	case k == nil && !starting:
		w.missed = append(w.missed, e.ID)
	case k != nil && k.leaving:
		w.failf("child %s is told to %s after it was told to leave", e.Child, e.Act)
	case k != nil && e.Act == ActDispose:
		k.leaving = true
	}
	w.tells = append(w.tells, e.Act+" "+e.Child)
}

// bond is what the child that an effect started says that it is.
func (w *world) bond(start string) string {
	for _, c := range w.state().Children {
		if c.Effect == start {
			return c.Bond
		}
	}
	return ""
}

// bondOf is bond for one of the agent's children.
func (w *world) bondOf(id string) string {
	for _, c := range w.state().Children {
		if c.ID == id {
			return c.Bond
		}
	}
	return ""
}

func (w *world) kid(which func(*kid) bool) *kid {
	for _, k := range w.kids {
		if which(k) {
			return k
		}
	}
	return nil
}

// childStarted answers a StartChild.
func (w *world) childStarted(r *running) {
	w.drop(r)
	told := slices.Contains(w.tells, ActDispose+" "+r.effect.(StartChild).Child)
	w.kids = append(w.kids, &kid{id: r.effect.(StartChild).Child, start: r.id, leaving: told})
	w.feed(ChildStarted{ID: r.id})
}

// childEnds lets a child end: by itself, which it says, or by force, of which the run that started it hears.
func (w *world) childEnds(k *kid, byForce bool) {
	w.kids = slices.DeleteFunc(w.kids, func(o *kid) bool { return o == k })
	if w.ended == nil {
		w.ended = map[string]bool{}
	}
	w.ended[k.start] = true
	if !byForce {
		w.feed(ChildTold{Child: k.id, Bond: w.bond(k.start), Closed: true})
	}
	if !k.blind {
		w.feed(ChildClosed{ID: k.start, Message: "terminated"})
	}
}

func (w *world) start(id string, e Effect) {
	if w.ids[id] {
		w.failf("effect id %s was given before", id)
	}
	w.ids[id] = true
	w.open = append(w.open, &running{id: id, effect: e})
}

func (w *world) cancelEffect(id string) {
	if w.abandoned[id] {
		return
	}
	for _, r := range w.open {
		if r.id == id {
			if r.cancelled {
				w.failf("%s is cancelled twice", id)
			}
			r.cancelled = true
			if t, ok := r.effect.(StartTool); ok && t.In.Mode == work.ToolCheck { // nobody waits for it any more
				w.drop(r)
			}
			return
		}
	}
	w.failf("%s is cancelled, but does not run", id)
}

// checkTool: gates run one at a time, post stages too and in their turn, an exclusive body runs alone, and what was not
// allowed does not run. See spec §4.8.
func (w *world) checkTool(in work.ToolIn) {
	modes := map[string]int{}
	for _, r := range w.open {
		if t, ok := r.effect.(StartTool); ok {
			modes[t.In.Mode]++
			if t.In.Mode == work.ToolRun && (!t.In.Call.Parallel || !in.Call.Parallel) && in.Mode == work.ToolRun {
				w.failf("call %s runs beside %s", in.Call.ID, t.In.Call.ID)
			}
			if t.In.Call.ID == in.Call.ID {
				w.failf("call %s has two stages at once", in.Call.ID)
			}
		}
	}
	limit := w.d.maxParallel()
	switch {
	case in.Mode == work.ToolCheck && in.Said == nil:
		w.failf("nothing is checked of %s", in.Call.ID)
	case in.Mode == work.ToolGate && (!in.Call.Gated || modes[work.ToolGate] > 0):
		w.failf("a gate of %s runs", in.Call.ID)
	case in.Mode == work.ToolPost && (!in.Call.Posted || modes[work.ToolPost] > 0 || in.Out == nil):
		w.failf("a post stage of %s runs", in.Call.ID)
	case in.Mode == work.ToolRun && modes[work.ToolRun]+modes[work.ToolSettle] >= limit:
		w.failf("%d calls run", limit+1)
	case in.Mode == work.ToolRun && in.Call.Gated && !w.allowed[in.Key]:
		w.failf("call %s runs, but was not allowed", in.Call.ID)
	case in.Mode == work.ToolRun && w.edited[in.Key] != editsOf(in):
		w.failf("call %s runs with %q in the place of its arguments, and not with %q", in.Call.ID, editsOf(in), w.edited[in.Key])
	case w.state().Cancelled != nil && (in.Mode == work.ToolRun || in.Mode == work.ToolGate):
		w.failf("call %s starts in a cancelled turn", in.Call.ID)
	case w.state().Defect != nil && in.Mode != work.ToolSettle:
		w.failf("call %s starts in a turn that failed", in.Call.ID)
	}
}

// allow notes what lets gated calls run.
func (w *world) allow(before State, in Input) {
	for _, c := range before.Calls {
		key := fmt.Sprintf("%s/%d/%d.%d/%s", before.Session, cmp.Or(c.Epoch, before.Epoch), before.Turn, before.Step, c.ID)
		switch in := in.(type) {
		case ToolDone:
			gate, check := c.State == CallGating, c.State == CallChecking && c.Ask.Kind == ""
			check = check && in.Out.Digest != ""
			if allows := c.Effect == in.ID && in.Out.Verdict == work.Allow; allows && check {
				w.edited[key] = string(c.Ask.Checking.Said.Arguments)
			}
			w.allowed[key] = w.allowed[key] || (gate || check) && c.Effect == in.ID && in.Out.Verdict == work.Allow
		case Decided:
			current := in.Digest == "" || c.Ask != nil && in.Digest == c.Ask.Digest
			w.allowed[key] = w.allowed[key] || c.State == CallAsking && c.Ask.ID == in.ID && in.Grant && current && len(in.Arguments) == 0
		case Batch:
			for _, act := range in.Acts {
				w.allow(before, act)
			}
		}
	}
}

// call is one of the calls that were there when the last input came.
func (w *world) call(id string) *Call {
	i := slices.IndexFunc(w.calls, func(c Call) bool { return c.ID == id })
	if i < 0 {
		w.failf("there was no call %s", id)
	}
	return &w.calls[i]
}

func editsOf(in work.ToolIn) string {
	if in.Approved == nil {
		return ""
	}
	return string(in.Approved.Arguments)
}

// observeApproval: what no person decided is what the policy of the log says, and nothing else lets a call run.
func (w *world) observeApproval(e session.Feature) {
	if e.Kind == "approval/policy" {
		w.ruled = work.Policy{}
		require.NoError(w.t, json.Unmarshal(e.Data, &w.ruled))
	}
	var d struct{ CallID, Outcome, Via, Rule string }
	if e.Kind != "approval/decided" {
		return
	}
	require.NoError(w.t, json.Unmarshal(e.Data, &d))
	mode, c := work.PolicyAsk, w.call(d.CallID)
	if a := w.state().Manifest.Approvals; a != nil {
		mode = cmp.Or(a.Mode, mode)
	}
	mode = cmp.Or(w.ruled.Mode, mode)
	named := func(r work.Rule) bool { return r.ID == d.Rule && r.Lasts(w.now) && r.Tool == c.Name }
	switch {
	case d.Via == "":
		return
	case d.Via == viaPolicy && (d.Outcome == granted) == (mode == work.PolicyAlways) && (d.Outcome == rejected) == (mode == work.PolicyNever):
	case d.Via == viaRule && d.Outcome == granted && slices.ContainsFunc(w.ruled.Rules, named) && mode != work.PolicyNever:
	case d.Via == viaRule && d.Outcome == granted && d.Rule == "definition" && mode == work.PolicyAllowList:
	default:
		w.failf("call %s is %s by %s %s, the policy is %v", d.CallID, d.Outcome, d.Via, d.Rule, w.ruled)
	}
	if d.Outcome == granted {
		w.allowed[w.d.key(c, c.Epoch)] = true
	}
}

// checkDeadline: the time that a person has left is kept, whatever run counts it.
func (w *world) checkDeadline(e StartTimer) {
	for _, c := range w.state().Calls {
		if c.Ask != nil && c.Ask.Timer == e.ID && e.DelayMS != max(0, c.Ask.DueMS-w.now) {
			w.failf("call %s is due in %d ms, the timer says %d", c.ID, c.Ask.DueMS-w.now, e.DelayMS)
		}
	}
}

// checkLent compares what is lent with the log.
func (w *world) checkLent(head work.Head, tail []session.Record, limit int) {
	bytes := 0
	for i, r := range tail {
		bytes += size(r)
		if want := w.log.Records()[head.Count+int64(i)]; r.Seq != want.Seq || r.Time != want.Time || r.Event.Type() != want.Event.Type() {
			w.failf("event %d is lent as %v, logged as %v", i, r, want)
		}
	}
	if bytes > limit && len(tail) > 1 {
		w.failf("%d bytes are lent, the limit is %d", bytes, limit)
	}
}

// checkEnd: the end comes last, and whoever asked for it is answered with it. See spec §6.3.
func (w *world) checkEnd(in Input, effects []Effect) {
	for i, e := range effects {
		if _, ok := e.(Close); ok && i < len(effects)-1 {
			w.failf("%T after the run was closed", effects[i+1])
		}
	}
	if ask, ok := in.(DisposeAsked); ok && w.answers[ask.Ref].Disposition == Done && w.state().Phase != Closed {
		w.failf("a disposal was answered before the end")
	}
}

// checkTold: what was logged is told once, in order.
func (w *world) checkTold(events []session.Record, effects []Effect) {
	var told []session.Record
	for _, e := range effects {
		if n, ok := e.(Notify); ok && n.Name == "session/event" {
			told = append(told, n.Data.(session.Record))
		}
	}
	if !slices.EqualFunc(told, events, func(a, b session.Record) bool { return a.Seq == b.Seq }) {
		w.failf("%d events were logged, %d were told", len(events), len(told))
	}
}

// note keeps a notification in short form.
func (w *world) note(n Notify) {
	if strings.HasPrefix(n.Name, "session/") {
		return // the trace says the same of its events, and the agent's notes of its birth and end
	}
	name := n.Name[strings.LastIndex(n.Name, "/")+1:]
	switch data := n.Data.(type) {
	case note:
		var args []string
		for _, a := range []string{data.ID, data.Reason} {
			if a != "" {
				args = append(args, a)
			}
		}
		if data.Turn > 0 {
			args = slices.Insert(args, 1, fmt.Sprint(data.Turn))
		}
		name += "(" + strings.Join(args, ",") + ")"
	case Receipt:
		name += "(" + data.Code + ")"
	case map[string]any:
		if f, ok := data["error"].(*session.Failure); ok {
			name += "(" + f.Code + ")"
		}
	case map[string]string:
		if name == "status" {
			return // [Transition] says the same
		}
		if source := data["source"]; source != "" && source != "startup" {
			name += "(" + source + ")"
		}
	}
	if n.Data != nil {
		asJSON(w.t, n.Data)
	}
	w.notes = append(w.notes, name)
}

// checkLaws holds after every input.
func (w *world) checkLaws(before State, in Input) {
	w.t.Helper()
	s := w.state()
	if err := Check(s); err != nil {
		w.failf("%v", err)
	}
	fold := w.log.State()
	if fold.Count() != s.Log.Next() {
		w.failf("the log has %d events, the driver says %d", fold.Count(), s.Log.Next())
	}
	if len(s.Log.Waiting) == 0 {
		box := fold.Inbox()
		w.checkList(session.NextStep, box.NextStep, s.NextStep)
		w.checkList(session.NextTurn, box.NextTurn, s.NextTurn)
		turn, turnOpen := fold.Turn()
		step, stepOpen := fold.Step()
		if turn != s.Turn || turnOpen != s.TurnOpen || stepOpen != s.StepOpen || stepOpen && step != s.Step {
			w.failf("the log is at %d.%d (%t, %t), the driver at %d.%d (%t, %t)", turn, step, turnOpen, stepOpen, s.Turn, s.Step, s.TurnOpen, s.StepOpen)
		}
	}
	for i, status := range w.status {
		if i > 0 && status == w.status[i-1] {
			w.failf("status trace %v", w.status)
		}
	}
	if asks := slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Ask != nil }); asks != (s.Waiting != "") {
		w.failf("somebody is waited for: %t, the last transition said %q", asks, s.Waiting)
	}
	w.checkQuiet()
	w.checkWake(before.Status(), in, before.Phase == Maintaining)
	w.checkLatch(before, in)
}

// checkFates: what the driver says of messages is what the log says, as far as the driver remembers. Two things are not in
// the log: whether a list of one was cleared or its message removed, and that a step which came to nothing was entered
// without any message. See [session.Tracker].
func (w *world) checkFates(ids []string) {
	w.t.Helper()
	if len(w.state().Log.Waiting) > 0 {
		return
	}
	for _, id := range ids {
		live := w.state().Fate(id)
		if live.State == "" {
			continue
		}
		logged := w.logged(id)
		if live.Cause == session.Cleared && logged.Cause == session.Removed || live.State == session.FateDiscarded && live.Cause == "" {
			live.Cause = logged.Cause
		}
		if live.Reason == session.DropRewritten && logged.Reason == session.DropReason(live.Kind) {
			live.Reason = logged.Reason
		}
		if live != logged {
			w.failf("%s: the driver says %+v, the log %+v", id, live, logged)
		}
	}
}

// logged is what the log says of a message.
func (w *world) logged(id string) session.Fate {
	t := session.Track(id, w.log.Header().SeedLength)
	for _, r := range w.log.Records() {
		t.Add(r)
	}
	return t.Fate()
}

func (w *world) checkList(name string, logged []session.Message, held []Pending) {
	if len(logged) != len(held) {
		w.failf("%s has %d messages in the log, the driver holds %d", name, len(logged), len(held))
	}
	for i, m := range logged {
		if m.ID != held[i].ID {
			w.failf("%s %d is %s in the log, the driver holds %s", name, i, m.ID, held[i].ID)
		}
	}
}

// checkQuiet: an agent that says it is idle has nothing in flight but the timer of a failed flush and a change that is
// being checked, and one that is not waits for something.
func (w *world) checkQuiet() {
	busy := false
	for _, r := range w.open {
		switch e := r.effect.(type) {
		case StartChild, LookAtChild, StartConfigure: // the agent's own work does not wait for them
		case StartTimer:
			busy = busy || e.ID == w.state().Awaiting
		default:
			busy = true
		}
	}
	switch s := w.state(); {
	case s.Quiet() && busy:
		w.failf("idle, but %s runs", w.open[0].id)
	case !s.Quiet() && !busy && !s.Rolling && !slices.ContainsFunc(s.Calls, func(c Call) bool { return c.State == CallAsking || c.State == CallDelegated }):
		w.failf("not idle, but nothing runs")
	}
}

// checkWake: what starts an idle driver, and what never does. See spec §3.1.4.
func (w *world) checkWake(before string, in Input, maintaining bool) {
	s := w.state()
	switch in := in.(type) {
	case Sent:
		refused := w.receipt.Disposition == Refused || w.receipt.Disposition == Duplicate
		held := s.Phase == Birth || s.Phase == Maintaining || s.Disposing
		if in.Wakeup && !refused && before == StatusIdle && !held && s.Status() != StatusRunning {
			w.failf("a wake while idle did not start the driver")
		}
		if !in.Wakeup && before == StatusIdle && s.Phase != Birth && s.Status() != StatusIdle {
			w.failf("an injection started the driver")
		}
	case Removed, Replaced, Cleared, Promoted, Reordered:
		if before == StatusIdle && s.Status() == StatusRunning {
			w.failf("an edit started the driver")
		}
	case CancelAsked, MaintainAsked:
		latched := maintaining && w.latch != notLatched // a task that had not begun ends, §3.6.4
		if before == StatusIdle && s.Status() == StatusRunning && !latched {
			w.failf("a cancel or a task started the driver")
		}
	}
}

// A latch says what a test knows of the driver's latch.
type latch string

const (
	latched    latch = "latched"
	notLatched latch = ""
	unknown    latch = "unknown" // acts of a hook or a batch decided
)

// checkLatch follows spec §3.1.4 and §3.1.5 on its own: at convergence a latched wake starts the driver if something is
// pending, and nothing else does.
func (w *world) checkLatch(before State, in Input) {
	s := w.state()
	w.latch = nextLatch(w.latch, before, in, w.receipt)
	if s.Disposing {
		w.latch = notLatched
	}
	converged := s.Generation > before.Generation || before.Phase == Birth && s.Phase != Birth
	if !converged {
		return
	}
	running := s.Status() == StatusRunning
	switch {
	case w.latch == latched && !running && s.pending() > 0:
		w.failf("a latched wake is lost")
	case w.latch == notLatched && running:
		w.failf("the driver starts without a wake")
	}
	w.latch = notLatched
}

func nextLatch(now latch, before State, in Input, r Receipt) latch {
	switch in := in.(type) {
	case Sent:
		cancelled := before.Cancelled != nil && before.Cancelled.Kind != session.CauseDisposed
		waits := before.Phase == Birth || before.Active() && cancelled || before.Phase == Draining && !before.Normal && before.Cancelled == nil ||
			before.Phase == Maintaining && before.Cancelled == nil || in.Interrupt && before.Active() && before.Cancelled == nil
		if in.Wakeup && r.Disposition != Refused && waits {
			return latched
		}
	case CancelAsked:
		if before.Active() && !in.KeepInbox {
			return notLatched
		}
	case Batch:
		return unknown
	default:
		if len(actsOf(in)) > 0 {
			return unknown
		}
	}
	return now
}

// actsOf are the acts that an answer carries.
func actsOf(in Input) []work.Act {
	switch in := in.(type) {
	case Born:
		return in.Out.Acts
	case StepDone:
		return in.Out.Acts
	case ToolDone:
		return in.Out.Acts
	case HookDone:
		return in.Out.Acts
	case MaintainDone:
		return in.Out.Acts
	default:
		return nil
	}
}

// find returns the oldest open effect of a kind: setup, step, tool, persist, or the kind of a timer.
func (w *world) find(kind string) *running {
	for _, r := range w.open {
		if strings.HasPrefix(r.id, kind) {
			return r
		}
	}
	return nil
}

// take removes an open effect.
func (w *world) take(kind string) *running {
	w.t.Helper()
	r := w.find(kind)
	if r == nil {
		w.failf("no %s is open", kind)
	}
	w.drop(r)
	return r
}

func (w *world) drop(r *running) {
	w.open = slices.DeleteFunc(w.open, func(o *running) bool { return o == r })
}

// ref names a caller who waits.
func (w *world) ref() string {
	ref := fmt.Sprintf("ref-%d", len(w.asked)+1)
	w.asked = append(w.asked, ref)
	return ref
}

// checkReplies: every caller got exactly one answer.
func (w *world) checkReplies() {
	for _, ref := range w.asked {
		if w.replies[ref] != 1 {
			w.failf("%s got %d receipts", ref, w.replies[ref])
		}
	}
}

func (w *world) head() work.Head {
	n := w.log.State().Count()
	return work.Head{Hash: fmt.Sprintf("h%d", n), Count: n}
}

// persisted answers the open persist.
func (w *world) persisted(ok bool) {
	r := w.take("persist")
	in := r.effect.(StartPersist).In
	if !ok {
		w.feed(PersistFailed{ID: r.id, Message: "disk full"})
		return
	}
	n := in.Head.Count + int64(len(in.Tail))
	w.feed(Persisted{ID: r.id, Out: work.PersistOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: work.Head{Hash: fmt.Sprintf("h%d", n), Count: n}}})
}

// user is a message of n bytes of text.
func user(id string, n int) session.Message {
	text := "text of " + id
	if n > len(text) {
		text += strings.Repeat("x", n-len(text))
	}
	return session.Message{ID: id, Role: session.RoleUser, Content: session.TextContent(text), Source: session.Source{Kind: session.SourceUser}}
}

// An answer is how a Step ends.
type answer struct {
	outcome     string
	entered     bool // failed, cancelled: step/start is in the log
	committed   bool // and the users are
	unwritten   bool // nothing was written at all, not even the tail
	interrupted bool
	empty       bool
	chunks      int
	finish      session.FinishKind
	calls       []work.Call
	users       []string // what the gate lets in; nil is the batch
	failure     *session.Failure
	recovery    *work.Recovery
	acts        []work.Act
	usage       *session.Usage
}

// stepDone answers the open Step, after writing what it says it wrote.
func (w *world) stepDone(a answer) {
	w.t.Helper()
	r := w.take("step")
	in := r.effect.(StartStep).In
	out := work.StepOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Outcome: a.outcome, Entered: a.entered, Committed: a.committed,
		Interrupted: a.interrupted, Finish: a.finish, Calls: a.calls, Failure: a.failure, Recovery: a.recovery, Acts: a.acts,
		Assembly: "assembly", Model: "p/m", Reason: "no", Usage: a.usage, Worker: work.Worker{Rules: 1}}
	w.write(in, a, &out)
	out.Head = w.head()
	if a.unwritten {
		out.Head = in.Head
	}
	w.feed(StepDone{ID: r.id, Out: out})
}

// write appends a Step's own events. See spec §4.4.7–4.7.3.
func (w *world) write(in work.StepIn, a answer, out *work.StepOut) {
	fold := w.log.State()
	put := func(e session.Event, sources ...int64) {
		r := session.NewRecord(w.now, e, sources...)
		r.Seq = fold.Count()
		w.append(r)
	}
	settled := a.outcome == work.StepMessage || a.outcome == work.StepAttempt
	out.Committed = a.committed || settled
	out.Entered = a.entered || out.Committed
	if _, open := fold.Step(); out.Entered && !open {
		put(session.StepStart{Turn: in.Turn, Step: in.Step})
	}
	if out.Committed {
		users := a.users
		if users == nil {
			users = in.Batch
		}
		for _, id := range users {
			put(session.UserMessage{Message: user(id, 0)})
		}
		out.Users = slices.Clone(users)
		if fold.LastHeader() == nil {
			put(session.RequestHeader{Header: session.HeaderContent{Config: session.CallConfig{Provider: "p", Model: "m"}}, Reason: session.HeaderInitial})
			put(session.RequestContext{Provider: "p", Model: "m", ContextWindow: 1000})
		}
	}
	if settled {
		w.stream(in, a, put)
	}
}

// stream appends the chunks of an attempt and its settlement.
func (w *world) stream(in work.StepIn, a answer, put func(session.Event, ...int64)) {
	chunks := []int64{}
	for range a.chunks {
		chunks = append(chunks, w.log.State().Count())
		put(session.AssistantChunk{Turn: in.Turn, Step: in.Step, Chunk: session.TextDelta{Text: "t"}})
	}
	if a.outcome == work.StepAttempt {
		put(session.AssistantAttempt{Turn: in.Turn, Step: in.Step, ChunkSeqs: chunks, Failure: a.failure})
		return
	}
	content := session.Content{}
	if !a.empty {
		content = session.TextContent("answer")
	}
	for _, c := range a.calls {
		content = append(content, session.ToolCallBlock{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	put(session.AssistantMessage{Turn: in.Turn, Step: in.Step, Interrupted: a.interrupted,
		Message: session.Message{ID: fmt.Sprintf("a%d", w.log.State().Count()), Role: session.RoleAssistant, Content: content,
			Source: session.Source{Kind: session.SourceModel, Provider: "p", Model: "m"}}}, chunks...)
}

// taskDone answers the open maintenance task, after it logged n titles.
func (w *world) taskDone(n int, out work.MaintainOut) {
	w.t.Helper()
	r := w.take("maintain")
	in := r.effect.(StartMaintain).In
	out.Echo, out.Head = work.EchoOf(in.Head.Count, in.Tail), in.Head
	for range n {
		r := session.NewRecord(w.now, session.Feature{Kind: "session/title", Data: json.RawMessage(`{"title":"t"}`)})
		r.Seq = w.log.State().Count()
		w.append(r)
		out.Head = w.head()
	}
	w.feed(MaintainDone{ID: r.id, Out: out})
}

// configured answers the open check of a change; without a spec it is refused.
func (w *world) configured(spec string, rerouted bool) {
	w.t.Helper()
	r := w.take("configure")
	out := work.ConfigureOut{Code: work.ErrInvalidSpec, Message: "no"}
	if spec != "" {
		out = work.ConfigureOut{Recorded: &work.Recorded{Spec: spec, Rerouted: rerouted}}
	}
	w.feed(ConfigureDone{ID: r.id, Out: out})
}

// tool returns the open effect of a call.
func (w *world) tool(callID string) *running {
	w.t.Helper()
	for _, r := range w.open {
		if t, ok := r.effect.(StartTool); ok && t.In.Call.ID == callID {
			return r
		}
	}
	w.failf("call %s does not run", callID)
	return nil
}

// brief describes an input.
func brief(in Input) string {
	raw, err := json.Marshal(in)
	if err != nil {
		return fmt.Sprintf("%T %v", in, err)
	}
	if len(raw) > 400 {
		raw = append(raw[:400], "…"...)
	}
	return fmt.Sprintf("%T %s", in, raw)
}
