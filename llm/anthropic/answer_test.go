package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/anthropic"
	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/session"
)

// event makes an event of a type and the rest of its JSON.
func event(kind, rest string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}\n\n"
}

// answer is a stream with blocks in the middle.
func answer(stop string, blocks ...string) []string {
	out := []string{event("message_start", `,"message":{"id":"msg_1","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":1}}`)}
	out = append(out, blocks...)
	return append(out, event("message_delta", `,"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":4}`), event("message_stop", ""))
}

func ask(t *testing.T, frames []string) llmtest.Outcome {
	return harness(anthropic.Config{}, "claude-sonnet-4-5").Ask(t, &llmtest.Server{Frames: frames})
}

func start(index, block string) string {
	return event("content_block_start", `,"index":`+index+`,"content_block":`+block)
}

func delta(index, d string) string {
	return event("content_block_delta", `,"index":`+index+`,"delta":`+d)
}

func TestThinkingIsReplayable(t *testing.T) {
	t.Parallel()
	got := ask(t, answer("tool_use",
		start("0", `{"type":"thinking","thinking":"","signature":""}`),
		delta("0", `{"type":"thinking_delta","thinking":"Hm."}`),
		delta("0", `{"type":"signature_delta","signature":"sig"}`),
		delta("0", `{"type":"signature_delta","signature":"ned"}`),
		start("1", `{"type":"redacted_thinking","data":"opaque"}`),
		start("2", `{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`), // not asked for, not kept
		delta("2", `{"type":"input_json_delta","partial_json":"{}"}`),
		start("3", `{"type":"text","text":""}`),
		delta("3", `{"type":"text_delta","text":"Let me look."}`),
		delta("3", `{"type":"citations_delta","citation":{}}`),
		start("4", `{"type":"tool_use","id":"c1","name":"look","input":{}}`),
	))
	require.Equal(t, session.Content{
		session.Reasoning{Text: "Hm."}, session.Reasoning{}, session.Text{Text: "Let me look."}, session.ToolCallBlock{ID: "c1", Name: "look"},
	}, got.Content)
	require.Equal(t, &session.ReplayState{Blocks: []json.RawMessage{
		json.RawMessage(`{"signature":"signed"}`), json.RawMessage(`{"redactedThinking":"opaque"}`), json.RawMessage(`null`), json.RawMessage(`null`),
	}}, got.Finish.Replay)
	require.Equal(t, session.FinishToolCalls, got.Finish.Reason.Kind)
}

func TestAnAnswerWithoutThinkingNeedsNoReplayState(t *testing.T) {
	t.Parallel()
	got := ask(t, answer("end_turn", start("0", `{"type":"text","text":"Hi"}`)))
	require.Equal(t, session.TextContent("Hi"), got.Content)
	require.Nil(t, got.Finish.Replay)
}

func TestThinkingThatIsNotShown(t *testing.T) {
	t.Parallel()
	got := ask(t, answer("end_turn",
		start("0", `{"type":"thinking","thinking":"","signature":""}`),
		delta("0", `{"type":"signature_delta","signature":"sig"}`)))
	require.Equal(t, session.Content{session.Reasoning{}}, got.Content)
	require.Len(t, got.Finish.Replay.Blocks, 1)
}

func TestInputThatComesAtOnce(t *testing.T) {
	t.Parallel()
	got := ask(t, answer("tool_use", start("0", `{"type":"tool_use","id":"c1","name":"look","input":{"at": "sky"}}`)))
	require.Equal(t, session.Content{session.ToolCallBlock{ID: "c1", Name: "look", Arguments: `{"at": "sky"}`}}, got.Content)
}

func TestUsageKeepsWhatOnlyTheStartSays(t *testing.T) {
	t.Parallel()
	got := ask(t, answer("end_turn", start("0", `{"type":"text","text":"Hi"}`)))
	require.Equal(t, session.Usage{InputTokens: 10, CacheReadTokens: 5, CacheWriteTokens: 3, OutputTokens: 4}, got.Usage)
	require.Equal(t, session.UsageChunk{Usage: session.Usage{InputTokens: 10, CacheReadTokens: 5, CacheWriteTokens: 3, OutputTokens: 1}}, got.Chunks[0],
		"a cancelled call knows its input")
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		kind session.FinishKind
		code llm.Code
	}{
		"end_turn":                      {session.FinishStop, ""},
		"stop_sequence":                 {session.FinishStop, ""},
		"pause_turn":                    {session.FinishStop, ""},
		"max_tokens":                    {session.FinishMaxTokens, ""},
		"refusal":                       {session.FinishError, llm.InvalidRequest},
		"model_context_window_exceeded": {session.FinishError, llm.ContextWindowExceeded},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			got := ask(t, answer(reason, start("0", `{"type":"text","text":"Hi"}`)))
			require.Equal(t, c.kind, got.Finish.Reason.Kind)
			if c.code != "" {
				require.Equal(t, string(c.code), got.Failure(t).Code)
			}
		})
	}
}

func TestAnEmptyTextIsNoAnswer(t *testing.T) {
	t.Parallel()
	got := ask(t, answer("end_turn", start("0", `{"type":"text","text":""}`)))
	require.Equal(t, string(llm.EmptyResponse), got.Failure(t).Code)
}
