package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

func TestLinesFromAPipeAreAnswered(t *testing.T) { // from nothing: server, worker and agent
	p := here(t)
	require.NoError(t, os.Remove(p.path("dev.json")))
	r := p.feed("please echo 你好\n", "dev", "--port", "0", "--ui-port", "0")
	require.Zero(t, r.code, r.err)
	require.Equal(t, "The echo tool says: 你好\n", r.out)
	require.Contains(t, r.err, "the scripted demo model answers", "it says which model answers")
	require.Contains(t, r.err, "/workflows/agent-", "and where the agent is in the Temporal UI")
	require.NoFileExists(t, p.path("dev.json"), "the server is gone")
	again := p.feed("please echo again\n", "dev", "--port", "0", "--ui-port", "0")
	require.Zero(t, again.code, again.err)
	require.Equal(t, "The echo tool says: again\n", again.out, "on the database that is there")
}

func TestSeveralLinesAreAnsweredInOrder(t *testing.T) {
	p := here(t)
	p.worker()
	var in, want strings.Builder
	for i := range 5 {
		fmt.Fprintf(&in, "please echo line %d\n\n", i)
		fmt.Fprintf(&want, "The echo tool says: line %d\n", i)
	}
	id := p.id("new")
	r := p.feed(in.String(), "chat", id)
	require.Zero(t, r.code, r.err)
	require.Equal(t, want.String(), r.out)
	require.Len(t, all[session.TurnEnd](p.records(id)), 5)
	r = p.feed("", "chat", id)
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.out)
}

func TestAskPrintsOneAnswer(t *testing.T) {
	p := here(t) // no worker runs: ask brings its own
	r := p.run("ask", "please echo hello")
	require.Zero(t, r.code, r.err)
	require.Equal(t, "The echo tool says: hello\n", r.out)
	r = p.run("ask", "please echo hello", "--json")
	var answer struct {
		Agent   string
		Turn    int
		Outcome session.TurnReason
		Text    string
	}
	require.NoError(t, json.Unmarshal([]byte(r.out), &answer), r.err)
	require.Equal(t, "The echo tool says: hello", answer.Text)
	require.Equal(t, session.TurnCompleted, answer.Outcome.Kind)
}

// verbs are all commands, as --help lists them.
func (p *place) verbs() []string {
	p.t.Helper()
	_, list, ok := strings.Cut(p.ok("--help"), "Available Commands:\n")
	require.True(p.t, ok)
	list, _, _ = strings.Cut(list, "\n\n")
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^  (\S+)`).FindAllStringSubmatch(list, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestEveryVerbHasHelpWithAnExample(t *testing.T) {
	p := here(t)
	verbs := p.verbs()
	for _, want := range strings.Fields("dev demo ask chat worker create list show followup steer inject inbox cancel wait dispose log tail request completion") {
		require.Contains(t, verbs, want)
	}
	for _, verb := range verbs {
		if verb == "help" || verb == "completion" {
			continue
		}
		help := p.ok(verb, "--help")
		require.Contains(t, help, "Examples:\n  starter ", verb)
		require.Contains(t, help, "--json", verb)
	}
	require.Contains(t, p.ok("completion", "bash"), "bash completion")
	require.Contains(t, p.ok("completion", "zsh"), "compdef")
}

func TestAWrongCommandLine(t *testing.T) {
	p := here(t)
	for _, args := range [][]string{{"nosuch"}, {"show"}, {"followup", "a"}, {"list", "--nosuch"}, {"wait", "a", "--timeout", "x"}, {"list", "--log-level", "loud"}} {
		r := p.run(args...)
		require.Equal(t, 2, r.code, "%v: %s", args, r.err)
		require.True(t, strings.HasPrefix(r.err, "starter: "), r.err)
	}
}

func TestEveryVerbPrintsJSON(t *testing.T) {
	p := here(t)
	p.worker()
	id := p.id("a")
	lines := func(args ...string) []string {
		t.Helper()
		out := strings.Split(strings.TrimRight(p.ok(append(args, "--json")...), "\n"), "\n")
		for _, line := range out {
			require.True(t, json.Valid([]byte(line)), "%v: %s", args, line)
		}
		return out
	}
	lines("create", id, "--title", "A title")
	lines("inject", id, "context", "--id", "i1")
	require.Len(t, lines("inbox", id), 1)
	lines("inbox", "replace", id, "i1", "other context")
	require.Contains(t, lines("inbox", "list", id)[0], "other context")
	require.Contains(t, lines("inbox", id)[0], `"revision":2`)
	require.Contains(t, lines("inbox", id, "i1")[0], `"state":"pending"`)
	lines("inbox", "promote", id, "i1", "--target", "next-turn", "--revision", "2")
	lines("inbox", "reorder", id, "i1")
	lines("inbox", "remove", id, "i1")
	lines("inbox", "clear", id)
	lines("followup", id, "please echo one")
	lines("steer", id, "please echo two")
	lines("wait", id)
	lines("cancel", id)
	require.Equal(t, `{"configured":true}`, lines("configure", id, "--title", "Another", "--meta", "team=blue")[0])
	require.Contains(t, lines("show", id)[0], `"status":"idle"`)
	require.Greater(t, len(lines("log", id)), 10)
	require.Len(t, lines("log", id, "--from", fmt.Sprint(len(lines("log", id))-1)), 1)
	lines("request", id, "1.1")
	until(t, "the agent is listed", func() bool { return strings.Contains(strings.Join(lines("list"), "\n"), `"id":"`+id+`"`) })
	lines("dispose", id)
	require.Equal(t, 1, p.run("request", id, "9.9").code)
	require.Equal(t, 2, p.run("request", id, "one").code)
}

func TestAnInboxIsEditedByHand(t *testing.T) { // docs/decisions/0014
	p := here(t)
	p.worker()
	a := p.create("a")
	for _, id := range []string{"m1", "m2"} {
		p.ok("inject", a.ID(), "text of "+id, "--id", id)
	}
	listed := p.run("inbox", a.ID())
	require.Equal(t, "next-step  m1  text of m1\nnext-step  m2  text of m2\n", listed.out)
	require.Equal(t, "revision 2\n", listed.err)
	p.ok("inbox", "reorder", a.ID(), "m2", "m1", "--revision", "2")
	line := p.fails(6, "inbox", "promote", a.ID(), "m1", "--revision", "2")
	require.Contains(t, line, "STALE_REVISION")
	require.Contains(t, line, "revision 3, not 2", "what it is now")
	require.Contains(t, p.fails(6, "inbox", "promote", a.ID(), "m1", "--target", "top"), "next-turn or next-step")
	require.Contains(t, p.fails(6, "inbox", "reorder", a.ID(), "m1"), "message m2 is missing")
	require.Equal(t, "pending in next-step\n", p.ok("inbox", a.ID(), "m1"))
	p.ok("inbox", "promote", a.ID(), "m1", "--target", "next-turn")
	p.ok("inbox", "replace", a.ID(), "m2", "other")
	require.Equal(t, "pending in next-step; edited\n", p.ok("inbox", a.ID(), "m2"))
	p.ok("inbox", "remove", a.ID(), "m2")
	require.Equal(t, "discarded: removed\n", p.ok("inbox", a.ID(), "m2"))
	require.Equal(t, "unknown\n", p.ok("inbox", a.ID(), "m3"))

	require.Contains(t, p.fails(6, "followup", a.ID(), "x", "--expected-turn", "1"), "PRECONDITION")
	require.Contains(t, p.fails(6, "followup", a.ID(), "x", "--overlap", "push"), "use queue, steer, interrupt or reject")
	p.ok("inbox", "clear", a.ID())
	running := send(t, a, "count to 500")
	until(t, "the turn runs", func() bool { return p.show(a).Turn > 0 && p.show(a).Step > 0 })
	require.Contains(t, p.fails(6, "followup", a.ID(), "x", "--overlap", "reject"), "BUSY")
	require.Contains(t, p.fails(6, "steer", a.ID(), "x", "--only-if-idle"), "PRECONDITION")
	p.ok("followup", a.ID(), "please echo now", "--overlap", "interrupt", "--id", "now")
	require.Equal(t, session.TurnAborted, said(t, a, running).Outcome.Kind)
	require.Equal(t, "The echo tool says: now", said(t, a, "now").Text)
	idle(t, a)
	require.Contains(t, p.ok("inbox", a.ID(), "now"), "ended by step 2.1, a user message of the log; the turn is over: completed")
}

func TestADisposedAgent(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	ask(t, a, "please echo bye")
	p.ok("dispose", a.ID())
	for _, args := range [][]string{{"followup", "x"}, {"steer", "x"}, {"inject", "x"}, {"cancel"}} {
		line := p.fails(9, append([]string{args[0], a.ID()}, args[1:]...)...)
		require.Contains(t, line, "has ended", args)
		require.Contains(t, line, "starter create", "what to do")
	}
	p.ok("dispose", a.ID()) // idempotent
	p.ok("wait", a.ID())
	require.True(t, strings.HasSuffix(trace(p.records(a.ID())), "TE(completed)"), "the log stays")
	p.ok("inbox", a.ID())
	require.Contains(t, p.ok("show", a.ID()), "closed")
	p.ok("request", a.ID(), "1.1")
	p.ok("log", a.ID(), "--follow") // ends, because nothing can follow
	require.Equal(t, "", p.ok("tail", a.ID()))
}

func TestTheLogAndTheInboxNeedNoWorker(t *testing.T) { // A3.3
	p := here(t)
	first := p.worker()
	a := p.create("a")
	ask(t, a, "please echo stored")
	_, err := a.Inject(t.Context(), agents.Text("for later"))
	require.NoError(t, err)
	idle(t, a)
	with := p.ok("log", a.ID(), "--json")
	inbox := p.ok("inbox", a.ID())
	require.Contains(t, inbox, "for later")
	require.Zero(t, first.stop())
	require.Equal(t, with, p.ok("log", a.ID(), "--json"))
	require.Equal(t, inbox, p.ok("inbox", a.ID()))
	require.Contains(t, p.ok("request", a.ID(), "1.2"), "stored")

	big := strings.Repeat("large ", 2000) // stored, and sent by reference
	require.Equal(t, 4, p.run("followup", a.ID(), big, "--id", "m1").code)
	require.Equal(t, 4, p.run("inject", a.ID(), "and more", "--id", "m2").code)
	lines := strings.Split(strings.TrimSpace(p.ok("inbox", a.ID())), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[0], "for later")
	require.Contains(t, lines[1], "next-turn  m1  large large")
	require.Contains(t, lines[2], "next-step  m2  and more  (no worker has taken it yet)")
	require.Equal(t, "pending in next-step\n", p.ok("inbox", a.ID(), "m2"))
	require.Contains(t, p.fails(4, "followup", a.ID(), "not now", "--only-if-idle"), "no worker")
	shown := p.show(a)
	require.Equal(t, []string{"idle", "assistant", "scripted/demo"}, []string{shown.Status, shown.Definition, shown.Model})
	require.Equal(t, []int{1, 2, 3}, []int{shown.Turn, shown.Step, len(shown.Inbox)})
	require.Equal(t, "a worker, to take what was sent", shown.WaitingFor)
	require.Greater(t, shown.Inbox[1].Bytes, len(big))

	require.NoError(t, p.sdk.TerminateWorkflow(t.Context(), a.ID(), "", "gone"))
	require.Equal(t, "terminated", p.show(a).Status)
	require.Len(t, p.show(a).Inbox, 3)
	require.Equal(t, "a resume, to bring back what was sent", p.show(a).WaitingFor)
}

// show is what `show --json` prints.
func (p *place) show(a *agents.Agent) (s signals.State) {
	p.t.Helper()
	require.NoError(p.t, json.Unmarshal([]byte(p.ok("show", a.ID(), "--json")), &s))
	return s
}

func TestTailShowsWhatIsBeingSaid(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	text, raw := p.start(nil, "tail", a.ID()), p.start(nil, "tail", a.ID(), "--json")
	id := send(t, a, "count to 20")
	text.says("1 2 3 4 ")
	raw.says(`"text":"4 "`)
	require.NotContains(t, text.out.String(), "Done.", "it is shown while it is made")
	said(t, a, id)
	text.says("19 20 Done.")
	require.Equal(t, 1, strings.Count(text.out.String(), "Done."), "nothing is shown twice")
	p.ok("dispose", a.ID())
	require.Zero(t, text.wait(), "it ends with the agent")
	for _, line := range strings.Split(strings.TrimSpace(raw.out.String()), "\n") {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

func TestFollowedLogs(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	x := p.start(nil, "log", a.ID(), "--follow", "--json")
	ask(t, a, "please echo one")
	idle(t, a)
	x.says(`"turn/end"`)
	p.ok("dispose", a.ID())
	require.Zero(t, x.wait(), "it ends with the agent")
	require.Equal(t, p.ok("log", a.ID(), "--json"), x.out.String())
}
