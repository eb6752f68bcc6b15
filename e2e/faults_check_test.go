package e2e

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A toll is what a fault may cost. The zero value: nothing but a model call that is made again.
type toll struct {
	Unknown bool // the outcome of a once tool may be unknown
	Store   bool // a turn may end with the code STORE, which its caller is told; and a tool may not have been run for it
	Cut     bool // a turn may be interrupted, with unknown outcomes of every class: its workflow was terminated
	Again   bool // a reconcile tool may act again under its key: a worker that only seemed dead was in its body
}

// check is what must hold after every fault, for every agent: it is idle by itself; its log is valid and the store alone
// has all of it; its history replays; every message was taken once and answered, and answered right; no tool did anything
// twice, and what the log says of a tool is what it did.
func (s *scene) check() {
	s.t.Helper()
	for kind, fine := range map[string]bool{"twice": false, "again": s.may.Again} {
		found, err := filepath.Glob(s.path("world/*." + kind))
		require.NoError(s.t, err)
		require.True(s.t, fine || len(found) == 0, "effects that happened twice: %v", found)
	}
	for id, spoken := range s.spoken {
		s.checkAgent(s.agent(id), spoken)
	}
}

func (s *scene) checkAgent(a *agents.Agent, spoken []*saying) {
	s.t.Helper()
	for _, x := range spoken {
		if !x.heard {
			s.hear(a, x)
		}
	}
	idle(s.t, a)
	records := s.records(a.ID())
	out := s.ok("log", "verify", s.write(a.ID()+".jsonl", s.ok("log", a.ID(), "--json")))
	require.Equal(s.t, fmt.Sprintf("valid: %d events\n", len(records)), out)
	require.Equal(s.t, trace(records), s.published(a.ID()), "the store alone has the log")
	s.checkAttempts(records)
	s.checkInput(records, spoken)
	l := readLedger(records)
	for _, x := range spoken {
		failed := x.answer.Err() != nil
		if verb, n, _ := strings.Cut(x.text, " "); verb == "note" {
			s.checkSaid(l, "noted "+n+".", failed)
		} else {
			s.checkErrand(a.ID(), n, errands[verb], l, failed)
		}
	}
}

// checkAttempts checks why model calls were made again.
func (s *scene) checkAttempts(records []session.Record) {
	s.t.Helper()
	for _, e := range all[session.AssistantAttempt](records) {
		require.NotNil(s.t, e.Failure)
		if !s.may.Store || e.Failure.Code != work.CodeStore {
			require.Equal(s.t, work.CodeWorkerLost, e.Failure.Code, e.Failure.Message)
		}
	}
}

// checkOutcome checks how the turn of a message ended.
func (s *scene) checkOutcome(x *saying) {
	s.t.Helper()
	switch kind := x.answer.Outcome.Kind; {
	case kind == session.TurnErrored && s.may.Store:
		require.Equal(s.t, work.CodeStore, x.answer.Outcome.Error.Code, x.answer.Outcome.Error.Message)
	case kind == session.TurnInterrupted && s.may.Cut:
	default:
		require.NoError(s.t, x.answer.Err(), x.text)
	}
}

// checkInput checks that every message entered the log once, followups in order.
func (s *scene) checkInput(records []session.Record, spoken []*saying) {
	s.t.Helper()
	entered := map[string]int{}
	var order, want []string
	followups := map[string]bool{}
	for _, x := range spoken {
		followups[x.id] = x.as == signals.Followup
	}
	for _, e := range all[session.UserMessage](records) {
		entered[e.Message.ID]++
		if followups[e.Message.ID] {
			order = append(order, e.Message.ID)
		}
	}
	for _, x := range spoken {
		if x.answer.Err() == nil {
			require.Equal(s.t, 1, entered[x.id], "%s entered the log", x.text)
		}
		if x.as == signals.Followup && entered[x.id] > 0 {
			want = append(want, x.id)
		}
	}
	require.Equal(s.t, want, order, "in the order in which they were sent")
}

// A ledger is what a log says of the errands.
type ledger struct {
	said    []string                        // by the model
	results map[string][]session.ToolResult // by errand, in the order of the calls
}

func readLedger(records []session.Record) ledger {
	l := ledger{results: map[string][]session.ToolResult{}}
	for _, e := range all[session.AssistantMessage](records) {
		l.said = append(l.said, e.Message.Text())
	}
	for _, e := range all[session.ToolResult](records) {
		n, _, _ := strings.Cut(callOf(e), "-")
		l.results[n] = append(l.results[n], e)
	}
	return l
}

func callOf(r session.ToolResult) string {
	for _, b := range r.Message.Content {
		if b, ok := b.(session.ToolResultBlock); ok {
			return b.ToolCallID
		}
	}
	return ""
}

// checkSaid checks that the model said something once; not at all is fine if a turn failed.
func (s *scene) checkSaid(l ledger, text string, failed bool) {
	s.t.Helper()
	said := strings.Count(strings.Join(l.said, "\n"), text)
	if failed && said == 0 {
		return
	}
	require.Equal(s.t, 1, said, "%q in %q", text, l.said)
}

// checkErrand compares what was done, what the log says and what the model said.
func (s *scene) checkErrand(agent, n string, classes []string, l ledger, failed bool) {
	s.t.Helper()
	results := l.results[n]
	if failed && len(results) == 0 {
		return
	}
	require.Len(s.t, results, len(classes), "results of errand %s", n)
	var texts []string
	for i, class := range classes {
		s.checkResult(agent, n, class, results[i])
		texts = append(texts, brief(resultText(results[i])))
	}
	s.checkSaid(l, report(n, texts), failed)
}

// checkResult compares the result of one call with the world.
func (s *scene) checkResult(agent, n, class string, r session.ToolResult) {
	s.t.Helper()
	require.Equal(s.t, n+"-"+class, callOf(r))
	e, err := readEffect(workbench{home: s.home}.fileOf(class, agent, n))
	happened := err == nil
	switch {
	case r.Error == nil && class == "pure":
		require.Equal(s.t, "pure "+n, brief(resultText(r)))
	case r.Error == nil:
		require.True(s.t, happened, "%s of errand %s is said to have happened: %s", class, n, resultText(r))
		require.Equal(s.t, e.Value, resultText(r), "the real outcome")
	case r.Error.Code == session.CodeToolOutcomeUnknown:
		require.True(s.t, s.may.Cut || s.may.Unknown && class == "once", "the outcome of %s of errand %s is known, or could be", class, n)
	case r.Error.Code == work.CodeStore:
		require.True(s.t, s.may.Store, resultText(r))
		require.False(s.t, happened, "%s of errand %s happened", class, n)
	default:
		require.Fail(s.t, "unexpected result", "%s of errand %s: %s: %s", class, n, r.Error.Code, resultText(r))
	}
}
