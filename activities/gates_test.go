package activities

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

type chunks = iter.Seq2[session.Chunk, error]

type nextStream = func(context.Context, plugin.StreamCall) chunks

// recording answers without any provider.
func recording(text string) chunks {
	return func(yield func(session.Chunk, error) bool) {
		_ = yield(session.TextDelta{Text: text}, nil) && yield(session.Finish{Reason: session.FinishReason{Kind: session.FinishStop}}, nil)
	}
}

func TestTheStreamGateWrapsTheCall(t *testing.T) { // §4.7.1, C-093, C-143 to C-146, C-089, C-090
	t.Parallel()
	const entered = "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC"
	for name, c := range map[string]struct {
		gate    plugin.StreamGate
		route   string // provider, if not the known one
		trace   string
		calls   int
		outcome string
		says    string
	}{
		"passes through, C-143": {func(ctx context.Context, in plugin.StreamCall, next nextStream) chunks { return next(ctx, in) },
			"", entered + " CH×1 AA", 1, work.StepAttempt, "fails first"},
		"answers itself, C-144": {func(context.Context, plugin.StreamCall, nextStream) chunks { return recording("recorded") },
			"", entered + " CH×2 AM", 0, work.StepMessage, ""},
		"tries again, C-145": {func(ctx context.Context, in plugin.StreamCall, next nextStream) chunks {
			for range next(ctx, in) {
				break
			}
			return next(ctx, in)
		}, "", entered + " CH×4 AM", 2, work.StepMessage, ""},
		"changes the request, C-146": {func(ctx context.Context, in plugin.StreamCall, next nextStream) chunks {
			in.Request.Messages = nil
			return next(ctx, in)
		}, "", entered + " AA", 0, work.StepAttempt, "frozen"},
		"changes its copy in place, C-093": {func(ctx context.Context, in plugin.StreamCall, next nextStream) chunks {
			in.Request.Messages[0].Content[0] = session.Text{Text: "changed"}
			return next(ctx, in)
		}, "", entered + " AA", 0, work.StepAttempt, "frozen"},
		"fails": {func(context.Context, plugin.StreamCall, nextStream) chunks {
			return func(yield func(session.Chunk, error) bool) {
				_ = yield(session.TextDelta{Text: "half"}, nil) && yield(nil, errors.New("broken gate"))
			}
		}, "", entered + " CH×1 AA", 0, work.StepAttempt, "broken gate"},
		"panics": {func(context.Context, plugin.StreamCall, nextStream) chunks { panic("oh") },
			"", entered + " AA", 0, work.StepAttempt, "oh"},
		"returns nothing": {func(context.Context, plugin.StreamCall, nextStream) chunks { return nil },
			"", entered + " AA", 0, work.StepAttempt, "no stream"},
		"owns the route, C-089": {func(context.Context, plugin.StreamCall, nextStream) chunks { return recording("mine") },
			"mine", entered + " CH×2 AM", 0, work.StepMessage, ""},
		"nobody owns the route, C-090": {func(ctx context.Context, in plugin.StreamCall, next nextStream) chunks { return next(ctx, in) },
			"mine", entered, 0, work.StepFailed, `no provider is named "mine"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := false
			b := newBench(t, script("fail-start AUTH \"fails first\"\ntext \"ok\""), define(func(d *plugin.Definition) {
				d.Stream = []plugin.StreamGate{c.gate}
				d.RequestError = []plugin.RequestErrorGate{func(context.Context, plugin.RequestFailure, func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
					asked = true
					return plugin.Recovery{}, nil
				}}
				if c.route != "" {
					d.Provider = c.route
				}
			}))
			b.say("a")
			out := b.next()
			require.Equal(t, c.trace, b.own())
			require.Equal(t, c.outcome, out.Outcome)
			require.Len(t, b.requests(), c.calls)
			require.Equal(t, c.says == "fails first", asked)
			if c.says != "" {
				require.Contains(t, out.Failure.Message, c.says)
			}
			require.Equal(t, "say a", events[session.UserMessage](b)[0].Text())
		})
	}
}

func TestACancelByAStreamGateCutsTheCall(t *testing.T) { // X6
	t.Parallel()
	b := newBench(t, define(func(d *plugin.Definition) {
		d.Stream = []plugin.StreamGate{func(ctx context.Context, in plugin.StreamCall, next nextStream) chunks {
			return func(yield func(session.Chunk, error) bool) {
				for c, err := range next(ctx, in) {
					if !yield(c, err) {
						return
					}
					plugin.AgentFrom(ctx).Cancel(session.Cause{Kind: session.CauseUser}, false)
				}
			}
		}}
	}))
	b.say("a")
	out := b.next()
	require.True(t, out.Interrupted)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×1 AM!", b.own())
}

func TestGatesNest(t *testing.T) {
	t.Parallel()
	var order []string
	gate := func(name string) plugin.StreamGate {
		return func(ctx context.Context, in plugin.StreamCall, next nextStream) chunks {
			order = append(order, name)
			require.Equal(t, 1, in.Attempt)
			plugin.AgentFrom(ctx).Inject(session.Message{Content: session.TextContent(name)})
			return next(ctx, in)
		}
	}
	b := newBench(t, define(func(d *plugin.Definition) { d.Stream = []plugin.StreamGate{gate("outer"), gate("inner")} }))
	b.say("a")
	out := b.next()
	require.Equal(t, []string{"outer", "inner"}, order)
	require.Equal(t, "act-1.1-stream-2", out.Acts[1].Message.ID)
}

func TestWhatTheLogCannotHoldIsMended(t *testing.T) { // §2.1
	t.Parallel()
	bad := "a\xffb"
	b := newBench(t, script(`error SERVER "x"`), define(func(d *plugin.Definition) {
		d.Stream = []plugin.StreamGate{func(context.Context, plugin.StreamCall, nextStream) chunks {
			return func(yield func(session.Chunk, error) bool) {
				f := llm.FailureOf(llm.Errorf(llm.Server, bad+strings.Repeat("x", maxFailureText), nil))
				yield(session.Finish{Reason: session.FinishReason{Kind: session.FinishError, Failure: &f}}, nil)
			}
		}}
		d.PreStep = []plugin.PreStepGate{func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			plugin.AgentFrom(ctx).Steer(session.Message{ID: "no\nid", Content: session.Content{session.Reasoning{Text: bad}}})
			out, err := next(ctx, in)
			out.Messages = append(out.Messages, session.Message{Content: session.Content{nil, session.Text{Text: bad}}})
			return out, err
		}}
	}))
	b.say("a")
	out := b.next()
	require.Equal(t, work.StepAttempt, out.Outcome)
	require.Equal(t, "SERVER", out.Failure.Code)
	require.NotNil(t, out.Recovery)
	require.True(t, strings.HasPrefix(out.Failure.Message, "a\uFFFDb"))
	require.Equal(t, "a\uFFFDb", events[session.UserMessage](b)[1].Text())
	require.Equal(t, "act-1.1-pre-step-1", out.Acts[0].Message.ID)
}

func TestRequestsRebuildsEveryAttempt(t *testing.T) { // §4.6.2
	t.Parallel()
	b := newBench(t, script("text \"1\"\nerror SERVER\ntext \"2\""))
	b.turnOf("a")
	b.say("b")
	in := b.in()
	out := b.run(in)
	b.wait(in, out)
	b.retry(in, out)
	got, err := Requests(session.Header{ID: sess}, b.store.Records(t.Context(), sess, storeHead(b), 0), 2, 1)
	require.NoError(t, err)
	require.Len(t, got, 2)
	for i, req := range got {
		require.True(t, sameJSON(b.requests()[1+i], req))
	}
}

func TestAJournalIsDroppedOnceItsAnswerWasHeard(t *testing.T) {
	t.Parallel()
	b := newBench(t, script("error SERVER\ntext \"1\"\ntext \"2\""))
	left := func(turn, step, attempt int) int {
		e, err := b.store.Journal(sess, turn, step, attempt, 1).Executions(t.Context())
		require.NoError(t, err)
		return len(e)
	}
	b.say("a")
	in := b.in()
	out := b.run(in)
	require.Equal(t, 1, left(1, 1, 1))
	b.wait(in, out)
	b.retry(in, out)
	require.Equal(t, 0, left(1, 1, 1))
	require.Equal(t, 1, left(1, 1, 2))
	b.closeTurn()
	b.turnOf("b")
	require.Equal(t, 1, left(2, 1, 1))
}
