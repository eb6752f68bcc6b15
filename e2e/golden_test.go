package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/golden"
	"github.com/everturn/everturn/session"
)

func TestTheDemoPrintsTheGoldenLog(t *testing.T) { // C-001
	p := here(t)
	require.NoError(t, os.Remove(p.path("dev.json"))) // a server of its own
	r := p.run("demo", "--json")
	require.Zero(t, r.code, r.err)
	require.Equal(t, 35, strings.Count(r.out, "\n"))
	require.Empty(t, r.err)
	records, err := session.ParseLog([]byte(r.out))
	require.NoError(t, err)
	require.NoError(t, golden.Check(records))
}

func TestTheDemoRunsOnTheLocalEngine(t *testing.T) {
	p := here(t)
	r := p.run("demo", "--local", "--json")
	require.Zero(t, r.code, r.err)
	records, err := session.ParseLog([]byte(r.out))
	require.NoError(t, err)
	require.NoError(t, golden.Check(records))
}

func TestTheGoldenLogHoldsBetweenProcesses(t *testing.T) { // C-001: server, worker and callers are processes of their own
	p := here(t)
	p.worker()
	loop := p.create("loop", "--definition", golden.Definition).ID()
	for _, prompt := range golden.Prompts {
		p.ok("followup", loop, prompt)
		p.ok("wait", loop, "--timeout", "60s")
	}
	records := p.records(loop)
	require.NoError(t, golden.Check(records))
	require.Len(t, records, 35)
}

func TestADeviationFromTheGoldenLogIsShown(t *testing.T) {
	p := here(t)
	records, err := session.ParseLog([]byte(p.ok("demo", "--local", "--json")))
	require.NoError(t, err)
	require.NoError(t, golden.Check(records))
	for what, mutate := range map[string]func(r []session.Record) []session.Record{
		"an event is missing":     func(r []session.Record) []session.Record { return append(r[:9], r[10:]...) },
		"an event is there twice": func(r []session.Record) []session.Record { return append(r, r[34]) },
		"the log is cut":          func(r []session.Record) []session.Record { return r[:30] },
		"two events are swapped":  func(r []session.Record) []session.Record { r[5], r[6] = r[6], r[5]; return r },
		"it does not begin at 0":  func(r []session.Record) []session.Record { r[0].Seq = 1; return r },
		"an event cites nothing":  func(r []session.Record) []session.Record { r[13].Sources = nil; r[13].Surface = nil; return r },
	} {
		require.Error(t, golden.Check(mutate(append([]session.Record(nil), records...))), what)
	}
	err = golden.Check(records[:34])
	require.ErrorContains(t, err, "want "+golden.Trace)
	require.ErrorContains(t, err, "have IS+(next-turn:a) TS1")
}
