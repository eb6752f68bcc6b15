package e2e

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// deferred waits until so many calls of an agent wait for somebody outside.
func deferred(t *testing.T, a *agents.Agent, n int) (out []signals.Deferred) {
	t.Helper()
	until(t, "a call waits for somebody", func() bool {
		s, err := a.State(t.Context())
		out = s.Deferred
		return err == nil && len(out) == n
	})
	return out
}

func resultOf(records []session.Record, n int) string {
	return all[session.ToolResult](records)[n].Message.Content[0].(session.ToolResultBlock).Content.Text()
}

// The worker dies while a question is open; another process answers when there is a worker again, and nothing ran twice.
func TestAQuestionThatOutlivesItsWorker(t *testing.T) { // A3.7
	p := here(t)
	script := "tool c1 asks {}\ntext \"I see.\"\n"
	first := p.helperWorker(script)
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: inquirer})
	require.NoError(t, err)
	id := send(t, a, "act")
	require.Equal(t, "1.1.c1.answer", deferred(t, a, 1)[0].ID)
	first.kill()
	require.Contains(t, p.fails(4, "answer", a.ID(), "--skip"), "nothing was answered")
	p.helperWorker(script)

	show := p.ok("show", a.ID())
	require.Contains(t, show, "asks asks:\n  Where to? (target)\n    1. test\n    2. prod\n  Why? (why)\n  starter answer "+a.ID()+" 1.1.c1.answer")
	require.Contains(t, p.fails(2, "answer", a.ID(), "target=test"), `question "why" is not answered`)
	require.Contains(t, p.fails(2, "answer", a.ID(), "test"), "use QUESTION=TEXT; the questions are target, why")
	require.Contains(t, p.fails(6, "answer", a.ID(), "target=moon", "--skip"), "takes no text: select one of")
	require.Contains(t, p.fails(6, "answer", a.ID(), "--skip"), "must not be skipped")
	require.Equal(t, "answered\n", p.ok("answer", a.ID(), "target=prod", "why=it is time", "--by", "alice"))
	require.Equal(t, "I see.", said(t, a, id).Text)
	idle(t, a)
	require.Contains(t, p.fails(1, "answer", a.ID(), "target=prod"), "no call of agent")
	asked, err := os.ReadFile(p.path("asked"))
	require.NoError(t, err)
	require.Equal(t, "c1\n", string(asked), "a tool that acts once ran once")
	records := p.records(a.ID())
	require.Equal(t, `{"answers":[{"id":"target","question":"Where to?","selected":["prod"]},{"id":"why","question":"Why?","text":"it is time"}]}`, resultOf(records, 0))
	require.Contains(t, trace(records), "TC(c1) question/asked question/answered TR(c1) SE")
}

// A deploy brings another definition, and an operator sets the run back, while somebody is asked: it is asked once, and what
// people say counts.
func TestADeployAndAResetWhileSomebodyIsAsked(t *testing.T) { // A3.7, A3.12
	for definition, test := range map[string]struct {
		call, trace string
		say         func(p *place, id string, d signals.Deferred)
		once        string // the mark of a body that must not run twice
	}{
		asker: {"once {}", "approval/asked approval/decided TR(c1)", func(p *place, id string, d signals.Deferred) {
			p.write("go", "")
			p.ok("approve", id, d.ID, "--digest", d.Digest)
		}, "started-c1-1"},
		inquirer: {"asks {}", "question/asked question/answered TR(c1)", func(p *place, id string, d signals.Deferred) {
			p.ok("answer", id, "target=prod", "why=because")
		}, "asked"},
	} {
		t.Run(definition, func(t *testing.T) {
			p := here(t)
			script := "tool c1 " + test.call + "\ntext \"I see.\"\ntext \"Yes.\"\n"
			first := p.helperWorker(script)
			a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: definition})
			require.NoError(t, err)
			id := send(t, a, "act")
			asked := deferred(t, a, 1)[0]
			before, err := a.State(t.Context())
			require.NoError(t, err)

			p.env = append(p.env, deployed+"=Be brief.")
			p.helperWorker(script)
			require.Zero(t, first.stop())
			p.reset(a.ID(), p.taskBefore(a.ID(), nil))
			until(t, "the run took over", func() bool { s, err := a.State(t.Context()); return err == nil && s.Log.Epoch == 2 })
			again := deferred(t, a, 1)[0]
			require.Equal(t, asked, again, "the same wait, to the same deadline")
			test.say(p, a.ID(), again)
			require.Equal(t, "I see.", said(t, a, id).Text)
			idle(t, a)
			require.Contains(t, trace(p.records(a.ID())), "TC(c1) "+test.trace)
			require.True(t, p.exists(test.once))
			require.False(t, p.exists("started-c1-2"))
			require.Equal(t, "Yes.", ask(t, a, "and now?").Text)
			after, err := a.State(t.Context())
			require.NoError(t, err)
			require.NotEqual(t, before.Manifest, after.Manifest, "the next turn goes by the new definition")
		})
	}
}

// The program that runs a client tool dies, the workers die, and each comes again: the call has one result.
func TestAClientToolThatOutlivesEverybody(t *testing.T) { // A3.7
	p := here(t)
	script := "tool c1 open_url {\"url\":\"x\"} tool c2 beep {}\ntext \"I see.\"\n"
	first := p.helperWorker(script)
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper, ClientTools: []signals.ClientTool{
		{Name: "open_url", Parameters: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}}}`), Parallel: true}, {Name: "beep", Parallel: true}}})
	require.NoError(t, err)
	id := send(t, a, "act")
	deferred(t, a, 2)

	ctx, die := context.WithCancel(t.Context())
	begun := make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- a.Serve(ctx, map[string]agents.ClientFunc{"open_url": func(ctx context.Context, _ json.RawMessage) (signals.CallResult, error) {
			close(begun)
			<-ctx.Done()
			return signals.CallResult{}, ctx.Err()
		}})
	}()
	<-begun
	die()
	<-served
	first.kill()
	p.helperWorker(script)
	go func() {
		served <- a.Serve(t.Context(), map[string]agents.ClientFunc{"open_url": func(_ context.Context, args json.RawMessage) (signals.CallResult, error) {
			return signals.CallResult{Text: "opened " + string(args)}, nil
		}})
	}()
	deferred(t, a, 1)
	require.Contains(t, p.ok("show", a.ID()), "a program is to run: beep {}\n")
	require.Contains(t, p.fails(1, "result", a.ID(), "c9", "x"), "no call c9")
	require.Contains(t, p.fails(2, "result", a.ID(), "c2", "x", "--json-value", "1"), "not both")
	require.Equal(t, "given\n", p.ok("result", a.ID(), "c2", "--json-value", `{"n": 1}`))
	require.Contains(t, p.fails(6, "result", a.ID(), "1.1.c2.result", "again"), "no call waits for this")
	require.Equal(t, "I see.", said(t, a, id).Text)
	idle(t, a)
	records := p.records(a.ID())
	require.Equal(t, `opened {"url":"x"}`, resultOf(records, 0))
	require.Equal(t, `{"n":1}`, resultOf(records, 1))
}

// A chat without a terminal: the line after a question is its answer.
func TestAScriptedChatAnswersQuestions(t *testing.T) {
	p := here(t)
	p.worker()
	id := p.id("new")
	r := p.feed("ask me which colour: red, green or blue\nmauve\n2\nplease echo done\n", "chat", id, "--wait")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, "which colour? (answer)\n    1. red\n    2. green\n    3. blue\n  a number, - to skip:\n")
	require.Contains(t, r.err, `there is no option "mauve"`)
	require.Contains(t, r.out, `"selected":["green"]`)
	require.True(t, strings.HasSuffix(r.out, "The echo tool says: done\n"), r.out)
	require.Len(t, all[session.UserMessage](p.records(id)), 2, "answers are no messages")

	r = p.feed("ask me when\n", "chat", id, "--wait")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "waits for an answer: starter answer "+id)
	x := p.start(nil, "ask", "--agent", id, "please echo more")
	until(t, "whoever asks is told why there is no answer", func() bool { return strings.Contains(x.err.String(), "starter answer "+id) })
	p.ok("answer", id, "soon")
	require.Zero(t, x.wait())
}

func TestClientToolsOfACommandLine(t *testing.T) {
	p := here(t)
	p.worker()
	file := p.write("tools.json", `[{"name":"beep"}]`)
	a := p.create("a", "--client-tools", file)
	recorded, err := a.Recorded(t.Context())
	require.NoError(t, err)
	require.Equal(t, []signals.ClientTool{{Name: "beep"}}, recorded.ClientTools)
	p.ok("configure", a.ID(), "--unset", "client-tools")
	ask(t, a, "please echo x")
	recorded, err = a.Recorded(t.Context())
	require.NoError(t, err)
	require.Empty(t, recorded.ClientTools)
	require.Contains(t, p.fails(2, "create", p.id("b"), "--client-tools", p.write("bad.json", `{}`)), "--client-tools "+p.path("bad.json"))
	require.Contains(t, p.fails(6, "configure", a.ID(), "--client-tools", p.write("taken.json", `[{"name":"echo"}]`)), `definition "assistant" has a tool of that name`)
	require.Contains(t, p.fails(6, "create", p.id("c"), "--client-tools", p.path("taken.json")), `definition "assistant" has a tool of that name`)
}
