package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

func TestALogIsVerified(t *testing.T) { // §2.4.3, §10.14: the first violation, its seq and its rule
	p := here(t)
	p.worker()
	a := p.create("a")
	ask(t, a, "please echo one")
	idle(t, a)
	valid := strings.Split(strings.TrimSpace(p.ok("log", a.ID(), "--json")), "\n")
	require.Equal(t, fmt.Sprintf("valid: %d events\n", len(valid)), p.ok("log", "verify", p.write("valid.jsonl", strings.Join(valid, "\n"))))
	for _, c := range []struct {
		name  string
		lines []string
		seq   int64
		rule  string
	}{
		{"a line is missing", slices.Concat(valid[:3], valid[4:]), 3, session.RuleSeq},
		{"a turn is opened twice", slices.Concat(valid[:2], []string{strings.Replace(valid[1], `"seq":1`, `"seq":2`, 1)}), 2, "§2.4.3.1"},
		{"more is claimed than there is", slices.Concat(valid[:2], []string{strings.Replace(valid[2], `"removedCount":1`, `"removedCount":2`, 1)}), 2, session.RuleInboxRange},
		{"a type that nobody knows", slices.Concat(valid[:1], []string{strings.Replace(valid[1], "turn/start", "turn/begin", 1)}), 1, session.RuleType},
		{"a line that is cut", slices.Concat(valid[:4], []string{valid[4][:20]}), 4, session.RuleForm},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := p.in(t)
			file := p.write("bad.jsonl", strings.Join(c.lines, "\n"))
			line := p.fails(1, "log", "verify", file)
			require.Contains(t, line, fmt.Sprintf("event %d: ", c.seq))
			require.Contains(t, line, "(rule "+c.rule+")")
			var verdict struct {
				Valid bool
				Seq   *int64
				Rule  string
			}
			require.NoError(t, json.Unmarshal([]byte(p.run("log", "verify", file, "--json").out), &verdict))
			require.False(t, verdict.Valid)
			require.Equal(t, c.seq, *verdict.Seq)
			require.Equal(t, c.rule, verdict.Rule)
		})
	}
}

func TestTheLogOfAForkIsVerifiedWithoutWhatItInherited(t *testing.T) { // §2.4.1
	p := here(t)
	p.worker()
	a := p.create("a")
	_, err := a.Inject(t.Context(), agents.Message{ID: "x", Text: "for later"})
	require.NoError(t, err)
	idle(t, a)
	child, err := p.agents.Fork(t.Context(), a.ID(), agents.ForkOptions{ID: p.id("fork")})
	require.NoError(t, err)
	_, err = child.Inject(t.Context(), agents.Message{ID: "x", Text: "its own"})
	require.NoError(t, err)
	idle(t, child)
	file := p.write("fork.jsonl", p.ok("log", child.ID(), "--json"))
	require.Contains(t, p.fails(1, "log", "verify", file), session.RuleInboxDuplicate)
	require.Equal(t, "valid: 3 events\n", p.ok("log", "verify", file, "--seed", "1"))
}
