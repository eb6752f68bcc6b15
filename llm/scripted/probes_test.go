package scripted_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
)

// streams starts n streams of a script of one line and returns where their traces will be.
func streams(t *testing.T, ctx context.Context, p *scripted.Provider, n int) (wait func(), traces []string) {
	var all sync.WaitGroup
	traces = make([]string, n)
	for i := range n {
		stream := open(t, p, "m", llm.Request{})
		all.Go(func() { traces[i] = trace(stream(ctx)) })
	}
	return all.Wait, traces
}

func held(line string) *scripted.Provider {
	return scripted.New(scripted.Config{Default: scripted.Model{Script: scripted.MustParse(line), Position: scripted.ByHistory}})
}

func TestAHoldStopsTheStreamUntilItIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := held(`text "a" hold h text "b" no-usage`)
		wait, traces := streams(t, t.Context(), p, 1)
		require.NoError(t, p.Probes().Wait(t.Context(), "h"))
		require.Equal(t, 1, p.Probes().Held("h"))
		require.Empty(t, traces[0])
		p.Probes().Release("h")
		wait()
		require.Equal(t, `text0 "a" | end0 {a} | text1 "b" | end1 {b} | finish stop`, traces[0])
		require.Zero(t, p.Probes().Held("h"))
	})
}

func TestSeveralStreamsAtOneHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := held(`hold h text "b"`)
		wait, _ := streams(t, t.Context(), p, 3)
		for range 3 {
			require.NoError(t, p.Probes().Wait(t.Context(), "h"))
		}
		require.Equal(t, 3, p.Probes().Held("h"))
		p.Probes().Release("h")
		synctest.Wait()
		require.Equal(t, 2, p.Probes().Held("h"), "a release lets one go")
		p.Probes().Open("h")
		wait()
	})
}

func TestAReleaseGivenBeforehandLetsOnePass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := held(`hold h text "b"`)
		p.Probes().Release("h")
		wait, _ := streams(t, t.Context(), p, 2)
		synctest.Wait()
		require.Equal(t, 1, p.Probes().Held("h"))
		p.Probes().Open("h")
		wait()
		wait, _ = streams(t, t.Context(), p, 2)
		wait()
		for range 4 {
			require.NoError(t, p.Probes().Wait(t.Context(), "h"), "who passed has arrived as well")
		}
	})
}

func TestAHoldEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := held(`text "a" hold h`)
		ctx, cancel := context.WithCancel(t.Context())
		wait, traces := streams(t, ctx, p, 1)
		require.NoError(t, p.Probes().Wait(t.Context(), "h"))
		cancel()
		wait()
		require.Equal(t, `text0 "a" | end0 {a} | !ABORTED the provider aborted the call: context canceled`, traces[0])
		require.Zero(t, p.Probes().Held("h"))
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var probes scripted.Probes
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, probes.Wait(ctx, "nobody"), context.Canceled)
}

func TestProvidersCanShareProbes(t *testing.T) {
	t.Parallel()
	probes := new(scripted.Probes)
	require.Same(t, probes, scripted.New(scripted.Config{Probes: probes}).Probes())
}
