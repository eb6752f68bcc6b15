package driver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// decidable is a call that waits for a person, bound to digest d1.
const decidable = opened + `
	step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
	gate c1 ask deadline=60000 digest=d1 => approval/asked
`

// two calls with the same tool and arguments wait.
const askedTwice = opened + `
	step calls c1*?,c2*? args={"k":"docs/a"} => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
	gate c1 ask digest=d1 => approval/asked TC(c2)
	gate c2 ask digest=d1 => approval/asked
`

// What becomes of decisions. See architecture A3.7.
func TestDecisions(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"bound to the digest", decidable + `
			grant 1.1.c1 digest=d2
			receipt refused STALE
			deny 1.1.c1 digest=d2
			receipt refused STALE
			calls asking
			grant 1.1.c1 digest=d1 => approval/decided
			receipt done
			calls running
		`},
		{"the same request twice, and another person's", decidable + `
			grant 1.1.c1 req=r => approval/decided
			receipt done
			grant 1.1.c1 req=r
			receipt duplicate
			deny 1.1.c1 req=s
			receipt refused UNKNOWN_CALL
			calls running
		`},
		{"late: it has expired, and does not run", decidable + `
			timer approval => approval/decided TR!(c1) SE
			grant 1.1.c1 digest=d1
			receipt refused UNKNOWN_CALL
			open step+owed
		`},
		{"late: it was cancelled", decidable + `
			cancel => CR(user) approval/decided TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			grant 1.1.c1 digest=d1
			receipt refused UNKNOWN_CALL
		`},
		{"of an earlier turn, though the call has the same id", decidable + `
			deny 1.1.c1 => approval/decided TR!(c1) SE
			step ok => SS1.2 CH×1 AM SE TE(completed)
			followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
			step calls c1? => SS2.1 UM(b) CH×1 AM TC(c1)
			gate c1 ask digest=d1 => approval/asked
			grant 1.1.c1 digest=d1
			receipt refused UNKNOWN_CALL
			calls asking
			grant 2.1.c1 digest=d1 => approval/decided
			calls running
		`},
		{"a denial gives nothing more", decidable + `
			deny 1.1.c1 edit={"k":2}
			receipt refused INVALID
			deny 1.1.c1 remember
			receipt refused INVALID
			grant 1.1.c1 remember edit={"k":2}
			receipt refused INVALID
			grant 1.1.c1 remember for=-1
			receipt refused INVALID
			calls asking
		`},
		{"a worker of before gives no digest: the policy is not asked, and nothing is remembered", `
			policy never => approval/policy` + opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked
			grant 1.1.c1 remember
			receipt refused INVALID
			policy always => approval/policy
			calls asking
			grant 1.1.c1 => approval/decided
			calls running
		`},
	})
}

// A person's arguments are checked by a worker before they count. See architecture D20.
func TestChangedArguments(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"they fit", checking + `
			check c1 allow digest=d2 => approval/decided
			receipt done
			calls running
			tool c1 ok
			post c1 ok => TR(c1) SE
		`},
		{"they do not fit: the call waits on", checking + `
			check c1 deny
			receipt refused INVALID
			calls asking
			open approval
			grant 1.1.c1 digest=d1 => approval/decided
			calls running
		`},
		{"another decision comes meanwhile", checking + `
			grant 1.1.c1 digest=d1
			receipt refused BUSY
			deny 1.1.c1
			receipt refused BUSY
			check c1 allow digest=d2 => approval/decided
		`},
		{"the same request comes meanwhile, and after", decidable + `
			grant 1.1.c1 req=r edit={"k":2}
			grant 1.1.c1 req=r edit={"k":2}
			receipt refused BUSY
			check c1 allow digest=d2 => approval/decided
			grant 1.1.c1 req=r edit={"k":2}
			receipt duplicate
		`},
		{"a cancel comes first", checking + `
			cancel => CR(user) approval/decided TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			phase idle
		`},
		{"it expires first, and does not run", checking + `
			timer approval => approval/decided
			calls posting
			post c1 ok => TR(c1) SE
		`},
		{"the policy ends it first", checking + `
			policy never => approval/policy approval/decided
			calls posting
			post c1 ok => TR(c1) SE
		`},
		{"the policy lets it run as it was asked", checking + `
			policy always => approval/policy approval/decided
			calls running
		`},
		{"not in a batch", decidable + `
			batch grant 1.1.c1 edit={"k":2}; clear
			receipt done [refused INVALID] [done]
			calls asking
		`},
		{"a batch ends it first", checking + `
			batch clear; cancel => CR(user) approval/decided TR!(c1,ABORTED_BEFORE_DISPATCH) SE TE(aborted user)
			receipt done [done] [done]
		`},
		{"a worker that does not say what it is about", checking + `
			check c1 allow
			receipt refused INVALID
			calls asking
		`},
		{"its worker is lost: the call waits on", checking + `
			lost tool c1 exhausted
			receipt refused INVALID
			calls asking
			open approval
			timer approval => approval/decided
		`},
		{"it fails for good: the call waits on", checking + `
			lost tool c1 failed
			receipt refused INVALID
			calls asking
			deny 1.1.c1 => approval/decided
		`},
		{"a reset lets it be checked again", checking + `
			hold
			reset answered
			calls checking
			check c1 deny
			receipt refused INVALID
		`},
		{"a rollover waits for it", checking + `
			roll
			open approval check:c1
			check c1 deny
			open approval
			resume
			calls asking
		`},
	})
}

// The policy answers in a person's place.
func TestPolicies(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"never: it is denied", `
			policy never => approval/policy
			receipt done` + opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask digest=d1 => approval/asked approval/decided TR!(c1) SE
		`},
		{"always: it runs", `
			policy always => approval/policy` + opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask digest=d1 => approval/asked approval/decided
			calls running
		`},
		{"relaxed: what waits is let go", askedTwice + `
			policy always => approval/policy approval/decided approval/decided
			calls running,running
		`},
		{"tightened: what waits is denied", askedTwice + `
			policy never => approval/policy approval/decided approval/decided TR!(c1) TR!(c2) SE
			open step+owed
		`},
		{"allow-list: what fits is let go", `
			born allow=echo:k:docs/*` + askedTwice + `
			policy allow-list => approval/policy approval/decided approval/decided
			rules allow-list
			calls running,running
		`},
		{"allow-list: nothing fits", `
			born allow=echo:k:src/*` + askedTwice + `
			policy allow-list => approval/policy
			calls asking,asking
		`},
		{"declared: the rules of the definition count", `
			born policy=allow-list allow=echo:k:docs/*` + opened + `
			step calls c1? args={"k":"docs/a"} => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask digest=d1 => approval/asked approval/decided
			calls running
		`},
		{"declared: without the list its rules do not count", `
			born policy=ask allow=echo` + opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask digest=d1 => approval/asked
			calls asking
		`},
		{"declared never, switched to ask", `
			born policy=never
			policy ask => approval/policy
			rules ask` + opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask digest=d1 => approval/asked
			calls asking
		`},
		{"a gate's denial is not overruled", `
			policy always => approval/policy` + opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 deny => TR!(c1) SE
		`},
		{"what nobody knows changes nothing", decidable + `
			policy sometimes
			receipt refused INVALID
			policy never revoke=rule-7
			receipt refused INVALID
			policy allow=echo for=-1
			receipt refused INVALID
			calls asking
			policy ask req=r => approval/policy
			policy never req=r
			receipt duplicate
			rules ask
		`},
		{"a rollover while a person is asked keeps the policy", decidable + `
			policy allow=other => approval/policy
			roll
			resume
			rules ask rule-1:other
			policy always => approval/policy approval/decided
			calls running
		`},
		{"in a batch", decidable + `
			batch policy allow=other; policy never => approval/policy approval/policy approval/decided TR!(c1) SE
			receipt done [done] [done]
			rules never rule-1:other
		`},
	})
}

// A person has calls like this one run from now on.
func TestRememberedRules(t *testing.T) {
	t.Parallel()
	const third = `
			tool c1 ok => TR(c1) TR(c2) SE
			step calls c3? args={"k":"docs/a"} => SS1.2 CH×1 AM TC(c3)
	`
	runScripts(t, []script{
		{"the same call", askedTwice + `
			grant 1.1.c1 remember => approval/policy approval/decided approval/decided
			rules ask rule-1:echo
			calls running,running
			tool c2 ok` + third + `
			gate c3 ask digest=d1 => approval/asked approval/decided
			calls running
		`},
		{"another call is asked about", askedTwice + `
			grant 1.1.c1 remember => approval/policy approval/decided approval/decided
			tool c2 ok` + third + `
			gate c3 ask digest=d2 => approval/asked
			calls asking
		`},
		{"by a pattern", askedTwice + `
			grant 1.1.c1 remember args=k:docs/* => approval/policy approval/decided approval/decided
			tool c2 ok` + third + `
			gate c3 ask digest=d2 => approval/asked approval/decided
			calls running
		`},
		{"by a pattern that does not fit the call itself", askedTwice + `
			grant 1.1.c1 remember args=k:src/* => approval/policy approval/decided
			calls running,asking
		`},
		{"any call of the tool", askedTwice + `
			grant 1.1.c1 remember any => approval/policy approval/decided approval/decided
		`},
		{"for a while", askedTwice + `
			grant 1.1.c1 remember for=1000 => approval/policy approval/decided approval/decided
			tool c2 ok` + third + `
			wait 2000
			gate c3 ask digest=d1 => approval/asked
			calls asking
		`},
		{"revoked", askedTwice + `
			grant 1.1.c1 remember => approval/policy approval/decided approval/decided
			policy revoke=rule-1 => approval/policy
			rules ask
			tool c2 ok` + third + `
			gate c3 ask digest=d1 => approval/asked
			policy revoke=rule-1
			receipt refused INVALID
			policy allow=echo => approval/policy approval/decided
			rules ask rule-2:echo
		`},
		{"given by a switch, with a pattern", askedTwice + `
			policy allow=echo:k:docs/* => approval/policy approval/decided approval/decided
		`},
		{"never is stronger", askedTwice + `
			grant 1.1.c1 remember => approval/policy approval/decided approval/decided
			policy never => approval/policy
			tool c2 ok` + third + `
			gate c3 ask digest=d1 => approval/asked approval/decided TR!(c3) SE
		`},
	})
}

// What a rule does not let run however it is written is in internal/work.
func TestAnAgentRemembersOnlySoMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range maxRules {
		w.act(fmt.Sprintf("policy allow=t%d", i))
		require.Equal(t, Done, w.receipt.Disposition)
	}
	w.act("policy allow=more")
	require.Equal(t, RefusedFull, w.receipt.Code)
	w.act("policy allow=more revoke=rule-1")
	require.Equal(t, Done, w.receipt.Disposition, "one goes, one comes")
	w.act("policy allow=t revoke=rule-2 for=1000")
	w.now += 2000
	w.act("policy allow=t")
	require.Equal(t, Done, w.receipt.Disposition, "what is over is forgotten")
	w = newWorld(t)
	w.act("policy allow=t:a:" + strings.Repeat("x", maxRuleBytes))
	require.Equal(t, RefusedFull, w.receipt.Code)
	require.Nil(t, w.state().Policy)
}

// What the log says of approvals.
func TestWhatIsLoggedOfADecision(t *testing.T) {
	t.Parallel()
	w := runScript(t, decidable+`
		grant 1.1.c1 edit={"k":2}
		check c1 allow digest=d2 => approval/decided
		tool c1 ok => TR(c1) SE
		step calls c2? => SS1.2 CH×1 AM TC(c2)
		gate c2 ask digest=d1 => approval/asked
		grant 1.2.c2 digest=d1 remember for=1000 => approval/policy approval/decided
		tool c2 ok => TR(c2) SE
		step calls c3? => SS1.3 CH×1 AM TC(c3)
		gate c3 ask digest=d1 => approval/asked approval/decided
	`, false)
	var got []map[string]any
	for _, r := range w.log.Records() {
		if e, ok := r.Event.(session.Feature); ok && e.Kind != "session/title" {
			var data map[string]any
			require.NoError(t, json.Unmarshal(e.Data, &data))
			data["kind"] = e.Kind
			got = append(got, data)
		}
	}
	has := func(i int, want map[string]any) {
		for name, value := range want {
			require.Equal(t, value, got[i][name], "%d: %s of %v", i, name, got[i])
		}
	}
	has(0, map[string]any{"kind": "approval/asked", "id": "1.1.c1", "callId": "c1", "turn": 1.0, "step": 1.0, "tool": "echo", "arguments": "{}", "digest": "d1", "reason": "why", "deadlineMs": 60000.0})
	has(1, map[string]any{"kind": "approval/decided", "id": "1.1.c1", "outcome": granted, "by": "somebody", "digest": "d2", "edited": map[string]any{"k": 2.0}, "via": nil})
	has(3, map[string]any{"kind": "approval/policy", "policy": work.PolicyAsk, "by": "somebody", "given": 1.0})
	has(4, map[string]any{"kind": "approval/decided", "id": "1.2.c2", "outcome": granted, "rule": "rule-1", "via": nil, "digest": "d1"})
	has(6, map[string]any{"kind": "approval/decided", "id": "1.3.c3", "outcome": granted, "rule": "rule-1", "via": viaRule})
}
