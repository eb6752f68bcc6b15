package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// lead is how most rows begin: an agent that has worked before has two errands to do, and a worker comes into the trap.
func (s *scene) lead(r strike) (a *agents.Agent, x *process) {
	s.t.Helper()
	s.working(1)
	definition := r.definition
	if definition == "" {
		definition = acting
	}
	a = s.born("a", definition)
	s.act(a, "1")
	s.set(r.trap)
	s.say(a, signals.Followup, "act 2")
	s.say(a, signals.Followup, "act 3")
	return a, s.sprang(r.trap)
}

// trapped is a worker that dies in a trap, and another one that comes later.
func trapped(s *scene, r strike) {
	a, _ := s.lead(r)
	s.say(a, signals.Steer, "note 4")
	s.say(a, signals.Followup, "act 5")
	s.working(1)
	s.check()
}

// haunted is a worker that stands in a trap while another one takes over, and goes on when that one is done.
func haunted(s *scene, r strike) {
	a, zombie := s.lead(r)
	s.say(a, signals.Steer, "note 4")
	s.working(1)
	s.hearAll(a)
	zombie.signal(syscall.SIGCONT)
	for _, n := range []string{"5", "6", "7"} {
		s.act(a, n)
	}
	s.check()
}

func (s *scene) hearAll(a *agents.Agent) {
	s.t.Helper()
	for _, x := range s.spoken[a.ID()] {
		s.hear(a, x)
	}
}

// during makes something happen to the surroundings while a worker is in a trap. It goes on at once, into the outage, or is
// replaced if it is dead.
func during(outage func(*scene, func())) func(*scene, strike) {
	return func(s *scene, r strike) {
		a, x := s.lead(r)
		outage(s, func() {
			if r.trap.Do == halt {
				x.signal(syscall.SIGCONT)
			} else {
				s.victim()
			}
		})
		s.say(a, signals.Steer, "note 4")
		s.say(a, signals.Followup, "act 5") // wakes an agent whose turn had failed
		s.check()
	}
}

// killServer is kill -9 of the server, and another one at once.
func (s *scene) killServer(goOn func()) { s.serverDies(goOn) }

// stopServer lets the server stand still.
func (s *scene) stopServer(goOn func()) {
	s.signalServer(syscall.SIGSTOP)
	goOn()
	lasts(pause)
	s.signalServer(syscall.SIGCONT)
}

func (s *scene) cutNetwork(goOn func())     { s.disturb(cuts, goOn) }
func (s *scene) silenceNetwork(goOn func()) { s.disturb(swallows, goOn) }

func (s *scene) disturb(m mood, goOn func()) {
	s.proxy.be(m)
	goOn()
	lasts(pause)
	s.proxy.be(carries)
}

func weathers(w weather) func(*scene, func()) {
	return func(s *scene, goOn func()) {
		s.suffers(w)
		goOn()
		lasts(pause)
		s.suffers("")
	}
}

// lasts is the time that an outage takes.
func lasts(d time.Duration) { <-time.After(d) }

// forking is a worker that dies while an agent is forked.
func forking(s *scene, r strike) {
	s.working(1)
	a := s.born("a", acting)
	s.act(a, "1")
	idle(s.t, a)
	s.set(r.trap)
	forked := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		defer cancel()
		_, err := s.agents.Fork(ctx, a.ID(), agents.ForkOptions{ID: s.id("fork")})
		forked <- err
	}()
	s.sprang(r.trap)
	s.working(1)
	require.NoError(s.t, <-forked)
	s.act(s.agent(s.id("fork")), "2")
	s.act(a, "3")
	s.check()
}

// damaged is a disk that loses half of an object of the log. Whoever needs it says so, by name; when it is back the agent
// goes on.
func damaged(s *scene, r strike) {
	s.working(1)
	a := s.born("a", acting)
	s.act(a, "1")
	idle(s.t, a)
	_, head, err := s.store().LatestHead(s.t.Context(), a.ID())
	require.NoError(s.t, err)
	file, content := s.segment(head)
	require.NoError(s.t, os.WriteFile(file, content[:len(content)/2], 0o600))
	s.workers[0].kill() // it remembers
	s.working(1)
	require.Contains(s.t, s.fails(7, "log", a.ID(), "--json"), head.Hash, "who reads the log is told")
	x := s.say(a, signals.Followup, "act 2")
	until(s.t, "and so is who waits for an answer", func() bool {
		_, err := a.Await(s.t.Context(), x.id)
		return err != nil && strings.Contains(err.Error(), head.Hash)
	})
	require.NoError(s.t, os.WriteFile(file, content, 0o600))
	require.ErrorContains(s.t, s.hear(a, x).Err(), head.Hash, "its turn failed")
	s.act(a, "3")
	s.check()
}

// segment is the file of a head's last segment, and what is in it.
func (s *scene) segment(head store.Head) (file string, content []byte) {
	s.t.Helper()
	files, err := filepath.Glob(s.path("store/segments/*/" + head.Hash))
	require.NoError(s.t, err)
	require.Len(s.t, files, 1)
	content, err = os.ReadFile(files[0])
	require.NoError(s.t, err)
	return files[0], content
}

// resetWithZombie sets a run back to where its last turn began, while a worker of the abandoned run stands still.
func resetWithZombie(s *scene, r strike) {
	s.working(1)
	a := s.born("a", acting)
	s.hear(a, s.say(a, signals.Followup, "pay 1"))
	idle(s.t, a)
	point := s.taskBefore(a.ID(), nil)
	s.set(r.trap)
	x := s.say(a, signals.Followup, "pay 2")
	zombie := s.sprang(r.trap)
	s.working(1)
	s.reset(a.ID(), point)
	s.hear(a, x)
	zombie.signal(syscall.SIGCONT)
	s.hear(a, s.say(a, signals.Followup, "pay 3"))
	s.hear(a, s.say(a, signals.Followup, "pay 4"))
	s.check()
	require.EqualValues(s.t, 2, s.epoch(a))
}

// terminatedWithZombie resumes an agent whose workflow was terminated, while a worker of it stands still.
func terminatedWithZombie(s *scene, r strike) {
	a, zombie := s.lead(r)
	require.NoError(s.t, s.sdk.TerminateWorkflow(s.t.Context(), a.ID(), "", "by hand"))
	s.working(1)
	s.run("resume", a.ID())             // it may say that no worker answers yet: the server has given the work to the zombie
	s.say(a, signals.Followup, "act 4") // wakes it
	s.hearAll(a)
	zombie.signal(syscall.SIGCONT)
	s.act(a, "5")
	s.act(a, "6")
	s.check()
	require.EqualValues(s.t, 2, s.epoch(a))
}

// restored is a server whose database is replaced by an older copy of it, and what an operator has to do then. What was sent
// since the copy is gone from the agent. Its effects are not: the model is told, and the same call is not made again.
func restored(s *scene, r strike) {
	a := s.olderDatabase()
	s.reset(a.ID(), s.taskBefore(a.ID(), nil))
	until(s.t, "the run took over", func() bool { state, err := a.State(s.t.Context()); return err == nil && state.Log.Epoch == 2 })
	before := s.effect(a, "2")
	s.hear(a, s.say(a, signals.Followup, "pay 2"))
	s.hear(a, s.say(a, signals.Followup, "pay 3"))
	s.check()
	require.Equal(s.t, before, s.effect(a, "2"))
	told := all[session.UserMessage](s.records(a.ID()))[1]
	require.Equal(s.t, "reset-2", told.Message.ID)
	require.Contains(s.t, told.Text(), `- once {"n":"2"}, turn 2 step 1: it ended with: `+before.Value)
}

// restoredOnly is the same without the reset: the agent goes on from where the copy was made, and no answer is wrong.
func restoredOnly(s *scene, r strike) {
	a := s.olderDatabase()
	s.hear(a, s.say(a, signals.Followup, "pay 2"))
	s.hear(a, s.say(a, signals.Followup, "pay 3"))
	s.check()
}

// olderDatabase makes an agent that has paid once, and once more after the copy to which its server's database is restored
// while no worker runs. The store is newer then.
func (s *scene) olderDatabase() *agents.Agent {
	s.t.Helper()
	s.working(1)
	a := s.born("a", acting)
	s.hear(a, s.say(a, signals.Followup, "pay 1"))
	idle(s.t, a)
	s.serverDies(func() { s.copyDatabase("", "older") })
	s.hear(a, s.say(a, signals.Followup, "pay 2"))
	idle(s.t, a)
	s.workers[0].kill()
	s.serverDies(func() { s.copyDatabase("older", "") })
	s.spoken[a.ID()] = s.spoken[a.ID()][:1]
	s.working(1)
	return a
}

// effect is what the tool once did for an errand.
func (s *scene) effect(a *agents.Agent, n string) effect {
	s.t.Helper()
	e, err := readEffect(workbench{home: s.home}.fileOf("once", a.ID(), n))
	require.NoError(s.t, err)
	return e
}

// copyDatabase copies the database of a server that does not run to another folder of the scene.
func (s *scene) copyDatabase(from, to string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(s.path(to), 0o700))
	for _, name := range []string{"temporal.db", "temporal.db-wal"} {
		content, err := os.ReadFile(s.path(filepath.Join(from, name)))
		require.NoError(s.t, err)
		require.NoError(s.t, os.WriteFile(s.path(filepath.Join(to, name)), content, 0o600))
	}
	require.NoError(s.t, os.RemoveAll(s.path(filepath.Join(to, "temporal.db-shm"))))
}
