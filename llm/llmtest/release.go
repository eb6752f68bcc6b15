package llmtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// release checks that a call's connection ends with the call. The server's Close would hang if it did not.
func (h Harness) release(t *testing.T) {
	t.Run("cancelled in the middle", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := cancelled(t)
		gone, stream := h.stalled(t, ctx, 0)
		seen := 0
		for chunk, err := range stream {
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
				continue
			}
			require.NotEqual(t, session.Finish{}.ChunkType(), chunk.ChunkType(), "the agent settles its own cancel")
			seen++
			cancel()
		}
		require.Positive(t, seen)
		<-gone
	})
	t.Run("cancelled before the header", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := cancelled(t)
		arrived, gone := make(chan struct{}), make(chan struct{})
		web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			defer close(gone)
			(&Server{Wire: h.Wire}).note(r)
			close(arrived)
			<-r.Context().Done()
		}))
		t.Cleanup(web.Close)
		go func() {
			<-arrived
			cancel()
		}()
		provider := h.New(t, web.URL, llm.NewSecret(Key))
		got := collect(llm.Stream(ctx, h.prepare(t, provider), h.request(provider)))
		require.ErrorIs(t, got.Err, context.Canceled)
		require.Empty(t, got.Chunks)
		<-gone
	})
	t.Run("the provider's own word for it", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := cancelled(t)
		cancel()
		provider := h.New(t, "http://127.0.0.1:1", llm.NewSecret(Key))
		got := collect(h.prepare(t, provider).Stream(ctx, h.request(provider)))
		require.ErrorIs(t, got.Err, context.Canceled)
		require.Equal(t, string(llm.Aborted), llm.FailureOf(got.Err).Code)
	})
	t.Run("the loop is left", func(t *testing.T) {
		t.Parallel()
		gone, stream := h.stalled(t, t.Context(), 0)
		for range stream {
			break
		}
		<-gone
	})
	t.Run("silent for too long", func(t *testing.T) {
		t.Parallel()
		// On a slow machine the watchdog may beat the request to the server, so only the server's Close waits for it.
		_, stream := h.stalled(t, t.Context(), 20*time.Millisecond)
		got := collect(stream)
		require.Equal(t, string(llm.Timeout), got.Failure(t).Code)
	})
}

// stalled is a stream that begins and then says nothing. The channel is closed when the server sees its caller go.
func (h Harness) stalled(t *testing.T, ctx context.Context, idle time.Duration) (<-chan struct{}, func(func(session.Chunk, error) bool)) {
	t.Helper()
	gone := make(chan struct{})
	frames := h.Wire.Frames(Answer{Blocks: []Piece{said("Hel")}})
	web := httptest.NewServer(&Server{Wire: h.Wire, Frames: frames[:len(frames)-1], Then: func(r *http.Request) {
		Hang(r)
		close(gone)
	}})
	t.Cleanup(web.Close)
	provider := h.New(t, web.URL, llm.NewSecret(Key))
	call := h.prepare(t, provider)
	call.Idle = idle
	return gone, llm.Stream(ctx, call, h.request(provider))
}
