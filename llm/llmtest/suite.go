package llmtest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

var counts = session.Usage{InputTokens: 70, CacheReadTokens: 20, CacheWriteTokens: 10, OutputTokens: 5, ReasoningTokens: 3}

func said(parts ...string) Piece    { return Piece{Kind: Said, Parts: parts} }
func thought(parts ...string) Piece { return Piece{Kind: Thought, Parts: parts} }
func called(id, name string, parts ...string) Piece {
	return Piece{Kind: Called, ID: id, Name: name, Parts: parts}
}

func (h Harness) answers(t *testing.T) {
	for name, c := range map[string]struct {
		answer Answer
		want   session.Content
		kind   session.FinishKind
	}{
		"text": {Answer{Blocks: []Piece{said("Hel", "lo ", "you")}, End: EndStop},
			session.TextContent("Hello you"), session.FinishStop},
		"text of several scripts": {Answer{Blocks: []Piece{said("naïve ", "日本", " 🚀\n")}, End: EndStop},
			session.TextContent("naïve 日本 🚀\n"), session.FinishStop},
		"reasoning and text": {Answer{Blocks: []Piece{thought("Hm, ", "yes."), said("Yes.")}, End: EndStop},
			session.Content{session.Reasoning{Text: "Hm, yes."}, session.Text{Text: "Yes."}}, session.FinishStop},
		"a tool call": {Answer{Blocks: []Piece{called("c1", "look", `{"at":`, `"sky"}`)}, End: EndCalls},
			session.Content{session.ToolCallBlock{ID: "c1", Name: "look", Arguments: `{"at":"sky"}`}}, session.FinishToolCalls},
		"parallel tool calls after text": {Answer{Blocks: []Piece{said("Both."), called("c1", "look", `{}`), called("c2", "see", `{"n"`, `:1}`)}, End: EndCalls},
			session.Content{session.Text{Text: "Both."}, session.ToolCallBlock{ID: "c1", Name: "look", Arguments: `{}`}, session.ToolCallBlock{ID: "c2", Name: "see", Arguments: `{"n":1}`}}, session.FinishToolCalls},
		"a call without arguments": {Answer{Blocks: []Piece{called("c1", "look", "")}, End: EndCalls},
			session.Content{session.ToolCallBlock{ID: "c1", Name: "look"}}, session.FinishToolCalls},
		"arguments that are no JSON stay as they are": {Answer{Blocks: []Piece{called("c1", "look", `{"at": sk`, `y`)}, End: EndCalls},
			session.Content{session.ToolCallBlock{ID: "c1", Name: "look", Arguments: `{"at": sky`}}, session.FinishToolCalls},
		"duplicate ids are two calls": {Answer{Blocks: []Piece{called("c1", "look", `{}`), called("c1", "look", `{"n":2}`)}, End: EndCalls},
			session.Content{session.ToolCallBlock{ID: "c1", Name: "look", Arguments: `{}`}, session.ToolCallBlock{ID: "c1-1", Name: "look", Arguments: `{"n":2}`}}, session.FinishToolCalls},
		"cut at the limit": {Answer{Blocks: []Piece{said("And th")}, End: EndLength},
			session.TextContent("And th"), session.FinishMaxTokens},
		"nothing up to the limit": {Answer{End: EndLength}, session.Content{}, session.FinishMaxTokens},
		"calls that end with a plain stop": {Answer{Blocks: []Piece{called("c1", "look", `{}`)}, End: EndStop},
			session.Content{session.ToolCallBlock{ID: "c1", Name: "look", Arguments: `{}`}}, session.FinishToolCalls},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.answer.Usage = counts
			s := &Server{Frames: h.Wire.Frames(c.answer)}
			got := h.Ask(t, s)
			require.NoError(t, got.Err)
			require.Nil(t, got.Finish.Reason.Failure)
			require.Equal(t, c.kind, got.Finish.Reason.Kind)
			require.Equal(t, c.want, got.Content)
			require.Equal(t, counts, got.Usage)
			require.IsType(t, session.Finish{}, got.Chunks[len(got.Chunks)-1])
			_, keys := s.calls()
			require.Equal(t, []string{Key}, keys, "one call with the key, and no retry")
		})
	}
}

func (h Harness) endings(t *testing.T) {
	full := h.Wire.Frames(Answer{Blocks: []Piece{said("Hello")}, Usage: counts, End: EndStop})
	half := h.Wire.Frames(Answer{Blocks: []Piece{said("Hel")}})
	half = half[:len(half)-1]
	for name, c := range map[string]struct {
		server *Server
		code   llm.Code // "" means that the answer counts
	}{
		"without the last event":           {&Server{Frames: full[:len(full)-1]}, ""},
		"cut after the end of the answer":  {&Server{Frames: full[:len(full)-1], Then: Cut}, ""},
		"closed in the middle":             {&Server{Frames: half}, llm.StreamClosed},
		"closed before the first event":    {&Server{Frames: []string{}}, llm.StreamClosed},
		"complete without a finish reason": {&Server{Frames: h.Wire.Frames(Answer{Blocks: []Piece{said("Hello")}})}, llm.StreamClosed},
		"cut in the middle":                {&Server{Frames: half, Then: Cut}, llm.Transport},
		"cut before the first event":       {&Server{Frames: []string{}, Then: Cut}, llm.Transport},
		"an event that cannot be read":     {&Server{Frames: append(half[:len(half):len(half)], h.Wire.Garbage())}, llm.MalformedResponse},
		"no stream at all":                 {&Server{Body: `{"choices":[]}`}, llm.MalformedResponse},
		"nothing said":                     {&Server{Frames: h.Wire.Frames(Answer{Usage: counts, End: EndStop})}, llm.EmptyResponse},
		"withheld":                         {&Server{Frames: h.Wire.Frames(Answer{Blocks: []Piece{said("Well")}, End: EndWithheld})}, llm.InvalidRequest},
		"a comment and a long silence":     {&Server{Frames: append([]string{": keep-alive\n\n", ": keep-alive\n\n"}, full...)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.server.Header = map[string]string{h.Wire.RequestID(): "req-1"}
			got := h.Ask(t, c.server)
			if c.code == "" {
				require.Nil(t, got.Finish.Reason.Failure)
				require.Equal(t, session.TextContent("Hello"), got.Content)
				return
			}
			f := got.Failure(t)
			require.Equal(t, string(c.code), f.Code, f.Message)
			require.Equal(t, "req-1", f.RequestID)
			require.Equal(t, session.FinishError, got.Finish.Reason.Kind)
		})
	}
	for _, b := range h.Wire.Breaks() {
		t.Run("error event: "+b.Name, func(t *testing.T) {
			t.Parallel()
			got := h.Ask(t, &Server{Frames: append(half[:len(half):len(half)], b.Frame)})
			f := got.Failure(t)
			require.Equal(t, string(b.Code), f.Code, f.Message)
			require.Equal(t, session.TextContent("Hel"), got.Content, "what came before stays")
		})
	}
}

func (h Harness) refusals(t *testing.T) {
	for _, r := range h.Wire.Refusals() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			s := &Server{Status: r.Status, Body: r.Body,
				Header: map[string]string{h.Wire.RequestID(): "req-7", "Location": "http://127.0.0.1:1/elsewhere"}}
			f := h.Ask(t, s).Failure(t)
			require.Equal(t, string(r.Code), f.Code, f.Message)
			require.Equal(t, r.Status, f.Status)
			require.Equal(t, "req-7", f.RequestID)
			require.NotEmpty(t, f.Message)
			require.NotContains(t, f.Message, "<html>")
			bodies, _ := s.calls()
			require.Len(t, bodies, 1, "a provider never retries")
		})
	}
}

func (h Harness) retryAfter(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		header map[string]string
		want   int64
	}{
		"seconds":            {map[string]string{"Retry-After": "7"}, 7000},
		"fractions":          {map[string]string{"Retry-After": "0.2"}, 1000},
		"milliseconds":       {map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, 250},
		"a date":             {map[string]string{"Date": at.Format(http.TimeFormat), "Retry-After": at.Add(30 * time.Second).Format(http.TimeFormat)}, 30_000},
		"a date in the past": {map[string]string{"Date": at.Format(http.TimeFormat), "Retry-After": at.Add(-time.Hour).Format(http.TimeFormat)}, 0},
		"nonsense":           {map[string]string{"Retry-After": "soon"}, 0},
		"nothing":            {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := h.Ask(t, &Server{Status: http.StatusTooManyRequests, Header: c.header}).Failure(t)
			require.Equal(t, string(llm.RateLimit), f.Code)
			require.Equal(t, c.want, f.ProviderRetryAfterMS)
		})
	}
}

func (h Harness) connections(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		web := httptest.NewServer(http.NotFoundHandler())
		web.Close()
		f := h.call(t, web.URL).Failure(t)
		require.Equal(t, string(llm.Transport), f.Code)
	})
	t.Run("cut before the header", func(t *testing.T) {
		t.Parallel()
		web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		t.Cleanup(web.Close)
		f := h.call(t, web.URL).Failure(t)
		require.Equal(t, string(llm.Transport), f.Code)
	})
}

func (h Harness) concurrent(t *testing.T) {
	s := &Server{Wire: h.Wire, Frames: h.Wire.Frames(Answer{Blocks: []Piece{said("Hel", "lo")}, Usage: counts, End: EndStop})}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	provider := h.New(t, web.URL, llm.NewSecret(Key))
	call := h.prepare(t, provider)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got := collect(llm.Stream(t.Context(), call, h.request(provider)))
			if got.Err != nil || got.Content.Text() != "Hello" {
				t.Errorf("got %q, %v", got.Content.Text(), got.Err)
			}
		})
	}
	all.Wait()
}
