package cassette_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/anthropic"
	"github.com/everturn/everturn/llm/cassette"
	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/llm/openai"
	"github.com/everturn/everturn/session"
)

// roundTrip is a provider whose every stream is recorded to the end and then played from the file.
type roundTrip struct {
	*cassette.Recorder
	t    *testing.T
	path string
}

func (r *roundTrip) Prepare(ctx context.Context, config session.CallConfig) (*llm.Prepared, error) {
	live, err := r.Recorder.Prepare(ctx, config)
	if err != nil {
		return nil, err
	}
	played := *live
	played.Stream = func(ctx context.Context, req llm.Request) iter.Seq2[session.Chunk, error] {
		for range live.Stream(ctx, req) {
		}
		player, err := cassette.Open(r.path)
		require.NoError(r.t, err)
		call, err := player.Prepare(ctx, config)
		require.NoError(r.t, err)
		return call.Stream(ctx, req)
	}
	return &played, nil
}

// recorded wraps a harness so that the suite sees only what was played.
func recorded(h llmtest.Harness) llmtest.Harness {
	live := h.New
	h.Recorded = true
	h.New = func(t *testing.T, server string, key llm.Secret) llm.Provider {
		path := filepath.Join(t.TempDir(), "cassette.jsonl")
		rec, err := cassette.Record(live(t, server, key), path)
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, rec.Close())
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(raw), llmtest.Key)
		})
		return &roundTrip{rec, t, path}
	}
	return h
}

func TestConformanceOfOpenAI(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, recorded(llmtest.Harness{Wire: llmtest.OpenAI{}, Model: "gpt-5.1",
		New: func(t *testing.T, server string, key llm.Secret) llm.Provider {
			p, err := openai.New(openai.Config{BaseURL: server + "/v1", APIKey: key})
			require.NoError(t, err)
			return p
		}}))
}

func TestConformanceOfAnthropic(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, recorded(llmtest.Harness{Wire: llmtest.Anthropic{}, Model: "claude-sonnet-4-5",
		New: func(t *testing.T, server string, key llm.Secret) llm.Provider {
			p, err := anthropic.New(anthropic.Config{BaseURL: server, APIKey: key})
			require.NoError(t, err)
			return p
		}}))
}

// counting is a provider that answers with the number of the call.
type counting struct{ calls int }

func (c *counting) Name() string { return "counting" }

func (c *counting) Prepare(_ context.Context, config session.CallConfig) (*llm.Prepared, error) {
	if config.Model == "" {
		return nil, llm.Errorf(llm.InvalidRequest, "no model", nil)
	}
	config.MaxTokens = 7
	return &llm.Prepared{Config: config, Defaults: &session.AdapterDefaults{MaxTokens: true}, ContextWindow: 100, Images: true,
		SystemPromptUpdate: true, Idle: time.Minute, Retry: llm.RetryPolicy{Retries: 2}, Stream: c.stream}, nil
}

func (c *counting) stream(context.Context, llm.Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		c.calls++
		if yield(session.TextDelta{Text: string(rune('0' + c.calls))}, nil) {
			yield(session.Finish{Reason: session.FinishReason{Kind: session.FinishStop}}, nil)
		}
	}
}

var config = session.CallConfig{Provider: "counting", Model: "m"}

func request(id, text string) llm.Request {
	return llm.Request{Session: "s-" + id, Config: config, System: "Be brief.", Tools: []session.ToolSchema{{Name: "look"}},
		Messages: []session.Message{{ID: id, Role: session.RoleUser, Content: session.TextContent(text)}}}
}

// record records requests and opens the cassette.
func record(t *testing.T, use func(*llm.Prepared)) *cassette.Player {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cassette.jsonl")
	rec, err := cassette.Record(&counting{}, path)
	require.NoError(t, err)
	require.Equal(t, "counting", rec.Name())
	_, err = rec.Prepare(t.Context(), session.CallConfig{Provider: "counting"})
	require.Error(t, err)
	call, err := rec.Prepare(t.Context(), config)
	require.NoError(t, err)
	use(call)
	require.NoError(t, rec.Close())
	player, err := cassette.Open(path)
	require.NoError(t, err)
	return player
}

func answer(t *testing.T, p llm.Provider, req llm.Request) (text string, failure *session.Failure) {
	t.Helper()
	call, err := p.Prepare(t.Context(), config)
	require.NoError(t, err)
	return hear(t, call, req)
}

func hear(t *testing.T, call *llm.Prepared, req llm.Request) (text string, failure *session.Failure) {
	t.Helper()
	for chunk, err := range llm.Stream(t.Context(), call, req) {
		require.NoError(t, err)
		switch c := chunk.(type) {
		case session.TextDelta:
			text += c.Text
		case session.Finish:
			failure = c.Reason.Failure
		}
	}
	return text, failure
}

func TestEqualRequestsArePlayedInOrder(t *testing.T) {
	t.Parallel()
	p := record(t, func(call *llm.Prepared) {
		for _, text := range []string{"a", "b", "a"} {
			_, f := hear(t, call, request("live", text))
			require.Nil(t, f)
		}
	})
	require.Equal(t, "counting", p.Name())
	require.Equal(t, 3, p.Remaining())
	for _, c := range []struct{ ask, want string }{{"a", "1"}, {"a", "3"}, {"b", "2"}} {
		got, f := answer(t, p, request("another id", c.ask))
		require.Nil(t, f)
		require.Equal(t, c.want, got)
	}
	require.Zero(t, p.Remaining())
	_, f := answer(t, p, request("x", "a"))
	require.Contains(t, f.Message, "recorded 2 time(s), and all were played")
}

func TestWhatWasPreparedIsPlayed(t *testing.T) {
	t.Parallel()
	p := record(t, func(*llm.Prepared) {})
	want, err := (&counting{}).Prepare(t.Context(), config)
	require.NoError(t, err)
	got, err := p.Prepare(t.Context(), config)
	require.NoError(t, err)
	got.Stream, want.Stream = nil, nil
	require.Equal(t, want, got)

	_, err = p.Prepare(t.Context(), session.CallConfig{Provider: "counting"})
	require.EqualError(t, err, "INVALID_REQUEST: no model")
	_, err = p.Prepare(t.Context(), session.CallConfig{Provider: "counting", Model: "other"})
	require.ErrorContains(t, err, `"model":"other"} was not recorded`)
}

func TestARequestThatWasNotRecordedNamesTheDifference(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*llm.Request)
		want   []string
	}{
		"system":         {func(r *llm.Request) { r.System = "Be long." }, []string{"differs in: system prompt ("}},
		"a message":      {func(r *llm.Request) { r.Messages[0].Content = session.TextContent("b") }, []string{"message 1 (recorded user:", "asked user:"}},
		"more messages":  {func(r *llm.Request) { r.Messages = append(r.Messages, r.Messages[0]) }, []string{"number of messages (recorded 1, asked 2)"}},
		"a tool":         {func(r *llm.Request) { r.Tools[0].Description = "Looks." }, []string{"tool 1 (recorded look:"}},
		"no tools":       {func(r *llm.Request) { r.Tools = nil }, []string{"number of tools (recorded 1, asked 0)"}},
		"the config":     {func(r *llm.Request) { r.Config.MaxTokens = 5 }, []string{"config (recorded {", `"maxTokens":5}`}},
		"several things": {func(r *llm.Request) { r.System, r.Tools = "", nil }, []string{"system prompt; number of tools", "line 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := record(t, func(call *llm.Prepared) { hear(t, call, request("live", "a")) })
			req := request("x", "a")
			c.change(&req)
			_, f := answer(t, p, req)
			require.Equal(t, string(llm.InvalidRequest), f.Code)
			for _, want := range c.want {
				require.Contains(t, f.Message, want)
			}
			require.Equal(t, 1, p.Remaining())
		})
	}
}

func TestAnEmptyCassette(t *testing.T) {
	t.Parallel()
	p := record(t, func(*llm.Prepared) {})
	_, f := answer(t, p, request("x", "a"))
	require.Contains(t, f.Message, "no stream was recorded")
}

func TestARecordingThatWasCutStaysSilent(t *testing.T) {
	t.Parallel()
	p := record(t, func(call *llm.Prepared) {
		for range call.Stream(t.Context(), request("live", "a")) {
			break
		}
	})
	synctest.Test(t, func(t *testing.T) {
		got, f := answer(t, p, request("x", "a"))
		require.Equal(t, "1", got)
		require.Equal(t, string(llm.Timeout), f.Code, "the watchdog ends it")
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"an empty file":         {"", "it has no header"},
		"what is no JSON":       {"{\"header\":{\"version\":1,\"provider\":\"p\"}}\nnonsense\n", "line 2"},
		"a chunk nobody knows":  {`{"stream":{"request":{"config":{}},"chunks":[{"type":"smell"}]}}`, "chunk 0"},
		"a version of tomorrow": {`{"header":{"version":2,"provider":"p"}}`, "version 2 is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "c.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(c.file), 0o600))
			_, err := cassette.Open(path)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), filepath.Dir(path))
		})
	}
	_, err := cassette.Open(filepath.Join(t.TempDir(), "missing.jsonl"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestRecordFailsWithoutADirectory(t *testing.T) {
	t.Parallel()
	_, err := cassette.Record(&counting{}, filepath.Join(t.TempDir(), "no", "such", "c.jsonl"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
