package activities

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// wait logs what the driver logs around the wait for another attempt.
func (b *bench) wait(in work.StepIn, out work.StepOut) {
	r := out.Recovery
	b.log(session.LLMRetry{RetryID: "r", Turn: in.Turn, Step: in.Step, Provider: r.Provider, Mode: r.Mode, Policy: r.Policy,
		Failure: *out.Failure, DelayMS: r.DelayMS, Retry: r.Retry, Maximum: r.Maximum},
		session.LLMRetryStarted{RetryID: "r", Turn: in.Turn, Step: in.Step, Retry: r.Retry})
}

func TestAFailedCallIsRetriedInTheSameStep(t *testing.T) { // C-131, C-132
	t.Parallel()
	b := newBench(t, script("text \"bad\" open error SERVER\ntext \"worse\" open error TIMEOUT\ntext \"good\""))
	b.say("a")
	in := b.in()
	out := b.run(in)
	require.Equal(t, &work.Recovery{Provider: "scripted", Mode: "normal", Policy: llm.RetryPolicy{}.Key(), DelayMS: 500, Retry: 1, Maximum: 5}, out.Recovery)
	require.NotEmpty(t, out.Assembly)
	b.wait(in, out)
	in.Attempt = 1
	out = b.retry(in, out)
	require.Equal(t, 2, out.Recovery.Retry)
	require.EqualValues(t, 1000, out.Recovery.DelayMS)
	require.Empty(t, out.Users)
	b.wait(in, out)
	in.Attempt = 2
	out = b.retry(in, out)
	require.Equal(t, work.StepMessage, out.Outcome)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×2 AA LR(1) LRS(1) CH×2 AA LR(2) LRS(2) CH×4 AM", b.own())
	log := b.records()
	require.Equal(t, []int64{17, 18, 19, 20}, log[len(log)-1].Sources)
	for _, req := range b.requests() {
		require.Len(t, req.Messages, 1)
	}
	b.reconstructed()
}

func TestThePolicyDecidesByTheFailure(t *testing.T) { // §4.7.6, C-139, C-140
	t.Parallel()
	for name, c := range map[string]struct {
		failure string
		policy  llm.RetryPolicy
		want    *work.Recovery
	}{
		"auth is never retried":         {`error AUTH`, llm.RetryPolicy{}, nil},
		"no failure code":               {`error UNKNOWN`, llm.RetryPolicy{}, nil},
		"overflow belongs to others":    {`error CONTEXT_WINDOW_EXCEEDED`, llm.RetryPolicy{}, nil},
		"a demanded delay within cap":   {`error RATE_LIMIT retry-after=7s`, llm.RetryPolicy{}, &work.Recovery{Mode: "normal", DelayMS: 7000, Maximum: 5}},
		"a demanded delay beyond cap":   {`error RATE_LIMIT retry-after=11s`, llm.RetryPolicy{}, nil},
		"always retries what it is not": {`error AUTH`, llm.RetryPolicy{Mode: llm.Always}, &work.Recovery{Mode: "always", DelayMS: 500}},
		"none allowed":                  {`error SERVER`, llm.RetryPolicy{Retries: -1}, nil},
		"own limits":                    {`error SERVER`, llm.RetryPolicy{Retries: 2, Base: time.Second}, &work.Recovery{Mode: "normal", DelayMS: 1000, Maximum: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script(c.failure), route(func(m *scripted.Model) { m.Retry = c.policy }))
			b.say("a")
			out := b.next()
			require.Equal(t, work.StepAttempt, out.Outcome)
			if c.want != nil {
				c.want.Provider, c.want.Retry, c.want.Policy = "scripted", 1, c.policy.Key()
			}
			require.Equal(t, c.want, out.Recovery)
		})
	}
}

func TestThePolicyGivesUpAfterItsRetries(t *testing.T) { // C-139
	t.Parallel()
	b := newBench(t, route(func(m *scripted.Model) {
		m.Respond = func(llm.Request) scripted.Answer { return must(scripted.ParseAnswer(`error RATE_LIMIT`)) }
	}))
	b.say("a")
	in := b.in()
	out := b.run(in)
	for n := 1; n <= 5; n++ {
		require.Equal(t, n, out.Recovery.Retry)
		b.wait(in, out)
		in.Attempt = n
		out = b.retry(in, out)
	}
	require.Equal(t, work.StepAttempt, out.Outcome)
	require.Nil(t, out.Recovery)
	require.Equal(t, "RATE_LIMIT", out.Failure.Code)
	require.Len(t, b.requests(), 6)
	require.Len(t, events[session.StepStart](b), 1)
	require.Len(t, events[session.UserMessage](b), 1)
}

type recovery = func(context.Context, plugin.RequestFailure, func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error)

func TestTheRecoveryGateDecides(t *testing.T) { // §4.7.4, C-134
	t.Parallel()
	ask := func(ctx context.Context, in plugin.RequestFailure, next func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
		return next(ctx, in)
	}
	for name, c := range map[string]struct {
		failure string
		gate    recovery
		want    *work.Recovery
		code    string
	}{
		"a gate retries without a wait": {"AUTH", func(context.Context, plugin.RequestFailure, func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
			return plugin.Recovery{Retry: true}, nil
		}, &work.Recovery{}, "AUTH"},
		"a gate forbids what the policy would": {"SERVER", func(context.Context, plugin.RequestFailure, func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
			return plugin.Recovery{}, nil
		}, nil, "SERVER"},
		"a gate passes the policy's answer on": {"SERVER", ask, &work.Recovery{Provider: "scripted", Mode: "normal", Policy: llm.RetryPolicy{}.Key(), DelayMS: 500, Retry: 1, Maximum: 5}, "SERVER"},
		"a gate fails": {"SERVER", func(context.Context, plugin.RequestFailure, func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
			return plugin.Recovery{Retry: true}, errors.New("no idea")
		}, nil, "UNKNOWN"},
		"a gate panics": {"SERVER", func(context.Context, plugin.RequestFailure, func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
			panic("oh")
		}, nil, "UNKNOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script("error "+c.failure), define(func(d *plugin.Definition) {
				d.RequestError = []plugin.RequestErrorGate{c.gate}
			}))
			b.say("a")
			out := b.next()
			require.Equal(t, work.StepAttempt, out.Outcome)
			require.Equal(t, c.want, out.Recovery)
			require.Equal(t, c.code, out.Failure.Code)
			require.Equal(t, c.failure, events[session.AssistantAttempt](b)[0].Failure.Code)
		})
	}
}

func TestLaterAttemptsAskNeitherPreStepNorPromptAgain(t *testing.T) { // C-057, §4.7.4
	t.Parallel()
	asked := map[string]int{}
	b := newBench(t, script("error SERVER\ntext \"ok\""), define(func(d *plugin.Definition) {
		d.Sections = []plugin.Section{{Name: "p", Render: func(context.Context, plugin.View) (string, error) { asked["section"]++; return "be good", nil }}}
		d.PreStep = []plugin.PreStepGate{func(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
			asked["pre-step"]++
			out, err := next(ctx, in)
			out.StartsRequestSeries = true
			return out, err
		}}
		d.Request = []plugin.RequestGate{func(ctx context.Context, in plugin.RequestProposal, next func(context.Context, plugin.RequestProposal) (session.CallConfig, error)) (session.CallConfig, error) {
			asked["request"]++
			return next(ctx, in)
		}}
	}))
	b.say("a")
	in := b.in()
	out := b.run(in)
	b.wait(in, out)
	b.retry(in, out)
	require.Equal(t, map[string]int{"section": 1, "pre-step": 1, "request": 2}, asked)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial,series) RC CH×1 AA LR(1) LRS(1) CH×4 AM", b.own())
	require.Equal(t, "be good", b.requests()[1].System)
}

// Retries of another route, or under another policy, do not count. See spec §4.7.6.
func TestRetriesAreCountedPerProviderAndPolicy(t *testing.T) {
	t.Parallel()
	b := newBench(t, script("error SERVER\nerror SERVER"))
	b.say("a")
	in := b.in()
	out := b.run(in)
	for _, change := range []func(*work.Recovery){
		func(r *work.Recovery) { r.Provider = "other" }, func(r *work.Recovery) { r.Policy = "other" }, func(*work.Recovery) {},
	} {
		r := *out.Recovery
		change(&r)
		b.wait(in, work.StepOut{Recovery: &r, Failure: out.Failure})
	}
	in.Attempt = 1
	out = b.retry(in, out)
	require.Equal(t, 2, out.Recovery.Retry)
}
