package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

// counted is the demo model's answer to "count to 10".
const counted = "1 2 3 4 5 6 7 8 9 10 Done."

func TestAWorkerKilledInTheMiddleOfAnAnswer(t *testing.T) {
	p := here(t)
	first := p.worker()
	a := p.create("a")
	shown := p.start(nil, "tail", a.ID())
	id := send(t, a, "count to 10")
	seen := streams(t, a, 4)
	first.kill()
	p.worker()

	answer := said(t, a, id)
	require.Equal(t, session.TurnCompleted, answer.Outcome.Kind)
	require.Equal(t, counted, answer.Text)
	idle(t, a)
	records := p.records(a.ID())
	requireNothingDoubled(t, records, "count to 10")
	attempts := all[session.AssistantAttempt](records)
	require.Len(t, attempts, 1)
	require.Equal(t, "WORKER_LOST", attempts[0].Failure.Code)
	require.Equal(t, seen, textOf(records, attempts[0].ChunkSeqs)[:len(seen)], "what was shown is in the log")
	require.Len(t, textOf(records, sourcesOf[session.AssistantMessage](t, records)), 11, "the answer cites its own chunks only")
	shown.says("(the answer starts again)")
	shown.says(counted)
}

// requireNothingDoubled checks a log of one turn with one answer.
func requireNothingDoubled(t *testing.T, records []session.Record, prompt string) {
	t.Helper()
	users := all[session.UserMessage](records)
	require.Len(t, users, 1)
	require.Equal(t, prompt, users[0].Text())
	require.Len(t, all[session.AssistantMessage](records), 1)
	require.Len(t, all[session.StepStart](records), 1)
	require.Len(t, all[session.TurnStart](records), 1)
	require.Len(t, all[session.TurnEnd](records), 1)
}

// textOf returns the text deltas at some seqs.
func textOf(records []session.Record, seqs []int64) []string {
	var out []string
	for _, seq := range seqs {
		if c, ok := records[seq].Event.(session.AssistantChunk); ok {
			if d, ok := c.Chunk.(session.TextDelta); ok {
				out = append(out, d.Text)
			}
		}
	}
	return out
}

// sourcesOf returns what the only event of a kind cites.
func sourcesOf[E session.Event](t *testing.T, records []session.Record) []int64 {
	t.Helper()
	for _, r := range records {
		if _, ok := r.Event.(E); ok {
			return r.Sources
		}
	}
	require.Fail(t, "no such event")
	return nil
}

func TestAServerKilledInTheMiddleOfAnAnswer(t *testing.T) {
	p, again := alone(t)
	p.worker()
	a := p.create("a")
	id := send(t, a, "count to 10")
	streams(t, a, 3)
	again()

	answer := said(t, a, id)
	require.Equal(t, session.TurnCompleted, answer.Outcome.Kind)
	require.Equal(t, counted, answer.Text)
	idle(t, a)
	records := p.records(a.ID())
	requireNothingDoubled(t, records, "count to 10")
	for _, attempt := range all[session.AssistantAttempt](records) {
		require.Equal(t, "WORKER_LOST", attempt.Failure.Code, "if anything was lost, then this worker's heartbeats")
	}
	require.Equal(t, session.TurnCompleted, ask(t, a, "please echo again").Outcome.Kind)
}

func TestServerAndWorkerKilledTogether(t *testing.T) {
	p, again := alone(t)
	first := p.worker()
	a := p.create("a")
	id := send(t, a, "count to 10")
	later := send(t, a, "please echo later")
	streams(t, a, 3)
	first.kill()
	again()
	p.worker()

	require.Equal(t, counted, said(t, a, id).Text)
	require.Equal(t, "The echo tool says: later", said(t, a, later).Text)
	idle(t, a)
	records := p.records(a.ID())
	require.Len(t, all[session.UserMessage](records), 2)
	require.Len(t, all[session.AssistantMessage](records), 3)
	require.Len(t, all[session.ToolResult](records), 1)
	require.Len(t, all[session.AssistantAttempt](records), 1)
}

func TestACancelWhileTheWorkerIsDead(t *testing.T) { // X6, A3.6
	p := here(t)
	first := p.worker()
	a := p.create("a")
	send(t, a, "count to 100")
	streams(t, a, 3)
	first.kill()
	require.NoError(t, a.Cancel(t.Context(), agents.CancelOptions{}))
	p.worker()

	idle(t, a)
	records := p.records(a.ID())
	text := trace(records)
	require.True(t, strings.Contains(text, "AM!") || strings.Contains(text, "AA"), text)
	require.True(t, strings.HasSuffix(text, "SE TE(aborted user)"), text)
	require.Len(t, all[session.UserMessage](records), 1)
	require.LessOrEqual(t, len(all[session.AssistantMessage](records)), 1)
	require.Equal(t, "The echo tool says: on", ask(t, a, "please echo on").Text, "the agent goes on")
}

func TestACancelStopsAStreamAtOnce(t *testing.T) { // X6
	p := here(t)
	p.worker()
	a := p.create("a")
	id := send(t, a, "count to 1000")
	streams(t, a, 3)
	p.ok("cancel", a.ID(), "--text", "enough")
	answer := said(t, a, id)
	require.Equal(t, session.TurnAborted, answer.Outcome.Kind)
	require.True(t, strings.HasPrefix(answer.Text, "1 2 3 "), answer.Text)
	idle(t, a)
	records := p.records(a.ID())
	require.True(t, strings.HasSuffix(trace(records), " AM! CR(user) SE TE(aborted user)"), trace(records))
	require.Equal(t, "enough", all[session.CancelRequested](records)[0].Text)
}

func TestAWorkerKilledInTheMiddleOfATool(t *testing.T) { // A3.7
	for name, c := range map[string]struct {
		result string
		trace  string
		tries  int
	}{
		"once":  {session.TextToolOutcomeUnknown, "TR!(c1,TOOL_OUTCOME_UNKNOWN)", 1},
		"keyed": {"done in try 2", "TR(c1)", 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			script := "tool c1 " + name + " {}\ntext \"I see.\"\n"
			first := p.helperWorker(script)
			a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper})
			require.NoError(t, err)
			id := send(t, a, "act")
			until(t, "the tool runs", func() bool { return p.exists("started-c1-1") })
			first.kill()
			p.write("go", "")
			p.helperWorker(script)

			require.Equal(t, "I see.", said(t, a, id).Text)
			idle(t, a)
			records := p.records(a.ID())
			require.Contains(t, trace(records), "TC(c1) "+c.trace+" SE")
			require.Equal(t, c.result, resultText(all[session.ToolResult](records)[0]))
			require.Equal(t, c.tries == 2, p.exists("started-c1-2"))
		})
	}
}

func (p *place) exists(name string) bool {
	_, err := os.Stat(p.path(name))
	return err == nil
}

func resultText(r session.ToolResult) string {
	for _, b := range r.Message.Content {
		if b, ok := b.(session.ToolResultBlock); ok {
			return b.Content.Text()
		}
	}
	return ""
}

func TestAWorkerThatIsStoppedHandsOnWhatItDoes(t *testing.T) { // A3.15
	p := here(t)
	first := p.workerWith(nil, "--drain", "1ms")
	a := p.create("a")
	id := send(t, a, "count to 10")
	streams(t, a, 2)
	require.Zero(t, first.stop())
	p.worker()
	require.Equal(t, counted, said(t, a, id).Text)
	idle(t, a)
	requireNothingDoubled(t, p.records(a.ID()), "count to 10")
}

// Workers of containers may have the same name: process 1 of the same host. The server tells them apart by what they were
// given, and so does the store.
func TestWorkersOfOneName(t *testing.T) { // A3.3, A3.7
	p := here(t)
	p.env = append(p.env, workerName+"=1@host")
	require.NoError(t, os.Mkdir(p.path("world"), 0o700))
	script := "tool c1 once {\"n\":\"1\"}\ntext \"I see.\"\n"
	first := p.helperWorker(script)
	p.helperWorker(script)
	var staff []*agents.Agent
	var messages []string
	for i := range 8 {
		a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id(fmt.Sprint(i)), Definition: smith})
		require.NoError(t, err)
		staff, messages = append(staff, a), append(messages, send(t, a, "act"))
	}
	until(t, "a tool has acted", func() bool { return len(p.done()) > 0 })
	first.kill()
	p.helperWorker(script)

	known := 0
	for i, a := range staff {
		require.Equal(t, "I see.", said(t, a, messages[i]).Text)
		idle(t, a)
		records := p.records(a.ID())
		checkLog(t, records)
		results := all[session.ToolResult](records)
		require.Len(t, results, 1)
		if results[0].Error == nil {
			known++
			continue
		}
		require.Contains(t, []string{session.CodeToolOutcomeUnknown, session.CodeToolNotStarted}, results[0].Error.Code)
	}
	require.GreaterOrEqual(t, len(p.done()), known, "what is said to be done is done")
	require.LessOrEqual(t, len(p.done()), len(staff), "nothing is done twice")
	require.Positive(t, known)
}

// done are the effects of tools of the workbench; one that happens twice is two.
func (p *place) done() (files []string) {
	p.t.Helper()
	entries, err := os.ReadDir(p.path("world"))
	require.NoError(p.t, err)
	for _, e := range entries {
		if !strings.Contains(strings.TrimSuffix(e.Name(), ".twice"), ".") { // else it is being made
			files = append(files, e.Name())
		}
	}
	return files
}

func TestManyAgentsAndAKilledWorker(t *testing.T) {
	p := here(t)
	first := p.worker()
	p.worker()
	const agentCount, turns = 6, 3
	var asked sync.WaitGroup
	answers := make([][]string, agentCount)
	for i := range agentCount {
		a := p.create(fmt.Sprint(i))
		asked.Go(func() {
			for n := range turns {
				id, err := a.Followup(t.Context(), agents.Text(fmt.Sprintf("please echo %d.%d", i, n)))
				if err == nil {
					var answer agents.Answer
					answer, err = a.Await(t.Context(), id)
					answers[i] = append(answers[i], answer.Text)
				}
				if err != nil {
					t.Errorf("agent %d: %v", i, err)
				}
			}
		})
	}
	until(t, "half of the work is done", func() bool { return has[session.TurnEnd](t, p.agent(p.id("2"))) })
	first.kill()
	p.worker()
	asked.Wait()
	for i := range agentCount {
		a := p.agent(p.id(fmt.Sprint(i)))
		idle(t, a)
		for n := range turns {
			require.Equal(t, fmt.Sprintf("The echo tool says: %d.%d", i, n), answers[i][n])
		}
		records := p.records(a.ID())
		require.Len(t, all[session.UserMessage](records), turns)
		require.Len(t, all[session.AssistantMessage](records), 2*turns)
		require.Len(t, all[session.ToolResult](records), turns)
	}
}
