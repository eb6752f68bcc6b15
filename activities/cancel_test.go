package activities

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

func TestCancelInEveryPhase(t *testing.T) { // §5, C-217 to C-221
	t.Parallel()
	const opened = "TS1 IS-(next-turn:1)"
	for name, c := range map[string]struct {
		point string
		trace string
	}{
		"X3 assembly":          {"step/assembled", opened},
		"X4 entered":           {"step/start", opened + " SS1.1"},
		"X4 prepared":          {"step/prepared", opened + " SS1.1"},
		"X5 request committed": {"request/committed", opened + " SS1.1 UM(a) RH(initial) RC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.at[c.point] = b.cancel
			b.say("a")
			out := b.next()
			require.Equal(t, work.StepCancelled, out.Outcome)
			require.Equal(t, c.trace, b.own())
			require.Equal(t, c.trace != opened, out.Entered)
			require.Equal(t, name[:2] == "X5", out.Committed)
			require.Empty(t, b.requests())
		})
	}
}

func TestAStepThatBeginsCancelledLogsNothing(t *testing.T) { // X3
	t.Parallel()
	b := newBench(t)
	b.say("a")
	b.cancel()
	out := b.next()
	require.Equal(t, work.StepCancelled, out.Outcome)
	require.Equal(t, work.Head{}, out.Head)
	require.False(t, out.Entered)
}

func TestCancelWhileTheModelSpeaks(t *testing.T) { // X6, X7, C-222 to C-225
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		trace   string
		content session.Content
		usage   bool
	}{
		"text": {`text "par" open hold h`, "CH×1 AM!", session.TextContent("par"), false},
		"reasoning with usage": {`reasoning "hm" open usage 3 4 hold h`, "CH×2 AM!",
			session.Content{session.Reasoning{Text: "hm"}}, true},
		"closed text and half a call": {`text "so" tool c1 echo {"te":1} open hold h`, "CH×3 AM!", session.TextContent("so"), false},
		"white space":                 {`whitespace hold h`, "CH×2 AA", nil, false},
		"tool call only":              {`tool c1 echo {} open hold h`, "CH×1 AA", nil, false},
		"nothing":                     {`hold h`, "AA", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script(c.script))
			b.say("a")
			go func() {
				defer b.cancel()
				_ = b.probes.Wait(t.Context(), "h")
			}()
			out := b.next()
			require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC "+c.trace, b.own())
			require.Equal(t, c.usage, out.Usage != nil)
			require.Empty(t, out.Calls)
			if c.content == nil {
				require.Equal(t, work.StepCancelled, out.Outcome)
				require.Nil(t, events[session.AssistantAttempt](b)[0].Failure)
				return
			}
			require.Equal(t, work.StepMessage, out.Outcome)
			require.True(t, out.Interrupted)
			m := events[session.AssistantMessage](b)[0]
			require.Equal(t, c.content, m.Message.Content)
			require.Equal(t, out.Usage, m.Usage)
		})
	}
}

func TestTheNextRequestContainsTheInterruptedPrefix(t *testing.T) { // C-137
	t.Parallel()
	b := newBench(t, script("text \"par\" open hold h\ntext \"whole\""))
	b.say("a")
	go func() {
		defer b.cancel()
		_ = b.probes.Wait(t.Context(), "h")
	}()
	b.next()
	b.closeTurn()
	b.ctx = t.Context()
	b.turnOf("b")
	last := b.requests()[1].Messages
	require.Equal(t, "par", last[1].Text())
	b.reconstructed()
}

func TestCancelInTheRecoveryGateBeatsItsAnswer(t *testing.T) { // X8, C-133
	t.Parallel()
	for name, cancel := range map[string]func(*bench, plugin.Agent){
		"by the context": func(b *bench, _ plugin.Agent) { b.cancel() },
		"by the gate":    func(_ *bench, a plugin.Agent) { a.Cancel(session.Cause{Kind: session.CauseUser}, true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b *bench
			gate := func(ctx context.Context, in plugin.RequestFailure, _ func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
				cancel(b, plugin.AgentFrom(ctx))
				return plugin.Recovery{Retry: true}, nil
			}
			b = newBench(t, script(`text "x" open error SERVER`), define(func(d *plugin.Definition) {
				d.RequestError = []plugin.RequestErrorGate{gate}
			}))
			b.say("a")
			out := b.next()
			require.Equal(t, work.StepCancelled, out.Outcome)
			require.Nil(t, out.Recovery)
			require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×2 AA", b.own())
			require.Len(t, b.requests(), 1)
		})
	}
}

func TestACancelAskedForByAHookEndsTheStep(t *testing.T) { // A3.8, C-234 at step level
	t.Parallel()
	hook := func(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
		plugin.AgentFrom(ctx).Cancel(session.Cause{Kind: session.CauseHook, Reason: "no"}, false)
		return next(ctx, in)
	}
	b := newBench(t, define(func(d *plugin.Definition) { d.PreStep = []plugin.PreStepGate{hook} }))
	b.say("a")
	out := b.next()
	require.Equal(t, work.StepCancelled, out.Outcome)
	require.False(t, out.Entered)
	require.Equal(t, "TS1 IS-(next-turn:1)", b.own())
	require.Equal(t, []work.Act{{Kind: work.ActCancel, Cause: &session.Cause{Kind: session.CauseHook, Reason: "no"}}}, out.Acts)
}

func TestAnErrorAfterACancelIsACancel(t *testing.T) { // §4.10
	t.Parallel()
	var b *bench
	gate := func(context.Context, plugin.RequestProposal, func(context.Context, plugin.RequestProposal) (session.CallConfig, error)) (session.CallConfig, error) {
		b.cancel()
		return session.CallConfig{}, errors.New("interrupted")
	}
	b = newBench(t, define(func(d *plugin.Definition) { d.Request = []plugin.RequestGate{gate} }))
	b.say("a")
	out := b.next()
	require.Equal(t, work.StepCancelled, out.Outcome)
	require.Nil(t, out.Failure)
}

func TestAStoppedWorkerIsNoCancel(t *testing.T) { // A3.15
	t.Parallel()
	draining := errors.New("worker draining")
	for name, point := range map[string]string{"before the request": "step/prepared", "in the stream": "chunk"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, route(func(m *scripted.Model) {
				m.Respond = func(llm.Request) scripted.Answer { return scripted.Text("whole answer") }
			}))
			b.stopped = draining
			b.at[point] = b.cancel
			b.say("a")
			in := b.in()
			_, err := b.a.Step(b.ctx, in)
			require.ErrorIs(t, err, draining)

			b.at, b.ctx, b.exec = nil, t.Context(), 2
			out := b.take(in, must(b.a.Step(b.ctx, in)))
			require.Equal(t, work.StepMessage, out.Outcome)
			require.False(t, out.Interrupted)
			if point == "chunk" {
				require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×1 AA CH×4 AM", b.own())
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
