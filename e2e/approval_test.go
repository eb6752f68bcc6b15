package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
)

// A person is asked; the agent moves to a new run, its worker is killed, another one comes; what was decided is in the audit.
func TestAnApprovalOutlivesRunsAndWorkers(t *testing.T) { // A3.7, A3.11
	p := here(t)
	script := "tool c1 once {}\ntool c2 once {}\ntool c3 once {}\ntext \"I see.\"\n"
	worker := p.helperWorker(script)
	p.write("go", "")
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: asker})
	require.NoError(t, err)
	id := send(t, a, "act")
	asks := func(call string) (d signals.Deferred) {
		until(t, call+" waits for a person", func() bool {
			s, err := a.State(t.Context())
			if err == nil && len(s.Deferred) == 1 && s.Deferred[0].CallID == call {
				d = s.Deferred[0]
			}
			return d.ID != ""
		})
		return d
	}
	first := asks("c1")
	run, _ := p.runOf(a.ID())
	require.NoError(t, a.Roll(t.Context()))
	p.renewed(a.ID(), run)
	require.Contains(t, p.ok("audit", a.ID()), "waits")
	worker.kill()
	require.Equal(t, 4, p.run("approve", a.ID(), first.ID).code, "nobody could take it")
	worker = p.helperWorker(script)

	require.Equal(t, first, asks("c1"), "the same request, with the same deadline")
	require.Contains(t, p.ok("show", a.ID()), first.Digest)
	require.Contains(t, p.fails(6, "approve", a.ID(), first.ID, "--digest", strings.Repeat("0", 64)), "STALE")
	require.Contains(t, p.fails(6, "approve", a.ID(), first.ID, "--arguments", `{"no":1}`), `field "no"`)
	p.fails(2, "approve", a.ID(), first.ID, "--arguments", `{`)
	p.fails(2, "approve", a.ID(), first.ID, "--any")
	p.ok("approve", a.ID(), first.ID, "--digest", first.Digest, "--remember", "--for", "24h", "--by", "ann", "--reason", "fine")
	until(t, "the same call runs without asking, and so does the third", func() bool {
		all, err := a.Approvals(t.Context())
		return err == nil && len(all) == 3 && all[2].Outcome != ""
	})
	require.Equal(t, "I see.", said(t, a, id).Text)
	idle(t, a)
	require.Contains(t, p.ok("policy", a.ID()), "policy: ask\nrule-1: once with the very same arguments")
	require.Contains(t, p.ok("policy", a.ID(), "never", "--revoke", "rule-1", "--allow", "keyed:x=1*,y=2", "--by", "ann"), "policy: never\nrule-2: keyed x=1* y=2, by ann")
	require.Contains(t, p.fails(6, "policy", a.ID(), "--revoke", "rule-1"), "there is no rule")

	id = send(t, a, "again")
	require.NotEmpty(t, said(t, a, id).Outcome)
	idle(t, a)
	worker.kill()
	var lines []agents.Approval
	for line := range strings.Lines(p.ok("audit", a.ID(), "--json")) {
		var one agents.Approval
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		lines = append(lines, one)
	}
	require.GreaterOrEqual(t, len(lines), 3)
	require.Equal(t, []string{"granted", "ann", "fine", "rule-1", "", "ok", "{}"},
		[]string{lines[0].Outcome, lines[0].By, lines[0].Reason, lines[0].Rule, lines[0].Via, lines[0].Result, lines[0].Arguments})
	require.Equal(t, []string{"granted", "rule", "rule-1", first.Digest}, []string{lines[1].Outcome, lines[1].Via, lines[1].Rule, lines[1].Digest})
	require.False(t, lines[0].Due.IsZero(), "a week")
}
