package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// suggestsAt40 lets a server want every run to be short.
const suggestsAt40 = "limit.historyCount.suggestContinueAsNew=40"

// restless makes a place on a server of its own with lower limits. Tests that keep it busy do not run beside others: a machine
// that is far too busy loses heartbeats, and workers that live are taken for dead.
func restless(t *testing.T, limits ...string) *place {
	t.Helper()
	long(t)
	home := t.TempDir()
	args := []string{"--ephemeral", "--port", "0"}
	for _, l := range limits {
		args = append(args, "--dynamic-config", l)
	}
	s, err := startServer(home, args...)
	require.NoError(t, err)
	t.Cleanup(s.kill)
	return at(t, s, home)
}

// acts makes an agent whose call runs until the file "go" is there, and starts it.
func (p *place) acts(script string) (a *agents.Agent, id string) {
	p.t.Helper()
	p.helperWorker(script)
	a, err := p.agents.Create(p.t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper})
	require.NoError(p.t, err)
	id = send(p.t, a, "act")
	p.acting(a)
	return a, id
}

// acting waits until a call of the agent runs.
func (p *place) acting(a *agents.Agent) {
	p.t.Helper()
	until(p.t, "a call runs", func() bool {
		s, err := a.State(p.t.Context())
		return err == nil && len(s.Calls) > 0 && s.Calls[0].State == "running"
	})
}

// pending are the ids in an agent's inbox.
func pending(t *testing.T, a *agents.Agent) (ids []string) {
	t.Helper()
	until(t, "the state is known", func() bool {
		s, err := a.State(t.Context())
		ids = nil
		for _, m := range s.Inbox {
			ids = append(ids, m.ID)
		}
		return err == nil // else the worker is slow
	})
	return ids
}

// taken are the ids of the messages that entered steps, in that order, but for the first one.
func taken(records []session.Record) (ids []string) {
	for _, e := range all[session.UserMessage](records)[1:] {
		ids = append(ids, e.Message.ID)
	}
	return ids
}

// numbered are n ids.
func numbered(name string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-%04d", name, i))
	}
	return ids
}

// patiently sends until the agent has it, under an id by which it has it once.
func patiently(t *testing.T, send func() error) {
	until(t, "it is taken", func() bool {
		err := send()
		var refused *agents.RefusedError
		if errors.As(err, &refused) {
			return !assert.Equal(t, signals.ErrRunFull, refused.Code)
		}
		return err == nil // else the server or a worker is slow
	})
}

// What is pending goes along by reference, however large it is. See architecture A3.4, A3.11.
func TestARolloverTakesAThousandLargeMessagesAlong(t *testing.T) {
	p := restless(t, suggestsAt40)
	a, id := p.acts("tool c1 once {}\ntext \"Done.\"\n")
	want := numbered("large", 1000)
	for _, id := range want {
		m := agents.Message{ID: id, RequestID: id, Text: id + strings.Repeat(" lorem", 100<<10/6)}
		patiently(t, func() error { _, err := a.Inject(t.Context(), m); return err })
	}
	until(t, "all are pending", func() bool { return len(pending(t, a)) == len(want) })
	require.Equal(t, want, pending(t, a))
	from, _ := p.runOf(a.ID())
	p.write("go", "")
	answer := said(t, a, id)
	require.Equal(t, "Done.", answer.Text, "%+v", answer.Outcome)
	idle(t, a)
	run, _ := p.runOf(a.ID())
	require.NotEqual(t, from, run, "the run was left between the steps")

	next := p.history(a.ID(), from).GetEvents()
	closing := next[len(next)-1].GetWorkflowExecutionContinuedAsNewEventAttributes()
	require.NotNil(t, closing)
	bytes := 0
	for _, payload := range closing.GetInput().GetPayloads() {
		bytes += len(payload.GetData())
	}
	t.Logf("%d bytes were handed over", bytes)
	require.LessOrEqual(t, bytes, 64<<10)
	require.Contains(t, string(closing.GetInput().GetPayloads()[0].GetData()), want[len(want)-1], "they were pending then")
	require.Equal(t, want, taken(p.records(a.ID())))
}

// An agent that is never idle moves on between its steps, before the server refuses a caller or ends the run; those who
// wait and read do not notice.
func TestAnAgentThatIsNeverIdleMovesOn(t *testing.T) {
	t.Parallel()
	p := restless(t, suggestsAt40, "limit.historyCount.error=600", "history.maximumSignalsPerExecution=60", "history.maxTotalUpdates=60")
	p.write("go", "") // calls end at once
	const steps, messages = 40, 100
	p.helperWorker(strings.Repeat("tool c keyed {}\n", steps) + strings.Repeat("text \"ok\"\n", steps+3*messages))
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper})
	require.NoError(t, err)
	first := send(t, a, "act")

	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var followed []session.Record
	var reader sync.WaitGroup
	reader.Go(func() { followed = readUntilEndOf(ctx, a, "last") })
	var senders sync.WaitGroup
	steered, injected := numbered("steer", messages), numbered("inject", messages)
	senders.Go(func() {
		for _, id := range steered {
			patiently(t, func() error { _, err := a.Steer(ctx, agents.Message{ID: id, RequestID: id, Text: id}); return err })
		}
	})
	senders.Go(func() {
		for _, id := range injected {
			patiently(t, func() error {
				_, err := a.Receipt(ctx, signals.Inject, agents.Message{ID: id, Text: id, RequestID: id}, "", false)
				return err
			})
		}
	})
	senders.Wait()
	last := send(t, a, "last")
	require.NotEmpty(t, said(t, a, first).Outcome.Kind)
	require.Equal(t, session.TurnCompleted, said(t, a, last).Outcome.Kind)
	idle(t, a)

	reader.Wait()
	records := p.records(a.ID())
	require.Equal(t, trace(records), trace(followed))
	ids := taken(records)
	require.Equal(t, steered, only(ids, "steer"))
	require.Equal(t, injected, only(ids, "inject"))
	t.Logf("%d runs", len(p.runs(a.ID())))
	require.Greater(t, len(p.runs(a.ID())), 5)
}

// readUntilEndOf follows an agent's log until the turn of a message has ended.
func readUntilEndOf(ctx context.Context, a *agents.Agent, text string) (records []session.Record) {
	seen := false
	for r, err := range a.Follow(ctx, 0) {
		if err != nil {
			return records
		}
		records = append(records, r)
		switch e := r.Event.(type) {
		case session.UserMessage:
			seen = seen || e.Message.Text() == text
		case session.TurnEnd:
			if seen {
				return records
			}
		}
	}
	return records
}

// only are the ids that begin with a name.
func only(ids []string, name string) (out []string) {
	for _, id := range ids {
		if strings.HasPrefix(id, name+"-") {
			out = append(out, id)
		}
	}
	return out
}

// A server that takes no more signals or updates for a run which cannot be left refuses them clearly; what it took is there.
func TestAFloodDuringACall(t *testing.T) {
	t.Parallel()
	p := restless(t, suggestsAt40, "history.maximumSignalsPerExecution=30", "history.maxTotalUpdates=30")
	a, first := p.acts("tool c1 once {}\n" + strings.Repeat("text \"ok\"\n", 100))
	var accepted []string
	refusal := func(name string, act func(id string) error) {
		t.Helper()
		for n := 0; ; n++ {
			id := fmt.Sprintf("%s-%d", name, n)
			err := act(id)
			var refused *agents.RefusedError
			if errors.As(err, &refused) {
				require.Equal(t, signals.ErrRunFull, refused.Code)
				return
			}
			require.NoError(t, err)
			require.Less(t, n, 100, "the server refuses nothing")
			accepted = append(accepted, id)
		}
	}
	refusal("signal", func(id string) error {
		_, err := a.Inject(t.Context(), agents.Message{ID: id, Text: id})
		return err
	})
	refusal("update", func(id string) error {
		_, err := a.Receipt(t.Context(), signals.Inject, agents.Message{ID: id, Text: id}, "", false)
		return err
	})
	require.NotEmpty(t, accepted)
	require.Equal(t, accepted, pending(t, a))
	p.write("go", "")
	require.Equal(t, "ok", said(t, a, first).Text)
	idle(t, a)
	require.Equal(t, "ok", ask(t, a, "more").Text, "the next run takes as many again")
	idle(t, a)
	require.Equal(t, accepted, taken(p.records(a.ID()))[:len(accepted)])
}

// A run of 50 MB ends, and with it the agent. Long before, what keeps it from moving on is cancelled; what came meanwhile is
// there. Only callers that do not store large bodies first get near. See architecture A3.11.
func TestAFullRunIsLeft(t *testing.T) {
	if !*everyStrike {
		t.Skip("fifty megabytes keep a machine busy for a minute: make test gives them one to themselves")
	}
	p := restless(t)
	a, first := p.acts("tool c1 once {}\n" + strings.Repeat("text \"ok\"\n", 100))
	from, _ := p.runOf(a.ID())
	raw := numbered("raw", 52)
	for n, id := range raw {
		large := signals.Send{ID: id, RequestID: id, Text: strings.Repeat("lorem ", 900<<10/6)}
		require.NoError(t, p.sdk.SignalWorkflow(t.Context(), a.ID(), "", signals.Inject, large))
		until(t, "the message is pending", func() bool { return len(pending(t, a)) == n+1 })
	}
	require.Equal(t, raw, pending(t, a))
	outcome := said(t, a, first).Outcome
	require.Equal(t, session.TurnAborted, outcome.Kind)
	require.Contains(t, outcome.Aborted.Reason, "nearly full")
	run, _ := p.runOf(a.ID())
	require.NotEqual(t, from, run)
	require.Equal(t, "ok", ask(t, a, "go on").Text)
	idle(t, a)
	require.Equal(t, raw, only(taken(p.records(a.ID())), "raw"))
}
