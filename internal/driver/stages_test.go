package driver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// The stages of a call, spec §4.8.
func TestGatedCalls(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"§4.8.4 pre stages run one at a time in model order, only execution overlaps", opened + `
			step calls c1*?,c2*?,c3*? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			open gate:c1
			gate c1 allow => TC(c2)
			open tool:c1 gate:c2
			gate c2 allow => TC(c3)
			open tool:c1 tool:c2 gate:c3
			tool c2 ok
			gate c3 allow
			tool c1 ok => TR(c1) TR(c2)
			tool c3 ok => TR(c3) SE
		`},
		{"§4.8.4 an ungated call waits for the gate before it", opened + `
			step calls c1*?,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 allow => TC(c2)
			open tool:c1 tool:c2
		`},
		{"§4.8.4 what is cleared runs before a later call starts", `
			born max=2` + opened + `
			step calls c1*,c2*?,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			open tool:c1 gate:c2
			gate c2 allow
			open tool:c1 tool:c2
			tool c1 ok => TR(c1) TC(c3)
			tool c2 ok => TR(c2)
			tool c3 ok => TR(c3) SE
		`},
		{"§4.8.2 an exclusive call's gate waits for the pool, and the pool for the exclusive call", opened + `
			step calls c1*?,c2?,c3*? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 allow
			open tool:c1
			tool c1 ok => TR(c1) TC(c2)
			gate c2 allow
			open tool:c2
			tool c2 ok => TR(c2) TC(c3)
			gate c3 allow
			tool c3 ok => TR(c3) SE
		`},
		{"C-154 a gated pool is capped too", `
			born max=2` + opened + `
			step calls c1*?,c2*?,c3*? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 allow => TC(c2)
			gate c2 allow
			open tool:c1 tool:c2
			tool c1 ok => TR(c1) TC(c3)
			open tool:c2 gate:c3
		`},
		{"C-161 C-163 a denial is an answer: the tool does not run, the model goes on", opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 deny => TR!(c1) SE
			open step+owed
		`},
		{"C-162 one is denied, the gate of another fails: post sees what was executed or denied", opened + `
			step calls c1*?+,c2*?+,c3*?+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 allow => TC(c2)
			gate c2 deny => TC(c3)
			gate c3 fault
			calls running,executed,finished
			tool c1 ok
			open post:c1
			post c1 ok => TR(c1)
			open post:c2
			post c2 failed => TR!(c2) TR!(c3) SE
		`},
		{"§4.8 a gate without a verdict fails closed", opened + `
			step calls c1?+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 nothing => TR!(c1) SE
		`},
		{"§4.8 a gate that is lost is a fault: the tool does not run, no post stage", opened + `
			step calls c1?+,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			lost tool c1 exhausted => TR!(c1) TC(c2)
			tool c2 ok => TR(c2) SE
		`},
		{"a body that is lost after its gate is settled, and judged", opened + `
			step calls c1?+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 allow
			lost tool c1 exhausted
			open settle(exhausted):c1
			tool c1 ok
			post c1 ok => TR(c1) SE
		`},
		{"A3.8 what a gate asks for comes before its verdict", opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 deny acts=steer:x => IS+(next-step:x) TR!(c1) SE IS-(next-step:1)
		`},
		{"C-158 an exclusive call makes the next one exclusive", opened + `
			step calls c1,c2*,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok exclusive=c2 => TR(c1) TC(c2)
			open tool:c2
			tool c2 ok => TR(c2) TC(c3)
			tool c3 ok => TR(c3) SE
		`},
		{"C-159 a call of the pool that became exclusive waits until it drained", `
			born max=2` + opened + `
			step calls c1*,c2*,c3*,c4* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok exclusive=c3 => TR(c1)
			open tool:c2
			tool c2 ok => TR(c2) TC(c3)
			open tool:c3
			tool c3 ok => TR(c3) TC(c4)
			tool c4 ok => TR(c4) SE
		`},
		{"C-158 when nobody can say which ones, all do", `
			born max=2` + opened + `
			step calls c1*,c2*,c3*,c4* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok alone => TR(c1)
			tool c2 ok => TR(c2) TC(c3)
			open tool:c3
			tool c3 ok => TR(c3) TC(c4)
		`},
		{"C-158 a gate can do it too, and what has started stays as it is", opened + `
			step calls c1*?,c2*?,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 allow exclusive=c1,c3,c9 => TC(c2)
			gate c2 allow
			open tool:c1 tool:c2
			tool c2 ok
			tool c1 ok => TR(c1) TR(c2) TC(c3)
		`},
	})
}

func TestPostStages(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"§4.8.5 posts run strictly in model order", opened + `
			step calls c1*+,c2*+,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2) TC(c3)
			tool c2 ok
			tool c3 ok
			calls running,executed,finished
			tool c1 ok
			open post:c1
			post c1 ok => TR(c1)
			open post:c2
			post c2 ok => TR(c2) TR(c3) SE
		`},
		{"C-153 C-155 an exclusive call waits for the post stage of the one before", opened + `
			step calls c1+,c2+,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok
			open post:c1
			post c1 ok => TR(c1) TC(c2)
			tool c2 ok
			open post:c2
			post c2 ok => TR(c2) TC(c3)
			tool c3 ok => TR(c3) SE
		`},
		{"C-154 a post stage holds its slot", `
			born max=2` + opened + `
			step calls c1*+,c2*+,c3*+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok
			open tool:c2 post:c1
			post c1 ok => TR(c1) TC(c3)
			open tool:c2 tool:c3
		`},
		{"C-155 a cap of one is serial with post stages too", `
			born max=1` + opened + `
			step calls c1*+,c2*?+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok
			post c1 ok => TR(c1) TC(c2)
			gate c2 allow
			tool c2 ok
			post c2 ok => TR(c2) SE
		`},
		{"C-159 a post stage makes a waiting call exclusive", `
			born max=2` + opened + `
			step calls c1*+,c2*,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok
			post c1 ok exclusive=c3 => TR(c1)
			open tool:c2
			tool c2 ok => TR(c2) TC(c3)
		`},
		{"C-169 what the post stage says is what is logged", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 error X
			post c1 ok => TR(c1) SE
		`},
		{"C-170 a block drops the contexts of the tool and keeps its own", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok ctx=x
			post c1 failed ctx=y => TR!(c1) IS+(next-step:y) SE IS-(next-step:1)
		`},
		{"C-171 contexts of two posts come after the last result, in order", opened + `
			step calls c1*+,c2*+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c2 ok
			tool c1 ok
			post c1 ok ctx=x => TR(c1) IS+(next-step:x)
			post c2 ok ctx=y => TR(c2) IS+(next-step:y) SE IS-(next-step:2)
			step ok => SS1.2 UM(x) UM(y) CH×1 AM SE TE(completed)
		`},
		{"C-173 C-176 the post stage of a concluding call", opened + `
			step calls c1+,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok concludes
			post c1 ok concludes => TR(c1) TC(c2)
			tool c2 ok => TR(c2) SE TE(completed)
		`},
		{"C-174 C-175 steering and a context during it get their step", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok concludes
			steer b => IS+(next-step:b)
			post c1 ok concludes ctx=x => TR(c1) IS+(next-step:x) SE IS-(next-step:2)
			open step
			step ok => SS1.2 UM(b) UM(x) CH×1 AM SE TE(completed)
		`},
		{"a block does not conclude", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok concludes
			post c1 failed concludes => TR!(c1) SE
			open step+owed
		`},
		{"§4.8.5 a wrapper that failed skips the post stage", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 failed skip => TR!(c1) SE
		`},
		{"§4.8.7 a post stage that is lost is an error result", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok ctx=x
			lost tool c1 exhausted => TR!(c1) SE
		`},
		{"A3.8 what a post stage asks for comes before its result", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok
			post c1 ok acts=steer:x => IS+(next-step:x) TR(c1) SE IS-(next-step:1)
		`},
	})
}

func TestProjections(t *testing.T) {
	t.Parallel()
	w := runScript(t, opened+`
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c2 ok projection ctx=x
			tool c1 failed projection => TR!(c1) TR!(c1)~ TR(c2) TR(c2)~ IS+(next-step:x) SE IS-(next-step:1)
	`, true)
	records := w.log.Records()
	at := slices.IndexFunc(records, func(r session.Record) bool { _, ok := r.Event.(session.ToolResult); return ok })
	original, projection := records[at], records[at+1]
	require.Equal(t, session.ReplaceOp(original.Seq, original.Seq), projection.Surface)
	require.Equal(t, []int64{original.Seq}, projection.Sources)
	require.Equal(t, original.Event.(session.ToolResult).Message.ID, projection.Event.(session.ToolResult).Message.ID)
	messages := w.log.State().Messages()
	var shown []string
	for _, m := range messages[2:] {
		shown = append(shown, asJSON(t, m.Content))
	}
	require.Len(t, shown, 2)
	for _, s := range shown {
		require.Contains(t, s, "res…", "the model sees the projection")
		require.NotContains(t, s, "result\"}", "and not the original")
	}

	for name, c := range map[string]struct {
		out  work.ToolOut
		want string
	}{
		"§9.4.4 one that cannot be logged is left out": {work.ToolOut{Content: session.TextContent("x"), Projection: session.Content{session.ToolResultBlock{}}}, "TC(c1) TR(c1) SE"},
		"of a result that cannot be logged":            {work.ToolOut{Content: session.Content{nil}, Projection: session.TextContent("y")}, "TC(c1) TR!(c1,INVALID_TOOL_OUTPUT) SE"},
		"with meta that is not canonical":              {work.ToolOut{Content: session.TextContent("x"), Meta: json.RawMessage(`{ "b" : 1.50, "a" : "<" }`), Projection: session.TextContent("y")}, "TC(c1) TR(c1) TR(c1)~ SE"},
		"of an artifact":                               {work.ToolOut{Content: session.Content{session.Artifact{SHA256: strings.Repeat("a", 64), Bytes: 9, MediaType: work.ContentMediaType}}, Projection: session.TextContent("y")}, "TC(c1) TR(c1) TR(c1)~ SE"},
		"by an artifact":                               {work.ToolOut{Content: session.TextContent("x"), Projection: session.Content{session.Artifact{SHA256: strings.Repeat("a", 64), Bytes: 9, MediaType: work.ContentMediaType}}}, "TC(c1) TR(c1) TR(c1)~ SE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.act("followup a")
			w.stepDone(answer{outcome: work.StepMessage, calls: []work.Call{{ID: "c1", Name: "echo"}}})
			w.toolDone("c1", c.out)
			require.True(t, strings.HasSuffix(session.Trace(w.log.Records(), nil), c.want), session.Trace(w.log.Records(), nil))
		})
	}
	runScripts(t, []script{
		{"X10 a success after a cancel loses its projection", called + `
			cancel => CR(user)
			tool c1 ok projection => TR!(c1,ABORTED)
			tool c2 failed projection => TR!(c2) TR!(c2)~ SE TE(aborted user)
		`},
		{"a post stage has the last word on it", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok projection
			post c1 ok => TR(c1) SE
		`},
	})
}

// Approvals are deferred calls, architecture A3.7.
func TestApprovals(t *testing.T) {
	t.Parallel()
	const ask = opened + `
			step calls c1?+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked
	`
	const due = opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask deadline=60000 => approval/asked
	`
	runScripts(t, []script{
		{"C-164 granted", ask + `
			open 
			status running,running+approval
			grant 1.1.c1 => approval/decided
			receipt done
			status running
			open tool:c1
			tool c1 ok
			post c1 ok => TR(c1) SE
		`},
		{"C-164 rejected: the post stage still runs", ask + `
			deny 1.1.c1 no => approval/decided
			open post:c1
			post c1 failed => TR!(c1) SE
			open step+owed
		`},
		{"C-164 expired: expiry never runs the tool", due + `
			open approval
			timer approval => approval/decided TR!(c1) SE
			open step+owed
		`},
		{"C-164 cancelled", ask + `
			cancel => CR(user) approval/decided TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			phase idle
			status running,running+approval,running,idle
			grant 1.1.c1
			receipt refused UNKNOWN_CALL
		`},
		{"a decision stops the deadline; if it fires all the same nobody waits", due + `
			hold
			grant 1.1.c1 => approval/decided
			stopped approval
			timer approval
			open tool:c1
			tool c1 ok => TR(c1) SE
		`},
		{"a decision about nothing that waits is refused", due + `
			grant 1.1.c2
			receipt refused UNKNOWN_CALL
			grant 
			receipt refused UNKNOWN_CALL
			deny 1.1.c1 => approval/decided TR!(c1) SE
			deny 1.1.c1
			receipt refused UNKNOWN_CALL
			grant 1.1.c1
			receipt refused UNKNOWN_CALL
		`},
		{"a decision is taken once", ask + `
			grant 1.1.c1 req=r1 => approval/decided
			grant 1.1.c1 req=r1
			receipt duplicate
			tool c1 ok
			post c1 ok => TR(c1) SE
		`},
		{"a refused decision may be sent again", opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			grant 1.1.c1 req=r1
			receipt refused UNKNOWN_CALL
			gate c1 ask => approval/asked
			grant 1.1.c1 req=r1 => approval/decided
			receipt done
		`},
		{"a late decision", due + `
			timer approval => approval/decided TR!(c1) SE
			grant 1.1.c1
			receipt refused UNKNOWN_CALL
		`},
		{"D24 decisions in a batch", asking + `
			batch grant 1.1.c1; deny 1.1.c2; grant 1.1.c3 => approval/decided approval/decided
			receipt done [done] [done] [refused UNKNOWN_CALL]
			tool c1 ok
			post c1 ok => TR(c1) TR!(c2) SE
		`},
		{"D24 a decision and a cancel", asking + `
			batch grant 1.1.c1; cancel => approval/decided CR(user) approval/decided TR!(c1,ABORTED_BEFORE_DISPATCH) TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			receipt done [done] [done]
		`},
		{"D21 a question frees the slot: later gates run, and so does what they clear", opened + `
			step calls c1*?,c2*?,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked TC(c2)
			open gate:c2
			gate c2 allow => TC(c3)
			open tool:c2 tool:c3
			tool c3 ok
			tool c2 ok
			calls asking,finished,finished
			grant 1.1.c1 => approval/decided
			tool c1 ok => TR(c1) TR(c2) TR(c3) SE
		`},
		{"D21 the gate of an exclusive call runs too, its body waits", opened + `
			step calls c1?,c2?,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked TC(c2)
			gate c2 allow
			open 
			calls asking,cleared,waiting
			grant 1.1.c1 => approval/decided
			open tool:c1
			tool c1 ok => TR(c1)
			open tool:c2
			tool c2 ok => TR(c2) TC(c3)
			tool c3 ok => TR(c3) SE
		`},
		{"D21 two questions, answered in another order", asking + `
			status running,running+approval
			grant 1.1.c2 => approval/decided
			open approval tool:c2
			tool c2 ok
			status 
			timer approval => approval/decided
			status running
			open post:c1
			post c1 failed => TR!(c1) TR(c2) SE
		`},
		{"D21 with a cap of one, whoever is cleared first runs first", `
			born max=1` + opened + `
			step calls c1*?,c2*? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked TC(c2)
			gate c2 allow
			grant 1.1.c1 => approval/decided
			calls cleared,running
			tool c2 ok
			open tool:c1
			tool c1 ok => TR(c1) TR(c2) SE
		`},
		{"D21 what is cleared and waits holds its slot", `
			born max=2` + opened + `
			step calls c1?,c2*?,c3*?,c4*? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked TC(c2)
			gate c2 allow => TC(c3)
			gate c3 allow
			calls asking,cleared,cleared,waiting
			deny 1.1.c1 => approval/decided TR!(c1)
			open tool:c2 tool:c3
		`},
		{"steering while a person decides joins the next step", due + `
			steer b => IS+(next-step:b)
			receipt steered seq=11
			inject c => IS+(next-step:c)
			grant 1.1.c1 => approval/decided
			tool c1 ok => TR(c1) SE IS-(next-step:2)
		`},
		{"a disposal while a person decides", due + `
			dispose => CR(disposed) approval/decided TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted disposed)
			closed 
			grant 1.1.c1
			receipt refused CLOSED
		`},
		{"A3.11 a rollover while a person decides: the deadline is armed for the time that is left", due + `
			delay approval 60000
			wait 20000
			roll
			open approval
			resume
			delay approval 39979
			grant 1.1.c1 => approval/decided
			tool c1 ok => TR(c1) SE
		`},
		{"A3.11 an overdue deadline fires at once in the next run", due + `
			wait 70000
			roll
			resume
			delay approval 0
			timer approval => approval/decided TR!(c1) SE
		`},
		{"A3.11 a decision while the log is written for the rollover", due + `
			hold
			roll
			open approval persist
			grant 1.1.c1 => approval/decided
			open approval persist tool:c1
			persist
			tool c1 ok => TR(c1) SE
			open approval persist
			persist
			phase claiming
			resume
			open step+owed
		`},
		{"A3.11 and the turn may end during it", `
			born stop` + opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked
			hold
			roll
			grant 1.1.c1 => approval/decided
			tool c1 ok concludes => TR(c1) SE
			phase stopping
			open persist hook
			hook ok => TE(completed)
			release
			phase idle
			resume
		`},
		{"A3.11 a cancel while the log is written for the rollover", due + `
			hold
			roll
			cancel => CR(user) approval/decided TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			release
			phase idle
			resume
		`},
		{"A3.11 not while anything runs", asking + `
			roll
			grant 1.1.c2 => approval/decided
			open approval tool:c2
			tool c2 ok
			resume
			calls asking,finished
			grant 1.1.c1 => approval/decided
			tool c1 ok
			post c1 ok => TR(c1) TR(c2) SE
		`},
		{"A3.11 a store that refuses does not hold it up", due + `
			hold
			roll
			persist fail
			open approval flush
			resume
			open flush approval
			grant 1.1.c1 => approval/decided
		`},
		{"D21 later gates do not run through a call that was cleared and waits", opened + `
			step calls c1?,c2?,c3? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked TC(c2)
			gate c2 allow
			calls asking,cleared,waiting
		`},
	})
}

func TestWhatAPersonIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.act("followup a")
	w.stepDone(answer{outcome: work.StepMessage, calls: []work.Call{{ID: "c1", Name: "rm", Gated: true}}})
	long := strings.Repeat("é", 10_000) + "\xff"
	w.toolDone("c1", work.ToolOut{Verdict: work.Ask, Reason: long, DeadlineMS: 1000})
	w.feed(Decided{ID: "1.1.c1", By: long, Reason: long})
	for _, r := range w.log.Records() {
		require.Less(t, size(r), 4*work.InlineLimit)
	}
	require.Contains(t, session.Trace(w.log.Records(), nil), "approval/asked approval/decided TR!(c1) SE")
	require.Contains(t, w.notes, "asked")
}

// Spec §5 with the stages of a call.
func TestCancelAmongStages(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"X9 C-226 the message is there, no gate started", opened + `
			cancel
			step calls c1?+,c2*+ => SS1.1 UM(a) RH(initial) RC CH×1 AM CR(user) TC(c1) TR!(c1,ABORTED_BEFORE_DISPATCH) TC(c2) TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			open 
		`},
		{"X11 C-229 in the first call's pre stage: none is executed", opened + `
			step calls c1*?+,c2*?+,c3 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			cancel => CR(user)
			stopped gate:c1
			gate c1 allow => TR!(c1,ABORTED_BEFORE_DISPATCH) TC(c2) TR!(c2,ABORTED_BEFORE_DISPATCH) TC(c3) TR!(c3,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"X11 whatever the gate says", opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			cancel => CR(user)
			gate c1 ask => TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step calls c1? => SS2.1 UM(b) CH×1 AM TC(c1)
			cancel => CR(user)
			gate c1 deny => TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			followup c => IS+(next-turn:c) TS3 IS-(next-turn:1)
			step calls c1? => SS3.1 UM(c) CH×1 AM TC(c1)
			cancel => CR(user)
			lost tool c1 cancelled => TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"X11 the gate itself cancels", opened + `
			step calls c1?,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 allow acts=cancel:hook:why => CR(hook why) TR!(c1,ABORTED_BEFORE_DISPATCH) TC(c2) TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted hook why)
		`},
		{"X11 a later call's gate, while an earlier call runs", opened + `
			step calls c1*?,c2*?,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 allow => TC(c2)
			cancel => CR(user)
			stopped tool:c1 gate:c2
			gate c2 allow
			tool c1 ok => TR!(c1,ABORTED) TR!(c2,ABORTED_BEFORE_DISPATCH) TC(c3) TR!(c3,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"X10 a body that answers after the cancel has no post stage", opened + `
			step calls c1*+,c2*+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			cancel => CR(user)
			tool c1 ok ctx=x => TR!(c1,ABORTED) IS+(next-step:x)
			tool c2 error X => TR!(c2,X) SE TE(aborted user)
			pending step:x
		`},
		{"X10 a body that answered before keeps its result and its post stage", opened + `
			step calls c1*,c2*+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c2 ok
			cancel => CR(user)
			stopped tool:c1
			tool c1 ok => TR!(c1,ABORTED)
			open post:c2
			post c2 ok => TR(c2) SE TE(aborted user)
		`},
		{"§3.4.6 a post stage sees the signal and keeps its word", opened + `
			step calls c1*+,c2+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok
			cancel => CR(user)
			stopped post:c1
			post c1 ok ctx=x => TR(c1) IS+(next-step:x) TC(c2) TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"X10 a post stage that is lost in a cancel: a success that nobody judged is not shown", opened + `
			step calls c1*+,c2*+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c2 error X
			tool c1 ok ctx=x
			cancel => CR(user)
			lost tool c1 cancelled => TR!(c1,ABORTED) IS+(next-step:x)
			open post:c2
			lost tool c2 exhausted => TR!(c2,X) SE TE(aborted user)
		`},
		{"X10 a post stage cancels its own turn", opened + `
			step calls c1+,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok
			post c1 ok acts=cancel:user => CR(user) TR(c1) TC(c2) TR!(c2,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"X10 cleared, executed and running at once", cleared + `
			cancel => CR(user) TR!(c2,ABORTED_BEFORE_DISPATCH)
			stopped tool:c4 tool:c5
			calls committed,committed,posting,running,running,waiting
			tool c5 ok
			post c3 ok => TR(c3)
			tool c4 ok => TR!(c4,ABORTED) TR!(c5,ABORTED) TC(c6) TR!(c6,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"C-235 a gate that ignores the signal keeps the agent running", opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			cancel => CR(user)
			cancel parent => CR(parent)
			status running
			phase tools
			gate c1 allow => TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			status idle
		`},
	})
}

func TestWhatAStageIsHanded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.act("followup a")
	w.act("step calls c1*?+,c2*,c3")
	stage := func() work.ToolIn { return w.tool("c1").effect.(StartTool).In }
	in := stage()
	head := w.state().Log.Head
	require.Equal(t, work.ToolIn{ID: in.ID, Ident: w.state().ident(), Mode: work.ToolGate, Turn: 1, Step: 1, Key: "s/1/1.1/c1",
		Call: work.Call{ID: "c1", Name: "echo", Arguments: "{}", Parallel: true, Gated: true, Posted: true},
		From: "c2", Head: &head}, in, "C-158: the mode of a later call may be asked again")
	key := in.Key

	w.act("gate c1 allow")
	in = stage()
	require.Equal(t, work.ToolRun, in.Mode)
	require.Equal(t, key, in.Key, "one key for all stages and runs")
	require.Nil(t, in.Out)

	w.act("tool c1 ok ctx=x acts=inject:y exclusive=c9")
	in = stage()
	require.Equal(t, work.ToolPost, in.Mode)
	require.Equal(t, key, in.Key)
	require.Equal(t, &work.ToolOut{Content: session.TextContent("result"), Contexts: []session.Message{user("x", 0)}}, in.Out,
		"acts were applied already, and are not judged")
	require.Empty(t, in.From)
	require.Nil(t, in.Head)
}

// A thousand calls in a step do not name each other: a stage names the first call that is not started with it.
func TestAStageNamesTheFirstCallThatIsNotStarted(t *testing.T) { // C-158
	t.Parallel()
	w := unborn(t)
	w.born(2)
	w.act("followup a")
	w.act("step calls c1*,c2*,c3*,c4*")
	from := func(id string) string { return w.tool(id).effect.(StartTool).In.From }
	require.Equal(t, "c3", from("c1"), "c2 is started with it")
	require.Equal(t, "c3", from("c2"))
	w.act("tool c1 ok")
	require.Equal(t, "c4", from("c3"))
	w.act("tool c2 ok")
	require.Empty(t, from("c4"), "none is left")
}

// A worker of older rules may take the call: it knows only names.
func TestAnAgentOfOlderRulesNamesAllLaterCalls(t *testing.T) { // C-158
	t.Parallel()
	w := unborn(t)
	w.born(2)
	w.state().Rules = rulesFrom - 1
	w.act("followup a")
	w.act("step calls c1*,c2,c3*,c4*")
	in := w.tool("c1").effect.(StartTool).In
	require.Equal(t, []string{"c3", "c4"}, in.Later)
	require.Empty(t, in.From)
	require.NotNil(t, in.Head)
}
