package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

// dev starts `starter dev --no-chat` in a home that knows no server.
func (p *place) dev() *process {
	p.t.Helper()
	x := p.start(nil, "dev", "--no-chat", "--port", "0", "--ui-port", "0")
	x.says("Temporal: http://")
	return x
}

func TestOneCommandRunsEverything(t *testing.T) {
	p := here(t)
	require.NoError(t, os.Remove(p.path("dev.json")))
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		x := p.dev()
		require.Equal(t, "The echo tool says: hello\n", p.ok("ask", "please echo hello"), "another program finds it")
		require.NoError(t, x.cmd.Process.Signal(sig))
		require.Zero(t, x.wait())
		require.NoFileExists(t, p.path("dev.json"), "the server ended with it")
	}
}

func TestTheOneCommandIsKilled(t *testing.T) { // server and worker die with it, in the middle of an answer
	p := here(t)
	require.NoError(t, os.Remove(p.path("dev.json")))
	x := p.dev()
	p.ok("create", "counter")
	p.ok("followup", "counter", "count to 10")
	shown := p.start(nil, "tail", "counter")
	shown.says("1 2 3 ")
	x.kill()
	shown.kill()

	p.dev() // at once: it waits for the server to end
	p.ok("wait", "counter")
	records, err := session.ParseLog([]byte(p.ok("log", "counter", "--json")))
	require.NoError(t, err)
	checkLog(t, records)
	requireNothingDoubled(t, records, "count to 10")
	require.True(t, strings.HasSuffix(withoutCounts(trace(records)), " CH AA CH AM SE TE(completed)"), trace(records))
}
