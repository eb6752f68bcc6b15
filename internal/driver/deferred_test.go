package driver

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// handedOn is a turn with a call that waits for answers and one that waits for a program.
const handedOn = opened + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok defer=question deadline=60000 => question/asked
			tool c2 ok defer=client => client/called
			calls asking,asking
`

// A call whose body hands it to somebody outside waits as data; what they say counts when a worker says that it fits. See
// architecture A3.7.
func TestDeferredCalls(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"answers and a result, in any order", handedOn + `
			give 1.1.c2.result
			calls asking,checking
			check c2 ok => client/answered
			receipt done
			answer 1.1.c1.answer
			check c1 ok => question/answered TR(c1) TR(c2) SE
			receipt done
			phase step
		`},
		{"a worker says that it does not fit: the call waits on", handedOn + `
			answer 1.1.c1.answer
			check c1 deny
			receipt refused INVALID
			calls asking,asking
			answer 1.1.c1.answer
			check c1 ok => question/answered TR(c1)
			receipt done
		`},
		{"another answer while one is being checked", handedOn + `
			answer 1.1.c1.answer
			answer 1.1.c1.answer
			receipt refused BUSY
			check c1 ok => question/answered TR(c1)
		`},
		{"the same request twice is applied once, and told so", handedOn + `
			answer 1.1.c1.answer req=r
			check c1 ok => question/answered TR(c1)
			receipt done
			answer 1.1.c1.answer req=r
			receipt duplicate
		`},
		{"a request that did not fit may come again", handedOn + `
			answer 1.1.c1.answer req=r
			check c1 deny
			answer 1.1.c1.answer req=r
			check c1 ok => question/answered TR(c1)
		`},
		{"what nobody waits for", handedOn + `
			answer 1.1.c3.answer
			receipt refused UNKNOWN_CALL
			answer 1.1.c2.result -- answers are no result
			receipt refused UNKNOWN_CALL
			give 1.1.c1.answer
			receipt refused UNKNOWN_CALL
			grant 1.1.c1.answer -- and nothing is to be decided
			receipt refused UNKNOWN_CALL
			calls asking,asking
			answer 1.1.c1.answer
			check c1 ok => question/answered TR(c1)
			answer 1.1.c1.answer -- late
			receipt refused UNKNOWN_CALL
		`},
		{"the worker that checks is lost: the call waits on", handedOn + `
			answer 1.1.c1.answer
			lost tool c1 exhausted
			receipt refused INVALID
			calls asking,asking
			answer 1.1.c1.answer
			lost tool c1 failed -- for a reason of our own: not the turn's
			receipt refused INVALID
			calls asking,asking
		`},
		{"nobody answers in time", handedOn + `
			wait 60000
			timer approval => question/expired TR!(c1,NO_ANSWER)
			calls committed,asking
			answer 1.1.c1.answer
			receipt refused UNKNOWN_CALL
		`},
		{"the time is over while an answer is being checked", handedOn + `
			answer 1.1.c1.answer
			timer approval => question/expired TR!(c1,NO_ANSWER)
			receipt refused UNKNOWN_CALL
			calls committed,asking
		`},
		{"cancelled", handedOn + `
			cancel => CR(user) question/expired client/expired TR!(c1,ABORTED) TR!(c2,ABORTED) SE TE(aborted user)
			phase idle
		`},
		{"cancelled while an answer and a result are being checked", handedOn + `
			answer 1.1.c1.answer
			give 1.1.c2.result
			cancel => CR(user) question/expired client/expired TR!(c1,ABORTED) TR!(c2,ABORTED) SE TE(aborted user)
			phase idle
		`},
		{"a call that fails for good ends the waits", opened + `
			step calls c1*,c2*,c3* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2) TC(c3)
			tool c1 ok defer=question => question/asked
			tool c2 ok defer=client => client/called
			lost tool c3 failed => question/expired client/expired TR!(c1,TOOL_NOT_STARTED) TR!(c2,TOOL_OUTCOME_UNKNOWN)
			tool c3 ok => TR(c3) SE TE(error UNKNOWN)
		`},
		{"reset while an answer is being checked: it is checked anew", handedOn + `
			answer 1.1.c1.answer
			reset
			epochs c1@2/1
			check c1 ok => question/answered TR(c1)
			receipt done
		`},
		{"reset while they wait", handedOn + `
			reset
			calls asking,asking
			give 1.1.c2.result
			check c2 ok => client/answered
		`},
		{"batch: what takes a check is refused, the rest is applied", handedOn + `
			batch answer 1.1.c1.answer; steer b; answer 1.1.c9.answer => IS+(next-step:b)
			receipt done [refused INVALID] [steered] [refused UNKNOWN_CALL]
			calls asking,asking
		`},
		{"batch: a cancel while an answer is being checked tells whoever answered, not the batch", handedOn + `
			answer 1.1.c1.answer
			batch cancel; followup b => CR(user) question/expired client/expired IS+(next-turn:b) TR!(c1,ABORTED) TR!(c2,ABORTED) SE TE(aborted user) TS2 IS-(next-turn:1)
			receipt done [done] [queued]
		`},
		{"a cancel before the body says that it asks", opened + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			cancel => CR(user)
			tool c1 ok defer=question => TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
		`},
		{"an exclusive call keeps others from running while it waits, their gates too", opened + `
			step calls c1,c2*?,c3 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok defer=client => client/called
			calls asking,waiting,waiting
			give 1.1.c1.result
			calls checking,waiting,waiting
			check c1 ok => client/answered TR(c1) TC(c2)
			calls committed,gating,waiting
		`},
		{"a waiting call keeps its place in the pool", `
			born max=1` + opened + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok defer=question => question/asked
			calls asking,waiting
			answer 1.1.c1.answer
			check c1 ok => question/answered TR(c1) TC(c2)
		`},
		{"what was said goes through the post stage", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok defer=client => client/called
			give 1.1.c1.result failed
			check c1 failed => client/answered
			calls posting
			post c1 ok => TR(c1) SE
		`},
		{"so does that nobody answered", opened + `
			step calls c1+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok defer=client deadline=1000 => client/called
			timer approval => client/expired
			calls posting
			post c1 error NO_ANSWER => TR!(c1,NO_ANSWER) SE
		`},
		{"a run ends while a question is open", handedOn + `
			status running,running+question
			roll
			resume
			calls asking,asking
			wait 20000
			roll
			resume
			answer 1.1.c1.answer
			check c1 ok => question/answered TR(c1)
		`},
	})
}

// What the log says of a question is what people must see to answer it, and who answered what.
func TestTheLogTellsOfQuestions(t *testing.T) {
	t.Parallel()
	w := runScript(t, handedOn+`
			answer 1.1.c1.answer text=2
			check c1 ok => question/answered TR(c1)
			give 1.1.c2.result failed
			check c2 failed => client/answered TR!(c2) SE
	`, false)
	told := map[string]string{}
	for _, r := range w.log.Records() {
		if f, ok := r.Event.(session.Feature); ok {
			told[f.Kind] = string(f.Data)
		}
	}
	require.JSONEq(t, `{"turn":1,"step":1,"callId":"c1","id":"1.1.c1.answer","tool":"echo","deadlineMs":60000,"questions":[{"id":"q"}]}`, told["question/asked"])
	require.JSONEq(t, `{"callId":"c1","id":"1.1.c1.answer","by":"somebody","answers":[{"text":"xx"}]}`, told["question/answered"])
	require.JSONEq(t, `{"turn":1,"step":1,"callId":"c2","id":"1.1.c2.result","tool":"echo","deadlineMs":0}`, told["client/called"])
	require.JSONEq(t, `{"callId":"c2","id":"1.1.c2.result","by":"somebody","isError":true}`, told["client/answered"])
}

// The worker that checks is given the questions as they were asked.
func TestACheckIsToldWhatWasAskedAndSaid(t *testing.T) {
	t.Parallel()
	w := runScript(t, handedOn, false)
	w.feed(Answered{Ref: w.ref(), ID: "1.1.c1.answer", Said: work.Said{Kind: work.WaitQuestion, Answers: json.RawMessage(`[1]`)}})
	in := w.tool("c1").effect.(StartTool).In
	require.Equal(t, work.ToolCheck, in.Mode)
	require.Equal(t, &work.Said{Kind: work.WaitQuestion, Questions: json.RawMessage(`[{"id":"q"}]`), Answers: json.RawMessage(`[1]`)}, in.Said)
	w.toolDone("c1", work.ToolOut{Verdict: work.Deny})
}
