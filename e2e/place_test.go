package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

// A place is what one test works in: a server, a home folder with the store, and a task queue.
type place struct {
	t      *testing.T
	server *server
	home   string
	queue  string
	env    []string
	sdk    client.Client
	agents *agents.Client
}

var places atomic.Int64

// at makes a place on a server.
func at(t *testing.T, s *server, home string) *place {
	t.Helper()
	p := &place{t: t, server: s, home: home, queue: fmt.Sprintf("e2e-%d", places.Add(1))}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "EVERTURN_HOME=" + home, "EVERTURN_DEVSERVER=" + devserver}
	p.write("dev.json", string(s.line)) // as if `starter dev` ran here
	require.NoError(t, os.MkdirAll(p.path("workspace"), 0o700))
	p.sdk = s.dial(t)
	var err error
	p.agents, err = agents.New(agents.Config{Store: p.store(), Backend: agents.Temporal(p.sdk, agents.TemporalOptions{TaskQueue: p.queue})})
	require.NoError(t, err)
	return p
}

// here makes a place on the shared server, for a test that runs beside others.
func here(t *testing.T) *place {
	t.Helper()
	long(t)
	t.Parallel()
	return at(t, shared, t.TempDir())
}

// in is the same place for a subtest.
func (p *place) in(t *testing.T) *place {
	other := *p
	other.t = t
	return &other
}

func (p *place) path(name string) string { return filepath.Join(p.home, name) }

func (p *place) write(name, content string) string {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(p.path(name), []byte(content), 0o600))
	return p.path(name)
}

func (p *place) store() *store.Store {
	p.t.Helper()
	s, err := store.Open(context.Background(), p.path("store"), store.Options{})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = s.Close() })
	return s
}

// worker starts a worker process and returns when the server has seen it.
func (p *place) worker(env ...string) *process {
	p.t.Helper()
	return p.workerWith(env, "--drain", "5s")
}

// workerWith is worker with flags.
func (p *place) workerWith(env []string, flags ...string) *process {
	p.t.Helper()
	since := time.Now()
	x := p.start(env, append([]string{"worker"}, flags...)...)
	p.polls(x, since)
	return x
}

// polls waits until the server has seen a worker that was started since then.
func (p *place) polls(x *process, since time.Time) {
	p.t.Helper()
	x.says("worker polls")
	until(p.t, "the worker polls", func() bool {
		d, err := p.sdk.DescribeTaskQueue(p.t.Context(), p.queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
		require.NoError(p.t, err)
		for _, poller := range d.GetPollers() {
			if strings.HasPrefix(poller.GetIdentity(), fmt.Sprintf("%d@", x.cmd.Process.Pid)) && poller.GetLastAccessTime().AsTime().After(since) {
				return true
			}
		}
		return false
	})
}

// scripted starts a worker whose model "script" plays a script.
func (p *place) scripted(script string) *process {
	p.t.Helper()
	return p.worker("EVERTURN_SCRIPT=" + p.write("script.txt", script))
}

// id makes an id that no other test uses.
func (p *place) id(name string) string { return p.queue + "-" + name }

// create makes an agent with the command line and returns its handle.
func (p *place) create(name string, args ...string) *agents.Agent {
	p.t.Helper()
	p.ok(append([]string{"create", p.id(name)}, args...)...)
	return p.agent(p.id(name))
}

// ofScript is create for an agent of the model "script".
func (p *place) ofScript(name string) *agents.Agent {
	p.t.Helper()
	return p.create(name, "--provider", "scripted", "--model", "script")
}

func (p *place) agent(id string) *agents.Agent {
	p.t.Helper()
	a, err := p.agents.Get(p.t.Context(), id)
	require.NoError(p.t, err)
	return a
}

// records is the log of an agent, as the command line exports it. It must be valid, and the agent's history must replay.
func (p *place) records(id string) []session.Record {
	p.t.Helper()
	records, err := session.ParseLog([]byte(p.ok("log", id, "--json")))
	require.NoError(p.t, err)
	checkLog(p.t, records)
	p.replay(id)
	return records
}

// checkLog checks that a log keeps every rule and that nothing in it is doubled.
func checkLog(t *testing.T, records []session.Record) {
	t.Helper()
	_, err := session.Fold(0, records)
	require.NoError(t, err)
	seen := map[string]bool{}
	for i, r := range records {
		require.Equal(t, int64(i), r.Seq)
		if r.Surface != nil && r.Surface.Replace {
			continue // another form of a message that is there already
		}
		var m session.Message
		switch e := r.Event.(type) {
		case session.UserMessage:
			m = e.Message
		case session.AssistantMessage:
			m = e.Message
		case session.ToolResult:
			m = e.Message
		default:
			continue
		}
		require.False(t, seen[m.ID], "message %s is in the log twice", m.ID)
		seen[m.ID] = true
	}
}

// trace is the log in the notation of the spec; messages are named by their text.
func trace(records []session.Record) string {
	names := map[string]string{}
	for _, r := range records {
		if e, ok := r.Event.(session.InboxSpliced); ok {
			for _, m := range e.Inserted {
				names[m.ID] = m.Text()
			}
		}
	}
	return session.Trace(records, func(id string) string { return names[id] })
}

// all returns the events of one kind.
func all[E session.Event](records []session.Record) []E {
	var out []E
	for _, r := range records {
		if e, ok := r.Event.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// has reports whether an agent's log has an event of a kind, now.
func has[E session.Event](t *testing.T, a *agents.Agent) bool {
	t.Helper()
	for r, err := range a.Log(t.Context(), 0) {
		if err != nil {
			return false // the store or the server is not there just now
		}
		if _, ok := r.Event.(E); ok {
			return true
		}
	}
	return false
}

// idle waits until an agent is idle.
func idle(t *testing.T, a *agents.Agent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	until(t, a.ID()+" is idle", func() bool {
		err := a.WhenIdle(ctx)
		require.NoError(t, ctx.Err(), "%s is not idle", a.ID())
		return err == nil
	})
}

// said waits for an answer to a message and returns it.
func said(t *testing.T, a *agents.Agent, id string) agents.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer, err := a.Await(ctx, id)
	require.NoError(t, err)
	return answer
}

// send sends a followup and returns its id.
func send(t *testing.T, a *agents.Agent, text string) string {
	t.Helper()
	id, err := a.Followup(t.Context(), agents.Text(text))
	require.NoError(t, err)
	return id
}

// ask sends a followup and waits for the answer.
func ask(t *testing.T, a *agents.Agent, text string) agents.Answer {
	t.Helper()
	return said(t, a, send(t, a, text))
}

// streams waits until at least n pieces of text of the running answer are in the store, and returns them.
func streams(t *testing.T, a *agents.Agent, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var seen []string
	for d, err := range a.Tail(ctx) {
		require.NoError(t, err)
		if text, ok := d.Chunk.(session.TextDelta); ok {
			seen = append(seen, text.Text)
		}
		if len(seen) >= n {
			break
		}
	}
	require.GreaterOrEqual(t, len(seen), n, "the answer does not stream")
	return seen
}

// history is the Temporal history of the latest run of an agent, or of a given run.
func (p *place) history(id string, run ...string) *historypb.History {
	p.t.Helper()
	h, err := servertest.History(p.t.Context(), p.sdk, id, append(run, "")[0])
	require.NoError(p.t, err)
	return h
}
