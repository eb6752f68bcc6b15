package driver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// A script is a table of acts. Each line is `act => what the log gained`, in the notation of spec §2.4.4; without an
// arrow the log gained nothing. Blank lines and what follows `--` are comments.
//
//	followup|steer|inject|park ID [req=R] [text=N] [bytes=N] [invalid]
//	remove ID, replace OLD NEW, clear, cancel [user|parent|disposed|hook:WHY] [keep] [native], dispose [native]
//	batch ACT; ACT; …
//	step ok|calls C1,C2*|max-tokens|empty-message|error CODE|reject|empty|fail CODE|cancelled|cut|aa …
//	     (chunks=N users=A,B acts=steer:b,cancel:user retry=N@MS again entered committed unwritten)
//	     (a call may have marks: * parallel, ? gated, + posted, and arguments: args={"k":1})
//	gate ID allow|deny|fault|ask|nothing [deadline=MS] [digest=D] [acts=…] [exclusive=c2]
//	check ID allow|deny [digest=D] [acts=…]
//	tool|post ID ok|error CODE|failed [ctx=a,b] [concludes] [acts=…] [exclusive=c2] [alone] [skip] [projection]
//	     [delegate=ID [keep] [deadline=MS]] [defer=question|client [deadline=MS]]
//	answer|give WAIT [req=R] [text=N] [failed]: somebody outside says it; check ID ok|error CODE …: a worker takes it
//	grant|deny APPROVAL [req=R] [digest=D] [edit=JSON] [remember [any] [args=NAME:PATTERN,…]] [for=MS], maintain TASK [req=R] [args=N]
//	policy [MODE] [allow=TOOL:ARG:PATTERN,…] [revoke=RULE,…] [for=MS] [req=R]
//	configure PATCH [req=R], configured SPEC [rerouted], configured refused
//	hook ok|fail CODE [acts=…], task ok|fail CODE [writes=N] [acts=…]
//	lost step|hook|task|tool ID cancelled|exhausted|unavailable
//	spawn ID [follows] [req=R], child ID started|failed CODE|idle [stranger]|closed|terminated|seen|gone
//	hold, release, persist, persist fail, timer KIND, wait MS, roll, resume, born [max=N] [rules=N] [start] [stop] [owned [reports]] [tells=K,K] [policy=MODE] [allow=TOOL:ARG:PATTERN,…] [acts=…]
//
// and what must be seen:
//
//	status A,B  notes N N  receipt D  open E E  stopped E E  pending step:a,b turn:c  phase P  closed [canceled]
//	calls S,S  rules MODE ID:TOOL …  delay KIND MS  result JSON|CODE  children a,b  tells cancel a,dispose b  told idle,closed
//	news KIND[:CALL][:OUTCOME] …: what the world was told
//	spec S: in force, with * if the next request is rerouted; base S, patch P: what is checked; manifest D: in force
type script struct{ name, text string }

func runScripts(t *testing.T, scripts []script) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			runScript(t, s.text, false)
		})
		if strings.Contains(s.text, "hold") || strings.Contains(s.text, "persist") || strings.Contains(s.text, "roll") {
			continue // the moments of rollover are the script's own
		}
		t.Run(s.name+", with rollovers", func(t *testing.T) {
			t.Parallel()
			runScript(t, s.text, true)
		})
	}
}

func runScript(t *testing.T, text string, rolls bool) *world {
	w := unborn(t)
	w.rolls = rolls
	if !strings.Contains(text, "born") {
		w.born(0)
		w.notes = nil
	}
	runLines(w, text)
	if s := w.state(); s.Phase == Closed || !s.Disposing {
		w.checkReplies()
	}
	return w
}

// runLines carries out a script, line by line.
func runLines(w *world, text string) {
	w.t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		line, _, _ = strings.Cut(line, " --")
		act, want, _ := strings.Cut(line, "=>")
		if act = strings.TrimSpace(act); act == "" {
			continue
		}
		w.say("> %s", act)
		if !w.look(act) {
			w.act(act)
			records := w.log.Records()[w.traced:]
			w.traced += len(records)
			require.Equal(w.t, strings.TrimSpace(want), w.tracer.Trace(records), "%s\n%s", act, w.showPath())
		}
	}
}

// look carries out a line that only looks.
func (w *world) look(line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	var got string
	switch verb {
	case "status":
		got, w.status = strings.Join(w.status, ","), nil
	case "notes":
		got, w.notes = strings.Join(w.notes, " "), nil
	case "receipt":
		got = showReceipt(w.receipt, rest)
	case "open":
		got = w.showOpen(false)
	case "before":
		for _, r := range w.open {
			if e, ok := r.effect.(StartTool); ok {
				got += strings.Join(e.In.Before, " ")
			}
		}
	case "epochs":
		got = w.showEpochs()
	case "stopped":
		got = w.showOpen(true)
	case "pending":
		got = showPending(w.state())
	case "phase":
		got = string(w.state().Phase)
	case "calls":
		got = showCalls(w.state().Calls)
	case "rules":
		got = w.state().Mode()
		for _, r := range w.state().policy().Rules {
			got += fmt.Sprintf(" %s:%s", r.ID, r.Tool)
		}
	case "children":
		var ids []string
		for _, c := range w.state().Children {
			ids = append(ids, c.ID)
		}
		got = strings.Join(ids, ",")
	case "tells":
		got, w.tells = strings.Join(w.tells, ","), nil
	case "told":
		got, w.told = strings.Join(w.told, ","), nil
	case "news":
		got, w.news = showNews(w.news), nil
	case "delay":
		kind, _, _ := strings.Cut(rest, " ")
		got = fmt.Sprintf("%s %d", kind, w.find(kind).effect.(StartTimer).DelayMS)
	case "result":
		got = string(w.receipt.Result)
		if f := w.receipt.Failure; f != nil {
			got += f.Code
		}
	case "spec":
		if got = w.state().Spec; w.state().Rerouted {
			got += "*"
		}
	case "base":
		got = w.find("configure").effect.(StartConfigure).In.Base
	case "patch":
		got = string(w.find("configure").effect.(StartConfigure).In.Patch)
	case "manifest":
		got = w.state().Manifest.Digest
	case "closed":
		require.NotNil(w.t, w.closed, "%s\n%s", line, w.showPath())
		if w.closed.Canceled {
			got = "canceled"
		}
	default:
		return false
	}
	require.Equal(w.t, rest, got, "%s\n%s", line, w.showPath())
	return true
}

// showReceipt shows as much of a receipt as want asks for.
func showReceipt(r Receipt, want string) string {
	got := string(r.Disposition)
	if r.Code != "" {
		got += " " + r.Code
	}
	if r.Found != nil {
		got += fmt.Sprintf(" found=%t", *r.Found)
	}
	if strings.Contains(want, "seq=") {
		if r.Seq == nil {
			return got + " seq=?"
		}
		got += fmt.Sprintf(" seq=%d", *r.Seq)
	}
	for _, sub := range r.Receipts {
		got += " [" + showReceipt(sub, "") + "]"
	}
	return got
}

func (w *world) showOpen(cancelled bool) string {
	var out []string
	for _, r := range w.open {
		if cancelled && !r.cancelled {
			continue
		}
		kind, _, _ := strings.Cut(r.id, "-")
		switch e := r.effect.(type) {
		case StartTool:
			kind = modeOf("tool", e.In.Mode, e.In.Lost) + ":" + e.In.Call.ID
		case StartStep:
			kind = modeOf("step", e.In.Mode, e.In.Lost)
			if e.In.Attempt > 1 {
				kind += fmt.Sprintf("#%d", e.In.Attempt)
			}
			if e.In.Owed {
				kind += "+owed"
			}
		case StartPersist:
			if e.In.Publish {
				kind = "publish"
			}
		}
		out = append(out, kind)
	}
	return strings.Join(out, " ")
}

func showCalls(calls []Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, string(cmp.Or(c.State, "waiting")))
	}
	return strings.Join(out, ",")
}

func modeOf(kind, mode, lost string) string {
	switch {
	case mode == "":
		return kind
	case lost == "":
		return mode
	}
	return fmt.Sprintf("%s(%s)", mode, lost)
}

func showPending(s *State) string {
	var out []string
	for _, l := range []struct {
		name string
		list []Pending
	}{{"step", s.NextStep}, {"turn", s.NextTurn}} {
		var ids []string
		for _, p := range l.list {
			ids = append(ids, p.ID)
		}
		if len(ids) > 0 {
			out = append(out, l.name+":"+strings.Join(ids, ","))
		}
	}
	return strings.Join(out, " ")
}

// words are the arguments of a line: plain ones in order, and options.
type words struct {
	plain []string
	opts  map[string]string
}

func parseWords(line string) words {
	out := words{opts: map[string]string{}}
	for _, f := range strings.Fields(line) {
		if k, v, ok := strings.Cut(f, "="); ok {
			out.opts[k] = v
		} else {
			out.plain = append(out.plain, f)
		}
	}
	return out
}

func (a words) at(i int) string {
	if i < len(a.plain) {
		return a.plain[i]
	}
	return ""
}

func (a words) has(flag string) bool { return slices.Contains(a.plain, flag) }

func (a words) num(key string) int {
	n, _ := strconv.Atoi(a.opts[key])
	return n
}

func (a words) list(key string) []string {
	v, ok := a.opts[key]
	if !ok {
		return nil
	}
	return strings.FieldsFunc(v, func(r rune) bool { return r == ',' })
}

// act carries out one line.
func (w *world) act(line string) {
	w.t.Helper()
	if acts, ok := strings.CutPrefix(line, "batch "); ok {
		batch := Batch{Ref: w.ref()}
		for part := range strings.SplitSeq(acts, ";") {
			a := parseWords(part)
			batch.Acts = append(batch.Acts, w.input(a, ""))
		}
		w.feed(batch)
		return
	}
	a := parseWords(line)
	switch a.at(0) {
	case "step":
		w.stepDone(w.parseAnswer(a))
	case "tool", "gate", "post", "check":
		w.stageDone(a)
	case "hook":
		out := work.HookOut{Acts: parseActs(a.list("acts")), Worker: work.Worker{Rules: 1}}
		if a.at(1) == "fail" {
			out.Failure = &session.Failure{Code: a.at(2), Message: "failed"}
		}
		w.feed(HookDone{ID: w.take("hook").id, Out: out})
	case "configured":
		w.configured(strings.TrimSuffix(a.at(1), "refused"), a.has("rerouted"))
	case "task":
		out := work.MaintainOut{Acts: parseActs(a.list("acts")), Result: json.RawMessage(`{"n":1}`), Worker: work.Worker{Rules: 1}}
		if a.at(1) == "fail" {
			out.Result, out.Failure = nil, failure(a.at(2))
		}
		w.taskDone(a.num("writes"), out)
	case "wait":
		ms, err := strconv.ParseInt(a.at(1), 10, 64)
		require.NoError(w.t, err)
		w.now += ms
	case "lost":
		w.lost(a)
	case "child":
		w.childDoes(a)
	case "hold":
		w.hold = true
	case "release":
		w.hold = false
		w.settleOpen()
	case "persist":
		w.persisted(a.at(1) != "fail")
	case "timer":
		w.feed(TimerFired{ID: w.take(a.at(1)).id})
	case "reset":
		w.reset(a.has("told"), a.has("answered"))
	case "roll":
		w.feed(RollAsked{})
	case "resume":
		w.rollover()
	case "born":
		if a.has("owned") {
			w.state().Owner, w.state().Bond, w.state().Reports = "p", "1.child-1", a.has("reports")
		}
		w.bornAs(work.SetupOut{Acts: parseActs(a.list("acts")), Manifest: work.Manifest{Rules: a.num("rules"), MaxParallel: a.num("max"),
			SessionStart: a.has("start"), TurnStopping: a.has("stop"), Approvals: w.declared(a), Tells: a.list("tells")}})
	default:
		w.feed(w.input(a, w.ref()))
	}
}

// input is what a caller asks for.
func (w *world) input(a words, ref string) Input {
	req := a.opts["req"]
	switch a.at(0) {
	case "followup", "steer", "inject", "park":
		m := user(a.at(1), a.num("text"))
		if a.has("invalid") {
			m.Role = session.RoleAssistant
		}
		bytes := a.num("bytes")
		if bytes == 0 {
			bytes = len(m.Text())
		}
		target := session.NextTurn
		if a.at(0) == "steer" || a.at(0) == "inject" {
			target = session.NextStep
		}
		return Sent{Ref: ref, Request: req, Message: m, Bytes: bytes, Target: target, Wakeup: a.at(0) == "followup" || a.at(0) == "steer"}
	case "spawn":
		return SpawnAsked{Ref: ref, Request: req, Child: work.Spawn{ID: a.at(1), Create: json.RawMessage(`{}`), Follows: a.has("follows")}}
	case "remove":
		return Removed{Ref: ref, Request: req, ID: a.at(1)}
	case "replace":
		m := user(a.at(2), a.num("text"))
		return Replaced{Ref: ref, Request: req, ID: a.at(1), Message: m, Bytes: len(m.Text())}
	case "clear":
		return Cleared{Ref: ref, Request: req}
	case "cancel":
		c := CancelAsked{Ref: ref, Request: req, Cause: session.Cause{Kind: session.CauseUser}, KeepInbox: a.has("keep"), Via: ViaAPI, Bond: a.opts["bond"]}
		for _, f := range a.plain[1:] {
			if f != "keep" && f != "native" {
				c.Cause = parseCause(f)
			}
		}
		if a.has("native") {
			c.Via = ViaNative
		}
		return c
	case "dispose":
		return DisposeAsked{Ref: ref, Request: req, Native: a.has("native"), Bond: a.opts["bond"]}
	case "grant", "deny":
		return w.decision(a, Decided{Ref: ref, Request: req, ID: a.at(1), Grant: a.at(0) == "grant", By: "somebody", Digest: a.opts["digest"]})
	case "answer", "give":
		said := work.Said{Kind: work.WaitQuestion, Answers: json.RawMessage(`[{"text":"` + strings.Repeat("x", a.num("text")) + `"}]`)}
		if a.at(0) == "give" {
			said = work.Said{Kind: work.WaitClient, Content: session.TextContent(strings.Repeat("x", a.num("text"))), IsError: a.has("failed")}
		}
		return Answered{Ref: ref, Request: req, ID: a.at(1), By: "somebody", Said: said}
	case "policy":
		return w.switched(a, PolicyAsked{Ref: ref, Request: req, Mode: a.at(1), Revoke: a.list("revoke"), By: "somebody"})
	case "configure":
		return ConfigureAsked{Ref: ref, Request: req, Patch: json.RawMessage(a.at(1))}
	case "maintain":
		in := MaintainAsked{Ref: ref, Request: req, Task: a.at(1)}
		if n := a.num("args"); n > 0 {
			in.Args = json.RawMessage(`"` + strings.Repeat("x", n) + `"`)
		}
		return in
	}
	w.failf("unknown act %v", a.plain)
	return nil
}

func (w *world) decision(a words, in Decided) Decided {
	if edit := a.opts["edit"]; edit != "" {
		in.Arguments = json.RawMessage(edit)
	}
	if !a.has("remember") {
		return in
	}
	in.Remember = &work.Rule{UntilMS: w.until(a)}
	for _, p := range a.list("args") {
		in.Remember.Args = append(in.Remember.Args, parsePattern(p))
	}
	if len(in.Remember.Args) == 0 && !a.has("any") {
		in.Remember.Digest = SameCall
	}
	return in
}

func (w *world) switched(a words, in PolicyAsked) PolicyAsked {
	for _, one := range a.list("allow") {
		tool, pattern, limited := strings.Cut(one, ":")
		rule := work.Rule{Tool: tool, UntilMS: w.until(a)}
		if limited {
			rule.Args = []work.ArgPattern{parsePattern(pattern)}
		}
		in.Allow = append(in.Allow, rule)
	}
	return in
}

// declared is what a definition says of approvals.
func (w *world) declared(a words) *work.Approvals {
	if allow := w.switched(a, PolicyAsked{}).Allow; allow != nil || a.opts["policy"] != "" {
		return &work.Approvals{Mode: a.opts["policy"], Allow: allow}
	}
	return nil
}

func (w *world) until(a words) int64 {
	if a.opts["for"] == "" {
		return 0
	}
	return w.now + int64(a.num("for"))
}

func parsePattern(s string) work.ArgPattern {
	name, pattern, _ := strings.Cut(s, ":")
	return work.ArgPattern{Name: name, Pattern: pattern}
}

func parseCause(s string) session.Cause {
	kind, reason, _ := strings.Cut(s, ":")
	return session.Cause{Kind: session.CauseKind(kind), Reason: reason}
}

func parseActs(list []string) []work.Act {
	var out []work.Act
	for _, s := range list {
		kind, arg, _ := strings.Cut(s, ":")
		switch kind {
		case "cancel", "cancelkeep":
			cause := parseCause(arg)
			out = append(out, work.Act{Kind: work.ActCancel, Cause: &cause, KeepInbox: kind == "cancelkeep"})
		case "spawn":
			out = append(out, work.Act{Kind: work.ActSpawn, Child: &work.Spawn{ID: arg, Create: json.RawMessage(`{}`)}})
		default:
			m := user(arg, 0)
			target := session.NextStep
			if kind == "followup" {
				target = session.NextTurn
			}
			out = append(out, work.Act{Kind: work.ActSend, Message: &m, Target: target, Wakeup: kind != "inject"})
		}
	}
	return out
}

func (w *world) parseAnswer(a words) answer {
	out := answer{chunks: 1, entered: a.has("entered"), committed: a.has("committed"), unwritten: a.has("unwritten"),
		users: a.list("users"), acts: parseActs(a.list("acts"))}
	if _, ok := a.opts["users"]; ok && out.users == nil {
		out.users = []string{}
	}
	if _, ok := a.opts["chunks"]; ok {
		out.chunks = a.num("chunks")
	}
	switch a.at(1) {
	case "ok":
		out.outcome, out.finish = work.StepMessage, session.FinishStop
	case "calls":
		out.outcome, out.finish = work.StepMessage, session.FinishToolCalls
		for id := range strings.SplitSeq(a.at(2), ",") {
			name := strings.TrimRight(id, "*?+")
			out.calls = append(out.calls, work.Call{ID: name, Name: "echo", Arguments: cmp.Or(a.opts["args"], "{}"),
				Parallel: strings.Contains(id, "*"), Gated: strings.Contains(id, "?"), Posted: strings.Contains(id, "+")})
		}
	case "max-tokens":
		out.outcome, out.finish = work.StepMessage, session.FinishMaxTokens
	case "empty-message":
		out.outcome, out.finish, out.empty = work.StepMessage, session.FinishStop, true
	case "cut":
		out.outcome, out.interrupted = work.StepMessage, true
	case "error":
		out.outcome, out.finish, out.failure = work.StepAttempt, session.FinishError, failure(a.at(2))
		if n, delay, ok := strings.Cut(a.opts["retry"], "@"); ok {
			out.recovery = &work.Recovery{Provider: "p", Mode: "normal", Policy: "default", Maximum: 5}
			out.recovery.Retry, _ = strconv.Atoi(n)
			out.recovery.DelayMS, _ = strconv.ParseInt(delay, 10, 64)
		}
		if a.has("again") {
			out.recovery = &work.Recovery{}
		}
	case "aa":
		out.outcome = work.StepAttempt
	case "reject":
		out.outcome = work.StepRejected
	case "empty":
		out.outcome = work.StepEmpty
	case "fail":
		out.outcome, out.failure = work.StepFailed, failure(a.at(2))
	case "cancelled":
		out.outcome = work.StepCancelled
	default:
		w.failf("unknown outcome %q", a.at(1))
	}
	return out
}

func failure(code string) *session.Failure {
	if code == "" || code == "entered" || code == "committed" {
		return nil
	}
	return &session.Failure{Code: code, Message: "failed"}
}

func parseTool(a words) work.ToolOut {
	out := work.ToolOut{Content: session.TextContent("result"), Concludes: a.has("concludes"), Acts: parseActs(a.list("acts")),
		SkipPost: a.has("skip"), Exclusive: a.list("exclusive"), Alone: a.has("alone")}
	if a.has("projection") {
		out.Projection = session.TextContent("res…")
	}
	switch a.at(2) {
	case "error":
		out.IsError, out.Error = true, &session.CodedError{Name: "Error", Code: a.at(3)}
	case "failed":
		out.IsError = true
	}
	for _, id := range a.list("ctx") {
		out.Contexts = append(out.Contexts, user(id, 0))
	}
	return out
}

// stageDone answers the stage of a call that the line names.
func (w *world) stageDone(a words) {
	w.t.Helper()
	mode := w.tool(a.at(1)).effect.(StartTool).In.Mode
	want := map[string][]string{"gate": {work.ToolGate}, "tool": {work.ToolRun, work.ToolSettle, work.ToolCollect}, "post": {work.ToolPost}, "check": {work.ToolCheck}}
	require.Contains(w.t, want[a.at(0)], mode, w.showPath())
	out := parseTool(a)
	if id := a.opts["delegate"]; id != "" {
		out = work.ToolOut{Delegate: &work.Spawn{ID: id, Create: json.RawMessage(`{}`), Keep: a.has("keep")}, DeadlineMS: int64(a.num("deadline"))}
	}
	if kind := a.opts["defer"]; kind != "" {
		out = work.ToolOut{Defer: &work.Deferral{Kind: kind}, DeadlineMS: int64(a.num("deadline"))}
		if kind == work.WaitQuestion {
			out.Defer.Questions = json.RawMessage(`[{"id":"q"}]`)
		}
	}
	switch verdict := a.at(2); {
	case a.at(0) == "check" && verdict != work.Allow && verdict != work.Deny: // answers, or a result
		out.Verdict = work.Allow
	case a.at(0) == "gate", a.at(0) == "check":
		out.Verdict, out.Content, out.DeadlineMS, out.Digest, out.Reason = verdict, nil, int64(a.num("deadline")), a.opts["digest"], "why"
		switch a.at(2) {
		case work.Deny, work.Fault:
			out.IsError, out.Content = true, session.TextContent("Error: no")
		case "nothing":
			out.Verdict = ""
		}
	}
	w.toolDone(a.at(1), out)
}

func (w *world) toolDone(callID string, out work.ToolOut) {
	w.t.Helper()
	r := w.tool(callID)
	w.drop(r)
	w.feed(ToolDone{ID: r.id, Out: out})
}

// childDoes lets something happen to a child.
func (w *world) childDoes(a words) {
	w.t.Helper()
	id := a.at(1)
	look := func(gone bool) { w.feed(ChildSeen{ID: w.take("look").id, Gone: gone}) }
	switch a.at(2) {
	case "started":
		w.childStarted(w.find("child"))
	case "failed":
		w.feed(ChildFailed{ID: w.take("child").id, Code: a.at(3), Message: "no"})
	case "idle":
		told := ChildTold{Child: id, Head: work.Head{Hash: "h", Count: 9}}
		if a.at(3) != "stranger" {
			told.Bond = w.bondOf(id)
		}
		w.feed(told)
	case "closed", "terminated":
		k := w.kid(func(k *kid) bool { return k.id == id })
		require.NotNil(w.t, k, "%s\n%s", id, w.showPath())
		w.childEnds(k, a.at(2) == "terminated")
	default:
		look(a.at(2) == "gone")
	}
}

func (w *world) lost(a words) {
	switch a.at(1) {
	case "step":
		w.feed(StepLost{ID: w.take("step").id, Why: Lost(a.at(2)), Message: "gone"})
		return
	case "hook":
		w.feed(HookLost{ID: w.take("hook").id, Message: "gone"})
		return
	case "configure":
		w.feed(ConfigureLost{ID: w.take("configure").id, Message: "gone"})
		return
	case "task":
		w.feed(MaintainLost{ID: w.take("maintain").id, Why: Lost(a.at(2)), Message: "gone"})
		return
	}
	r := w.tool(a.at(2))
	w.drop(r)
	w.feed(ToolLost{ID: r.id, Why: Lost(a.at(3)), Message: "gone"})
}
