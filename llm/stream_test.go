package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

type streamFunc = func(context.Context, llm.Request) iter.Seq2[session.Chunk, error]

type chunks = iter.Seq2[session.Chunk, error]

// streams makes a stream of a body that may look at its context.
func streams(body func(ctx context.Context, yield func(session.Chunk, error) bool)) streamFunc {
	return func(ctx context.Context, _ llm.Request) chunks {
		return func(yield func(session.Chunk, error) bool) { body(ctx, yield) }
	}
}

func yields(list ...session.Chunk) streamFunc {
	return streams(func(_ context.Context, yield func(session.Chunk, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	})
}

func throws(err error) streamFunc {
	return streams(func(_ context.Context, yield func(session.Chunk, error) bool) { yield(nil, err) })
}

func text(s string) session.Chunk { return session.TextDelta{Text: s} }

func stop() session.Chunk {
	return session.Finish{Reason: session.FinishReason{Kind: session.FinishStop}}
}

func ended(kind session.FinishKind, f session.Failure) session.Chunk {
	return session.Finish{Reason: session.FinishReason{Kind: kind, Failure: &f}}
}

func collect(seq chunks) (got []session.Chunk, err error) {
	for c, e := range seq {
		if e != nil {
			return got, e
		}
		got = append(got, c)
	}
	return got, nil
}

func TestStreamNormalises(t *testing.T) {
	t.Parallel()
	facts := session.Failure{Code: "RATE_LIMIT", Message: "slow down", Status: 429, ProviderRetryAfterMS: 1500, RequestID: "r1"}
	for name, c := range map[string]struct {
		stream streamFunc
		want   []session.Chunk
	}{
		"chunks pass":               {yields(text("a"), stop()), []session.Chunk{text("a"), stop()}},
		"a missing finish is kept":  {yields(text("a")), []session.Chunk{text("a")}},
		"an empty stream":           {yields(), nil},
		"nothing follows a finish":  {yields(stop(), text("late")), []session.Chunk{stop()}},
		"a failure keeps its facts": {throws(&llm.Error{Failure: facts}), []session.Chunk{ended(session.FinishError, facts)}},
		"a wrapped failure too":     {throws(fmt.Errorf("x: %w", &llm.Error{Failure: facts})), []session.Chunk{ended(session.FinishError, facts)}},
		"an error without facts":    {throws(errors.New("boom")), []session.Chunk{ended(session.FinishError, session.Failure{Code: "UNKNOWN", Message: "boom"})}},
		"aborted by the provider": {throws(llm.Errorf(llm.Aborted, "gone", nil)),
			[]session.Chunk{ended(session.FinishAborted, session.Failure{Code: "ABORTED", Message: "gone"})}},
		"a context error that is not ours": {throws(context.Canceled),
			[]session.Chunk{ended(session.FinishAborted, session.Failure{Code: "ABORTED", Message: "the provider aborted the call: context canceled"})}},
		"a deadline that is not ours": {throws(context.DeadlineExceeded),
			[]session.Chunk{ended(session.FinishError, session.Failure{Code: "TIMEOUT", Message: "the call ran out of time: context deadline exceeded"})}},
		"a panic": {streams(func(context.Context, func(session.Chunk, error) bool) { panic("ouch") }),
			[]session.Chunk{ended(session.FinishError, session.Failure{Code: "UNKNOWN", Message: "the provider panicked: ouch"})}},
		"a panic before the stream": {func(context.Context, llm.Request) chunks { panic("ouch") },
			[]session.Chunk{ended(session.FinishError, session.Failure{Code: "UNKNOWN", Message: "the provider panicked: ouch"})}},
		"an exit": {streams(func(context.Context, func(session.Chunk, error) bool) { runtime.Goexit() }),
			[]session.Chunk{ended(session.FinishError, session.Failure{Code: "UNKNOWN", Message: "the provider left its stream without a word"})}},
		"a nil chunk": {yields(nil),
			[]session.Chunk{ended(session.FinishError, session.Failure{Code: "MALFORMED_RESPONSE", Message: "the provider yielded neither a chunk nor an error"})}},
		"no stream": {nil,
			[]session.Chunk{ended(session.FinishError, session.Failure{Code: "NO_ADAPTER", Message: "the call was not prepared by any provider"})}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got, err := collect(llm.Stream(t.Context(), &llm.Prepared{Stream: c.stream}, llm.Request{}))
				require.NoError(t, err)
				require.Equal(t, c.want, got)
			})
		})
	}
}

func TestStreamPassesTheRequest(t *testing.T) {
	t.Parallel()
	var got llm.Request
	call := &llm.Prepared{Stream: func(_ context.Context, req llm.Request) chunks {
		got = req
		return yields(stop())(nil, req)
	}}
	_, err := collect(llm.Stream(t.Context(), call, llm.Request{Session: "s1"}))
	require.NoError(t, err)
	require.Equal(t, "s1", got.Session)
}

func TestStreamYieldsOurOwnCancellationAsAnError(t *testing.T) {
	t.Parallel()
	hang := streams(func(ctx context.Context, yield func(session.Chunk, error) bool) {
		if yield(text("a"), nil) {
			<-ctx.Done()
			yield(nil, llm.Errorf(llm.Aborted, "cancelled", ctx.Err()))
		}
	})
	for name, cancelAfter := range map[string]int{"before the first chunk": 0, "while a read is open": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				if cancelAfter == 0 {
					cancel()
				}
				go func() {
					synctest.Wait()
					cancel()
				}()
				got, err := collect(llm.Stream(ctx, &llm.Prepared{Stream: hang}, llm.Request{}))
				require.ErrorIs(t, err, context.Canceled)
				require.Len(t, got, cancelAfter)
			})
		})
	}
}

// paced yields a chunk after each of the pauses, then stops.
func paced(pauses ...time.Duration) streamFunc {
	return streams(func(ctx context.Context, yield func(session.Chunk, error) bool) {
		for _, d := range pauses {
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return
			}
			if !yield(text("x"), nil) {
				return
			}
		}
		yield(stop(), nil)
	})
}

func TestWatchdog(t *testing.T) {
	t.Parallel()
	const idle = 10 * time.Second
	silent := func(d time.Duration) session.Chunk {
		return ended(session.FinishError, session.Failure{Code: "TIMEOUT", Message: "the model sent nothing for " + d.String()})
	}
	for name, c := range map[string]struct {
		idle   time.Duration
		pauses []time.Duration
		think  time.Duration // what the consumer spends on each chunk
		want   []session.Chunk
		took   time.Duration
	}{
		"nothing ever comes":         {idle, []time.Duration{time.Hour}, 0, []session.Chunk{silent(idle)}, idle},
		"silence in the middle":      {idle, []time.Duration{9 * time.Second, time.Hour}, 0, []session.Chunk{text("x"), silent(idle)}, 19 * time.Second},
		"each read has its own time": {idle, []time.Duration{9 * time.Second, 9 * time.Second}, 0, []session.Chunk{text("x"), text("x"), stop()}, 18 * time.Second},
		"consumer time is free":      {idle, []time.Duration{0, 0}, time.Hour, []session.Chunk{text("x"), text("x"), stop()}, 3 * time.Hour},
		"the default is 300 seconds": {0, []time.Duration{time.Hour}, 0, []session.Chunk{silent(300 * time.Second)}, 300 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var got []session.Chunk
				for chunk, err := range llm.Stream(t.Context(), &llm.Prepared{Idle: c.idle, Stream: paced(c.pauses...)}, llm.Request{}) {
					require.NoError(t, err)
					got = append(got, chunk)
					time.Sleep(c.think)
				}
				require.Equal(t, c.want, got)
				require.Equal(t, c.took, time.Since(begin))
			})
		})
	}
}

func TestBreakingTheLoopEndsTheProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released := false
		call := &llm.Prepared{Stream: streams(func(ctx context.Context, yield func(session.Chunk, error) bool) {
			defer func() { released = ctx.Err() != nil }()
			for yield(text("x"), nil) {
			}
		})}
		for range llm.Stream(t.Context(), call, llm.Request{}) {
			break
		}
		require.True(t, released, "the provider must have ended, with its context cancelled, when the loop is over")
	})
}

func TestAPanicOfTheConsumerIsItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		require.PanicsWithValue(t, "mine", func() {
			for range llm.Stream(t.Context(), &llm.Prepared{Stream: yields(text("x"))}, llm.Request{}) {
				panic("mine")
			}
		})
	})
}

func TestAProviderThatIgnoresItsContextHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		defer close(stuck)
		call := &llm.Prepared{Idle: time.Second, Stream: streams(func(context.Context, func(session.Chunk, error) bool) { <-stuck })}
		begin := time.Now()
		got, err := collect(llm.Stream(t.Context(), call, llm.Request{}))
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Less(t, time.Since(begin), time.Minute)
	})
}
