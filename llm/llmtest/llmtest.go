// Package llmtest is the conformance suite of model providers.
//
// [Run] proves a provider against a local server that speaks the vendor's protocol: what its answers become, how its
// failures are classified, that its connections end, and that its key appears nowhere. [Requests] compares the bodies
// that a provider sends with golden files; run the tests with -update to write them.
//
//	func TestConformance(t *testing.T) {
//		llmtest.Run(t, llmtest.Harness{Wire: llmtest.OpenAI{}, Model: "gpt-5.1", New: func(…) llm.Provider { … }})
//	}
package llmtest

import (
	"context"
	"fmt"
	"iter"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Key is the credential of every call of the suite. It must appear in the vendor's header and nowhere else.
const Key = "sk-llmtest-5up3r-s3cr3t"

// A Harness says what is tested.
type Harness struct {
	Wire  Wire
	Model string
	// New makes the provider under test for a server's address.
	New func(t *testing.T, server string, key llm.Secret) llm.Provider
	// Recorded is set when the chunks come from a recording. What needs a live connection is left out then.
	Recorded bool
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Run("answers", h.answers)
	t.Run("endings", h.endings)
	t.Run("refusals", h.refusals)
	t.Run("retry after", h.retryAfter)
	t.Run("connections", h.connections)
	t.Run("concurrent calls", h.concurrent)
	if !h.Recorded {
		t.Run("release", h.release)
	}
}

// An Outcome is what a call came to.
type Outcome struct {
	Chunks  []session.Chunk
	Content session.Content // assembled from the chunks
	Usage   session.Usage   // the last one
	Finish  session.Finish
	Err     error // of the caller's context
}

// collect runs a stream to its end.
func collect(chunks iter.Seq2[session.Chunk, error]) Outcome {
	var out Outcome
	var parts session.Assembler
	for chunk, err := range chunks {
		if err != nil {
			out.Err = err
			break
		}
		out.Chunks = append(out.Chunks, chunk)
		parts.Add(chunk)
		switch c := chunk.(type) {
		case session.UsageChunk:
			out.Usage = c.Usage
		case session.Finish:
			out.Finish = c
		}
	}
	out.Content, _ = parts.Message()
	return out
}

// Failure is the failure that the call must have ended with.
func (o Outcome) Failure(t *testing.T) session.Failure {
	t.Helper()
	require.NoError(t, o.Err)
	require.NotNil(t, o.Finish.Reason.Failure, "the call must fail, but ended with %q", o.Finish.Reason.Kind)
	return *o.Finish.Reason.Failure
}

// Ask makes one call against a server and checks that the key does not show. A server without a Wire gets the
// harness's.
func (h Harness) Ask(t *testing.T, s *Server) Outcome {
	t.Helper()
	if s.Wire == nil {
		s.Wire = h.Wire
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return h.call(t, web.URL)
}

func (h Harness) call(t *testing.T, address string) Outcome {
	t.Helper()
	provider := h.New(t, address, llm.NewSecret(Key))
	call := h.prepare(t, provider)
	out := collect(llm.Stream(t.Context(), call, h.request(provider)))
	requireNoKey(t, provider, call, out.Chunks, out.Err)
	return out
}

func (h Harness) prepare(t *testing.T, provider llm.Provider) *llm.Prepared {
	t.Helper()
	call, err := provider.Prepare(t.Context(), session.CallConfig{Provider: provider.Name(), Model: h.Model})
	require.NoError(t, err)
	require.Equal(t, provider.Name(), call.Config.Provider)
	require.Equal(t, h.Model, call.Config.Model)
	return call
}

func (h Harness) request(provider llm.Provider) llm.Request {
	return llm.Request{
		Session:  "session-1",
		Config:   session.CallConfig{Provider: provider.Name(), Model: h.Model},
		System:   "Be brief.",
		Messages: []session.Message{user("m1", "Hello")},
	}
}

func user(id, text string) session.Message {
	return session.Message{ID: id, Role: session.RoleUser, Content: session.TextContent(text), Source: session.Source{Kind: session.SourceUser}}
}

// requireNoKey looks for the key in everything that may be logged.
func requireNoKey(t *testing.T, provider llm.Provider, call *llm.Prepared, chunks []session.Chunk, err error) {
	t.Helper()
	for _, v := range []any{provider, call, *call, chunks, err} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			require.NotContains(t, fmt.Sprintf(verb, v), Key)
		}
	}
	for _, c := range chunks {
		raw, err := session.MarshalChunk(c)
		require.NoError(t, err)
		require.NotContains(t, string(raw), Key)
	}
	for ; err != nil; err = unwrap(err) {
		require.NotContains(t, err.Error(), Key)
	}
}

func unwrap(err error) error {
	u, ok := err.(interface{ Unwrap() error })
	if !ok {
		return nil
	}
	return u.Unwrap()
}

// cancelled is a context that ends when the returned function is called.
func cancelled(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}
