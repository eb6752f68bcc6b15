package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

// A terminal is a starter at a pseudo terminal.
type terminal struct {
	*process
	keys io.Writer
}

// terminal starts a command line at a pseudo terminal.
func (p *place) terminal(args ...string) *terminal {
	p.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = master.Close() })
	require.NoError(p.t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(p.t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(p.t, err)
	defer func() { _ = slave.Close() }()

	x := &process{t: p.t, out: &transcript{}, err: &transcript{}, ended: make(chan struct{})}
	x.cmd = exec.Command(starter, append([]string{"--task-queue", p.queue}, args...)...)
	x.cmd.Env, x.cmd.Dir = p.env, p.home
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(p.t, x.cmd.Start())
	go func() { _, _ = io.Copy(x.out, master) }()
	go func() { defer close(x.ended); _ = x.cmd.Wait() }()
	p.t.Cleanup(func() {
		x.kill()
		if p.t.Failed() {
			p.t.Logf("terminal:\n%s", x.out)
		}
	})
	return &terminal{x, master}
}

func (t *terminal) types(keys string) {
	t.t.Helper()
	_, err := io.WriteString(t.keys, keys)
	require.NoError(t.t, err)
}

const ctrlC = "\x03"

func TestAChatAtATerminal(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	x := p.terminal("chat", a.ID())
	x.says("type a message")

	x.types("count to 12\n")
	x.says("1 2 3 ")
	require.NotContains(t, x.out.String(), "Done.", "the answer streams")
	x.types("please echo steered\n") // while it works
	x.says("→ echo")
	x.says("The echo tool says: steered")
	idle(t, a)
	require.Len(t, all[session.TurnEnd](p.records(a.ID())), 1, "the line steered the turn")
	require.Equal(t, 1, strings.Count(x.out.String(), "12 Done."))

	x.types("/inject some context\n/followup count to 500\n")
	x.says("→ echo")
	until(t, "the second count is on its way", func() bool { return strings.Count(x.out.String(), "1 2 3 ") == 2 })
	x.types("/state\n")
	x.says("status:   running, turn 2")
	x.types("/nosuch\n")
	x.says("unknown command /nosuch")
	x.types(ctrlC)
	x.says("Ctrl-C again leaves")
	x.says("(turn 2: aborted by user)")
	x.types(ctrlC)
	require.Zero(t, x.wait())
	idle(t, a)
	records := p.records(a.ID())
	require.True(t, strings.HasSuffix(trace(records), "SE TE(aborted user)"), trace(records))
	require.Len(t, all[session.UserMessage](records), 4)
}

func TestAChatThatIsQuit(t *testing.T) {
	p := here(t)
	p.worker()
	for _, keys := range []string{"/quit\n", "\x04"} { // the command, and the end of input
		x := p.terminal("chat")
		x.says("type a message")
		x.types(keys)
		require.Zero(t, x.wait())
	}
}

func TestAChatAtATerminalAnswers(t *testing.T) { // A3.7
	p := here(t)
	p.helperWorker("tool c1 once {} tool c2 once {}\ntext \"I see.\"\n")
	p.write("go", "")
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: asker})
	require.NoError(t, err)
	x := p.terminal("chat", a.ID())
	x.says("type a message")
	x.types("act\n")
	x.says("may this run? once {}")
	x.says("because: sure?")
	x.types("perhaps\n")
	x.says("y, n, or n and why:")
	x.types("y\n")
	x.says("← done in try 1")
	until(t, "the second call is asked about", func() bool { return strings.Count(x.out.String(), "may this run?") == 2 })
	x.types("n not again\n")
	x.says("I see.")
	idle(t, a)
	records := p.records(a.ID())
	require.Contains(t, resultOf(records, 1), "the approver rejected this call: not again")
	require.Len(t, all[session.UserMessage](records), 1, "decisions are no messages")
	x.types("/quit\n")
	require.Zero(t, x.wait())
}
