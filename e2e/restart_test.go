package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/worker"
)

// Agents that work do not notice that their workers are replaced, one after the other: no answer is paid for twice, no call
// is made twice or given up, and who looks on sees everything once.
func TestARollingRestart(t *testing.T) { // A3.15
	if !*everyStrike {
		t.Skip("64 agents keep a machine busy for a minute: make test gives them one to themselves")
	}
	p := restless(t, "limit.historyCount.suggestContinueAsNew=60", drainsPolls)
	model := &diligent{}
	v := newVendor(t, model)
	p.env = append(p.env, "EVERTURN_BASE_URL="+v.URL+"/v1", "EVERTURN_E2E_PROFILE="+string(worker.Stock))
	require.NoError(t, os.Mkdir(p.path("world"), 0o700))
	var err error
	p.agents, err = agents.New(agents.Config{Store: p.store(), Backend: p.agents.Backend, Poll: 2 * time.Second}) // many look on
	require.NoError(t, err)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()

	workers := []*process{p.hired(), p.hired()}
	const agentCount, live = 64, 4
	var staff []*agents.Agent
	for i := range agentCount {
		a, err := p.agents.Start(ctx, agents.CreateOptions{ID: p.id(fmt.Sprint(i)), Definition: hired})
		require.NoError(t, err)
		staff = append(staff, a)
	}
	shown := p.start(nil, "tail", staff[0].ID())
	var messages []string
	var readers []*reader
	for i, a := range staff {
		readers = append(readers, look(ctx, a, i < live))
		messages = append(messages, send(t, a, "Work, "+a.ID()+"!"))
	}
	until(t, "all agents work", func() bool { calls, _ := v.heard(); return len(calls) >= agentCount })
	var stopped []string
	for range 2 {
		for i, x := range workers {
			p.contributed(x)
			require.Zero(t, x.stop())
			stopped = append(stopped, fmt.Sprint(x.cmd.Process.Pid))
			workers[i] = p.hired()
		}
	}
	model.enough.Store(true)
	for i, a := range staff {
		require.NoError(t, said(t, a, messages[i]).Err())
	}

	var results []string
	steps, left := 0, 0
	for i, a := range staff {
		idle(t, a)
		records := readers[i].until(t, p.published(a.ID()))
		checkLog(t, records)
		require.Empty(t, all[session.AssistantAttempt](records))
		for _, r := range all[session.ToolResult](records) {
			require.Nil(t, r.Error, resultText(r))
			results = append(results, resultText(r))
		}
		steps += len(all[session.StepStart](records))
		for _, h := range p.runs(a.ID()) {
			require.NoError(t, servertest.Replay(h))
			left += leftToTimeouts(h)
		}
	}
	t.Logf("%d steps and %d calls in the hands of %d workers; %d tasks waited for a timeout", steps, len(results), len(stopped)+len(workers), left)
	leave()
	for _, x := range readers {
		x.check(t)
	}
	calls, _ := v.heard()
	require.Len(t, calls, steps, "the model was called once for every step")
	world, err := filepath.Glob(p.path("world/*"))
	require.NoError(t, err)
	require.Len(t, world, len(results), "the tool acted once for every call")
	for _, pid := range stopped {
		require.Contains(t, strings.Join(results, " "), " by "+pid+" at ", "what each worker did counts")
	}
	conversation := strings.Fields(conversation(p.records(staff[0].ID())))
	until(t, "the tail shows the end", func() bool { return len(strings.Fields(shown.out.String())) >= len(conversation) })
	require.ElementsMatch(t, conversation, strings.Fields(shown.out.String()), "in any order: two lines may begin at once")
}

// drainsPolls lets a server end the polls of a worker that stops, which is off by default. Otherwise the
// worker breaks them off, and what it was just given is lost until a timeout.
const drainsPolls = "frontend.enableCancelWorkerPollsOnShutdown=true"

// hired starts a helper worker, and returns when the server has seen it.
func (p *place) hired() *process {
	p.t.Helper()
	since := time.Now()
	x := p.helperWorker("")
	p.polls(x, since)
	return x
}

// contributed waits until a tool has acted in a worker.
func (p *place) contributed(x *process) {
	p.t.Helper()
	by := fmt.Sprintf(" by %d at ", x.cmd.Process.Pid)
	until(p.t, "the worker works", func() bool {
		files, err := filepath.Glob(p.path("world/*"))
		require.NoError(p.t, err)
		return slices.ContainsFunc(files, func(file string) bool {
			e, err := readEffect(file) // one that is being made cannot be read
			return err == nil && strings.Contains(e.Value, by)
		})
	})
}

// leftToTimeouts counts what workers were given and did not answer: it waited for a timeout, then another worker did it. It is
// not forbidden: on a machine that is far too busy the server loses some to workers that live.
func leftToTimeouts(h *historypb.History) (n int) {
	for _, e := range h.GetEvents() {
		if e.GetActivityTaskStartedEventAttributes().GetAttempt() > 1 ||
			e.GetWorkflowTaskTimedOutEventAttributes().GetTimeoutType() == enumspb.TIMEOUT_TYPE_START_TO_CLOSE {
			n++
		}
	}
	return n
}

// A diligent model takes two seconds to say something, and then calls a tool that acts once, again and again until it is
// enough.
type diligent struct {
	enough atomic.Bool
}

// ServeHTTP answers one call of the model.
func (d *diligent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Messages []json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	says := answer(llmtest.EndStop, text(strings.SplitAfter("That is all that there was to do.", " ")...))
	if !d.enough.Load() {
		n := fmt.Sprint(len(in.Messages))
		says = answer(llmtest.EndCalls, text(strings.SplitAfter("There is still something to do.", " ")...),
			llmtest.Piece{Kind: llmtest.Called, ID: n, Name: "once", Parts: []string{fmt.Sprintf(`{"n":%q}`, n)}})
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, frame := range says.Frames {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
		_, _ = io.WriteString(w, frame)
		w.(http.Flusher).Flush()
	}
}

// A reader looks on while an agent works.
type reader struct {
	done sync.WaitGroup

	mu      sync.Mutex
	records []session.Record // of the log
	live    bool
	deltas  []agents.Delta // of the live feed
	err     error
}

// look follows an agent's log, and its live feed if that is wanted, until ctx ends.
func look(ctx context.Context, a *agents.Agent, live bool) *reader {
	x := &reader{live: live}
	note := func(err error, see func()) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if see(); ctx.Err() == nil && err != nil {
			x.err = err
		}
	}
	x.done.Go(func() {
		for r, err := range a.Follow(ctx, 0) {
			note(err, func() { x.records = append(x.records, r) })
		}
	})
	if live {
		x.done.Go(func() {
			for d, err := range a.Tail(ctx) {
				note(err, func() { x.deltas = append(x.deltas, d) })
			}
		})
	}
	return x
}

// until waits until the reader has seen the whole log, and returns that.
func (x *reader) until(t *testing.T, log string) (records []session.Record) {
	t.Helper()
	until(t, "the reader has seen the log", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		require.NoError(t, x.err)
		records = x.records
		return len(trace(records)) >= len(log)
	})
	require.Equal(t, log, trace(records))
	return records
}

// check compares the live feed with the log, when both have ended: of every answer it had the beginning, and nothing twice.
// The rest of an answer is in the log at once.
func (x *reader) check(t *testing.T) {
	t.Helper()
	x.done.Wait()
	require.NoError(t, x.err)
	seen := map[[2]int][]string{}
	for _, d := range x.deltas {
		require.False(t, d.Reset || d.Attempt > 1 || d.Execution > 1, "it starts again: %+v", d)
		if c, ok := d.Chunk.(session.TextDelta); ok {
			at := [2]int{d.Turn, d.Step}
			seen[at] = append(seen[at], c.Text)
		}
	}
	require.Equal(t, x.live, len(seen) > 0)
	for _, r := range x.records {
		if e, ok := r.Event.(session.AssistantMessage); ok {
			shown := strings.Join(seen[[2]int{e.Turn, e.Step}], "")
			require.True(t, strings.HasPrefix(e.Message.Text(), shown), "%q of %q", shown, e.Message.Text())
		}
	}
}

// conversation is what `starter tail` shows of a log.
func conversation(records []session.Record) string {
	var b strings.Builder
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.AssistantMessage:
			fmt.Fprintln(&b, e.Message.Text())
		case session.ToolCall:
			fmt.Fprintf(&b, "  → %s %s\n", e.Name, e.Arguments)
		case session.ToolResult:
			fmt.Fprintf(&b, "  ← %s\n", resultText(e))
		}
	}
	return b.String()
}
