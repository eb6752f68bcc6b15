package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

// earlier are commits whose workers followed the rules of before: the first ones, and those before the ones in force. They
// had a worker of these tests.
var earlier = map[string]func() (string, error){
	"rules 1": built("7ef52bc"),
	"rules 3": built("8d97b7b"),
}

// built makes a program of these tests as they were at a commit, once: they are a worker too. It is empty if this clone does
// not reach back so far.
func built(commit string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		if exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run() != nil {
			return "", nil
		}
		tree := filepath.Join(common, commit)
		if out, err := exec.Command("git", "clone", "--quiet", "--shared", "--no-checkout", "..", tree).CombinedOutput(); err != nil {
			return "", failed("clone", out, err)
		}
		if out, err := exec.Command("git", "-C", tree, "checkout", "--quiet", "--detach", commit).CombinedOutput(); err != nil {
			return "", failed("check out", out, err)
		}
		program := filepath.Join(common, commit+".test")
		cmd := exec.Command("go", "test", "-c", "-o", program, "./e2e")
		cmd.Dir = tree
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", failed("build", out, err)
		}
		return program, nil
	})
}

// An agent that is in the middle of something when its workers are replaced by those of today ends it as it would have.
func TestAnUpgradeInTheMiddle(t *testing.T) { // A3.12
	long(t)
	const answer = `text "I see."` + "\n"
	tests := map[string]struct {
		script string
		before func(t *testing.T, p *place, a *agents.Agent) (id string) // until it is in the middle
		trace  string
	}{
		"of an answer": {
			`text "one two three " chunks=3 delay 1h text "four"` + "\n",
			func(t *testing.T, _ *place, a *agents.Agent) string {
				id := send(t, a, "act")
				streams(t, a, 3)
				return id
			},
			"AM SE TE(completed)",
		},
		"of a call that happens once": {
			"tool c1 once {}\n" + answer, inTool,
			"TC(c1) TR!(c1,TOOL_OUTCOME_UNKNOWN) SE SS1.2 CH×4 AM SE TE(completed)",
		},
		"of a call with a key": {
			"tool c1 keyed {}\n" + answer, inTool,
			"TC(c1) TR(c1) SE SS1.2 CH×4 AM SE TE(completed)",
		},
		"of nothing, with context that waits": {
			answer + answer,
			func(t *testing.T, _ *place, a *agents.Agent) string {
				ask(t, a, "act")
				idle(t, a)
				_, err := a.Inject(t.Context(), agents.Text("by the way"))
				require.NoError(t, err)
				return ""
			},
			"TS2 IS-(next-step:1) IS-(next-turn:1) SS2.1 UM(by the way) UM(on) CH×4 AM SE TE(completed)",
		},
	}
	for rules, build := range earlier {
		for name, test := range tests {
			t.Run(rules+", "+name, func(t *testing.T) {
				p := here(t)
				program, err := build()
				require.NoError(t, err)
				if program == "" {
					t.Skip("this clone does not reach back so far")
				}
				first := p.helperWorkerOf(program, test.script)
				a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper})
				require.NoError(t, err)
				id := test.before(t, p, a)
				first.kill()
				p.write("go", "")
				p.helperWorker(strings.ReplaceAll(test.script, "delay 1h ", ""))
				if id == "" {
					id = send(t, a, "on")
				}
				require.Equal(t, session.TurnCompleted, said(t, a, id).Outcome.Kind)
				idle(t, a)
				records := p.records(a.ID())
				require.True(t, strings.HasSuffix(trace(records), test.trace), trace(records))
				require.False(t, p.exists("started-c1-2") && strings.Contains(test.script, "once"), "it acts once")
				p.ok("show", a.ID())
			})
		}
	}
}

// A step that a worker of today began for an agent of earlier rules is taken up by a worker of those: it left what they read.
func TestAnUpgradeThatIsTakenBack(t *testing.T) { // A3.6, A3.12
	long(t)
	p := here(t)
	program, err := earlier["rules 3"]()
	require.NoError(t, err)
	if program == "" {
		t.Skip("this clone does not reach back so far")
	}
	const script = `text "one two three " chunks=3 delay 1h text "four"` + "\n"
	older := p.helperWorkerOf(program, script)
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper})
	require.NoError(t, err)
	idle(t, a)
	older.kill()
	today := p.helperWorker(script)
	id := send(t, a, "act")
	streams(t, a, 3)
	today.kill()
	p.helperWorkerOf(program, strings.ReplaceAll(script, "delay 1h ", ""))
	require.Equal(t, session.TurnCompleted, said(t, a, id).Outcome.Kind)
	idle(t, a)
	require.Regexp(t, ` CH×\d+ AA CH×\d+ AM SE TE\(completed\)$`, trace(p.records(a.ID())))
}

func inTool(t *testing.T, p *place, a *agents.Agent) string {
	id := send(t, a, "act")
	until(t, "the tool runs", func() bool { return p.exists("started-c1-1") })
	return id
}
