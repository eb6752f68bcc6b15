package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
)

// A scene is where faults happen: a server with a database, a network, victims, and what was said to their agents.
type scene struct {
	*place
	proxy   *proxy
	workers []*process
	start   func(port string) *server
	may     toll
	traps   int // set so far

	mu     sync.Mutex
	spoken map[string][]*saying // by agent, in order
}

// A saying is one message of the user. Its text is "act N", "pay N" or "note N".
type saying struct {
	text, id string
	as       string        // signals.Followup or signals.Steer
	answer   agents.Answer // to a followup, once it was awaited
	heard    bool          // it was awaited
}

// renewAt is the length of a history at which the server of a scene suggests a new run: short, so that agents move often.
const renewAt = 60

// newScene makes a scene on the server that scenes share, or on one of its own, which may be killed.
func newScene(t *testing.T, own bool, sync string, may toll) *scene {
	t.Helper()
	home := t.TempDir()
	s := &scene{may: may, spoken: map[string][]*saying{}}
	s.start = func(port string) *server {
		started, err := startRestless(home, sync, port)
		require.NoError(t, err)
		return started
	}
	serving := restlessServer()
	if own {
		serving = s.start("0")
		t.Cleanup(func() { serving.kill() })
	}
	require.NotNil(t, serving, "there is no server")
	s.place = at(t, serving, home)
	s.proxy = newProxy(t, serving.Address)
	for _, folder := range []string{trapsSet, trapsSprung, "world"} {
		require.NoError(t, os.Mkdir(s.path(folder), 0o700))
	}
	return s
}

// startRestless starts a server that wants every run to be short, on a database in a folder. On a machine that is too busy
// a server gives up its own start, so there are several tries.
func startRestless(home, sync, port string) (s *server, err error) {
	for range 4 {
		s, err = startServer(home, "--db", filepath.Join(home, "temporal.db"), "--sync", sync, "--port", port,
			"--dynamic-config", fmt.Sprintf("limit.historyCount.suggestContinueAsNew=%d", renewAt))
		if err == nil {
			break
		}
	}
	return s, err
}

// restlessServer is the server that scenes share; nil if it did not start. It ends with the test program.
var restlessServer = sync.OnceValue(func() *server {
	s, err := startRestless(filepath.Join(common, "restless"), *syncMode, "0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return s
})

// tell shows what became of the agents of a test that failed, before its context ends.
func (s *scene) tell() {
	if !s.t.Failed() {
		return
	}
	for id, spoken := range s.spoken {
		for _, x := range spoken {
			s.t.Logf("%s %s %s: heard %v in turn %d: %v", id, x.as, x.text, x.heard, x.answer.Turn, x.answer.Err())
		}
		for _, args := range [][]string{{"show", id}, {"log", id}} {
			r := s.run(args...)
			s.t.Logf("%v: %s%s", args, r.out, r.err)
		}
	}
}

// working adds victims and returns when they poll.
func (s *scene) working(n int) {
	s.t.Helper()
	for range n {
		s.victim().says("worker polls")
	}
}

// serverDies is kill -9 of the server, and another one on its database and port. Between the two, meanwhile is called.
func (s *scene) serverDies(meanwhile func()) {
	s.t.Helper()
	s.server.kill()
	if meanwhile != nil {
		meanwhile()
	}
	*s.server = *s.start(port(s.server.Address))
	s.write("dev.json", string(s.server.line))
}

// suffers gives the victims' store a weather; none is good weather.
func (s *scene) suffers(w weather) {
	s.t.Helper()
	if w == "" {
		require.NoError(s.t, os.RemoveAll(s.path("weather")))
		return
	}
	require.NoError(s.t, os.Rename(s.write("weather.tmp", string(w)), s.path("weather")))
}

// born makes an agent.
func (s *scene) born(name, definition string) *agents.Agent {
	s.t.Helper()
	s.insist("the start of "+name, func(ctx context.Context) error {
		_, err := s.agents.Start(ctx, agents.CreateOptions{ID: s.id(name), Definition: definition})
		if errors.Is(err, agents.ErrExists) {
			return nil // an earlier try did it
		}
		return err
	})
	a := s.agent(s.id(name))
	s.insist("the birth of "+name, a.WhenIdle)
	return a
}

// agent finds an agent, also while the server is away.
func (s *scene) agent(id string) (a *agents.Agent) {
	s.t.Helper()
	s.insist("find "+id, func(ctx context.Context) (err error) { a, err = s.agents.Get(ctx, id); return err })
	return a
}

// say sends a message, again and again with the same request id until it is accepted.
func (s *scene) say(a *agents.Agent, as, text string) *saying {
	s.t.Helper()
	m := agents.Text(text).Named()
	x := &saying{text: text, id: m.ID, as: as}
	send := a.Followup
	if as == signals.Steer {
		send = a.Steer
	}
	s.mu.Lock()
	s.spoken[a.ID()] = append(s.spoken[a.ID()], x)
	s.mu.Unlock()
	s.insist("send "+text, func(ctx context.Context) error { _, err := send(ctx, m); return err })
	return x
}

// hear waits for the answer to a message.
func (s *scene) hear(a *agents.Agent, x *saying) agents.Answer {
	s.t.Helper()
	s.insist("the answer to "+x.text, func(ctx context.Context) (err error) { x.answer, err = a.Await(ctx, x.id); return err })
	x.heard = true
	s.checkOutcome(x)
	return x.answer
}

// insist tries until it works: the server may be away.
func (s *scene) insist(what string, try func(context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for err := try(ctx); err != nil; err = try(ctx) {
		select {
		case <-ctx.Done():
			require.NoError(s.t, err, what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// act has an errand run and waits for the answer.
func (s *scene) act(a *agents.Agent, n string) agents.Answer {
	s.t.Helper()
	return s.hear(a, s.say(a, signals.Followup, "act "+n))
}

// signal sends a signal to a process.
func (x *process) signal(sig syscall.Signal) { _ = x.cmd.Process.Signal(sig) }
