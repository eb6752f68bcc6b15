package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/llm/openai"
	"github.com/everturn/everturn/session"
)

// frames makes events of the JSON in them.
func frames(events ...string) []string {
	var out []string
	for _, e := range events {
		out = append(out, "data: "+e+"\n\n")
	}
	return out
}

const (
	stopped     = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	calledTools = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
)

// delta is the event of a delta.
func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

// TestDifferencesBetweenServers holds the ways in which servers that claim the same protocol differ.
func TestDifferencesBetweenServers(t *testing.T) {
	t.Parallel()
	two := session.Content{
		session.ToolCallBlock{ID: "a", Name: "look", Arguments: `{"n":1}`},
		session.ToolCallBlock{ID: "b", Name: "look", Arguments: `{"n":2}`},
	}
	for name, c := range map[string]struct {
		events []string
		want   session.Content
	}{
		"reasoning under its other name": {
			[]string{delta(`{"reasoning":"Hm."}`), delta(`{"content":"Yes."}`), stopped},
			session.Content{session.Reasoning{Text: "Hm."}, session.Text{Text: "Yes."}}},
		"reasoning under both names": {
			[]string{delta(`{"reasoning":"Hm.","reasoning_content":"Hm."}`), stopped},
			session.Content{session.Reasoning{Text: "Hm."}}},
		"reasoning and text in one event": {
			[]string{delta(`{"reasoning_content":"Hm.","content":"Yes."}`), stopped},
			session.Content{session.Reasoning{Text: "Hm."}, session.Text{Text: "Yes."}}},
		"a refusal is an answer": {
			[]string{delta(`{"refusal":"I would rather not."}`), stopped},
			session.TextContent("I would rather not.")},
		"another choice is not read": {
			[]string{delta(`{"content":"Yes."}`), `{"choices":[{"index":1,"delta":{"content":"No."}}]}`, stopped},
			session.TextContent("Yes.")},
		"a reason nobody knows is a stop": {
			[]string{delta(`{"content":"Yes."}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"eos_token"}]}`},
			session.TextContent("Yes.")},
		"calls that all have the number 0": {
			[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\":1}"}}]}`),
				delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"look","arguments":"{\"n\":2}"}}]}`), calledTools}, two},
		"calls without numbers": {
			[]string{delta(`{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{\"n\""}}]}`),
				delta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`),
				delta(`{"tool_calls":[{"id":"b","function":{"name":"look","arguments":"{\"n\":2}"}}]}`), calledTools}, two},
		"calls whose name comes with every part": {
			[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\""}}]}`),
				delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":":1}"}}]}`),
				delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"look","arguments":"{\"n\":2}"}}]}`), calledTools}, two},
		"interleaved calls": {
			[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\""}},{"index":1,"id":"b","function":{"name":"look","arguments":""}}]}`),
				delta(`{"tool_calls":[{"index":1,"function":{"arguments":"{\"n\":2}"}}]}`),
				delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`), calledTools}, two},
		"calls without ids and numbers": {
			[]string{delta(`{"tool_calls":[{"function":{"name":"look","arguments":"{}"}}]}`),
				delta(`{"tool_calls":[{"function":{"name":"see","arguments":"{}"}}]}`), calledTools},
			session.Content{session.ToolCallBlock{ID: "call-0", Name: "look", Arguments: "{}"}, session.ToolCallBlock{ID: "call-1", Name: "see", Arguments: "{}"}}},
		"an id that comes late": {
			[]string{delta(`{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"{"}}]}`),
				delta(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"}"}}]}`), calledTools},
			session.Content{session.ToolCallBlock{ID: "a", Name: "look", Arguments: "{}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := harness(openai.Config{}, "gpt-5.1").Ask(t, &llmtest.Server{Frames: frames(c.events...)})
			require.Nil(t, got.Finish.Reason.Failure)
			require.Equal(t, c.want, got.Content)
			want := session.FinishStop
			if len(c.want.ToolCalls()) > 0 {
				want = session.FinishToolCalls
			}
			require.Equal(t, want, got.Finish.Reason.Kind)
		})
	}
}

func TestOneChunkForEachEvent(t *testing.T) {
	t.Parallel()
	got := harness(openai.Config{}, "gpt-5.1").Ask(t, &llmtest.Server{Frames: frames(
		delta(`{"role":"assistant","content":""}`), delta(`{"content":"a"}`), delta(`{"content":"b"}`), stopped)})
	require.Equal(t, []session.Chunk{
		session.TextDelta{Text: "a"}, session.TextDelta{Text: "b"},
		session.Finish{Reason: session.FinishReason{Kind: session.FinishStop}},
	}, got.Chunks)
}

func TestTheCallEndsWithTheLastCount(t *testing.T) {
	t.Parallel()
	// The server neither says [DONE] nor closes the connection.
	got := harness(openai.Config{}, "gpt-5.1").Ask(t, &llmtest.Server{Then: llmtest.Hang, Frames: frames(
		delta(`{"content":"a"}`), stopped, `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)})
	require.Equal(t, session.FinishStop, got.Finish.Reason.Kind)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usage string
		want  session.Usage
	}{
		"plain":                {`{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14}`, session.Usage{InputTokens: 10, OutputTokens: 4}},
		"cached":               {`{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":8}}`, session.Usage{InputTokens: 2, CacheReadTokens: 8, OutputTokens: 4}},
		"cached, by DeepSeek":  {`{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`, session.Usage{InputTokens: 2, CacheReadTokens: 8, OutputTokens: 4}},
		"reasoning":            {`{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14,"completion_tokens_details":{"reasoning_tokens":3}}`, session.Usage{InputTokens: 10, OutputTokens: 1, ReasoningTokens: 3}},
		"reasoning beside it":  {`{"prompt_tokens":10,"completion_tokens":4,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":3}}`, session.Usage{InputTokens: 10, OutputTokens: 4, ReasoningTokens: 3}},
		"nothing but a prompt": {`{"prompt_tokens":10}`, session.Usage{InputTokens: 10}},
		"more cached than all": {`{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":8}}`, session.Usage{CacheReadTokens: 8}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := harness(openai.Config{}, "gpt-5.1").Ask(t, &llmtest.Server{Frames: frames(
				`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
				stopped, `{"choices":[],"usage":`+c.usage+`}`)})
			require.Equal(t, c.want, got.Usage)
		})
	}
}

func TestAnswersThatFail(t *testing.T) {
	t.Parallel()
	for reason, code := range map[string]llm.Code{
		"content_filter":               llm.InvalidRequest,
		"insufficient_system_resource": llm.Server,
		"error":                        llm.Server,
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			got := harness(openai.Config{}, "gpt-5.1").Ask(t, &llmtest.Server{Frames: frames(
				delta(`{"content":"a"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"`+reason+`"}]}`)})
			require.Equal(t, string(code), got.Failure(t).Code)
		})
	}
}
