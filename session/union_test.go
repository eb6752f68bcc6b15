package session

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// everyBlock has one block of each type; its order is that of [Block]'s comment.
func everyBlock() []Block {
	return []Block{
		Text{Text: "a <b> \u2028"},
		Reasoning{Text: "hm"},
		Image{Attachment: "abc", MediaType: "image/png", Bytes: 7},
		Artifact{SHA256: "abc", Bytes: 70000, MediaType: "text/plain"},
		ToolCallBlock{ID: "c1", Name: "echo", Arguments: "not json"},
		ToolResultBlock{ToolCallID: "c1", Content: Content{Text{Text: "ok"}, Image{Attachment: "abc"}}, IsError: true},
	}
}

// everyChunk has one chunk of each type, and a finish of each kind.
func everyChunk() []Chunk {
	replay := &ReplayState{Blocks: []json.RawMessage{json.RawMessage(`{"signature":"s"}`), json.RawMessage("null")}}
	chunks := []Chunk{
		BlockStart{Index: 1, BlockType: "text"},
		TextDelta{Index: 1, Text: "你好"},
		ReasoningDelta{Index: 1, Text: "hm"},
		ToolCallDelta{Index: 2, ID: "c1", Name: "echo", ArgumentsDelta: `{"a"`},
		UsageChunk{Usage: Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5}},
		Finish{Reason: FinishReason{Kind: FinishStop}, Replay: replay},
		Finish{Reason: FinishReason{Kind: FinishToolCalls}},
		Finish{Reason: FinishReason{Kind: FinishMaxTokens}},
		Finish{Reason: FinishReason{Kind: FinishAborted, Failure: failure()}},
		Finish{Reason: FinishReason{Kind: FinishError, Failure: failure()}},
	}
	for i, b := range everyBlock() {
		chunks = append(chunks, BlockEnd{Index: i, Block: b})
	}
	return chunks
}

func failure() *Failure {
	return &Failure{Message: "slow down", Code: "RATE_LIMIT", Status: 429, ProviderRetryAfterMS: 1500, RequestID: "r1"}
}

// everyEvent has at least one event of each type, with every field set at least once.
func everyEvent() []Event {
	m := Message{ID: "m1", Role: RoleUser, Content: everyBlock(), Source: Source{Kind: SourcePlugin, Plugin: "p", Form: "notice",
		Sections: []string{"s"}, Summary: "sum", Provider: "p", Model: "m", CallID: "c", Replay: &ReplayState{Blocks: []json.RawMessage{json.RawMessage("1")}}}}
	temperature := 0.7
	usage := &Usage{InputTokens: 1, OutputTokens: 2}
	events := []Event{
		InboxSpliced{Target: NextTurn, Start: 1, RemovedCount: 1, Inserted: []Message{m}, Outcome: OutcomeCanceled},
		InboxSpliced{Target: NextStep, RemovedCount: 1, Inserted: []Message{}},
		InboxMoved{Target: NextTurn, Start: 1, IDs: []string{"m1", "m2"}},
		TurnStart{Turn: 1},
		StepStart{Turn: 1, Step: 1},
		SystemMessage{Turn: 1, Step: 1, Message: m},
		UserMessage{m},
		RequestHeader{Reason: HeaderChange, StartsSeries: true, Header: HeaderContent{
			Config:          CallConfig{Provider: "p", Model: "m", ReasoningEffort: "high", Temperature: &temperature, MaxTokens: 9, Stop: []string{"x"}},
			AdapterDefaults: &AdapterDefaults{ReasoningEffort: true, MaxTokens: true},
			System:          "be brief",
			Tools:           []ToolSchema{{Name: "echo", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}},
		}},
		RequestContext{Provider: "p", Model: "m", ContextWindow: 1000, SystemPromptUpdate: true},
		AssistantMessage{Turn: 1, Step: 1, Message: m, Usage: usage, Interrupted: true},
		AssistantAttempt{Turn: 1, Step: 1, ChunkSeqs: []int64{3, 4}, Failure: failure(), Usage: usage},
		ToolCall{Turn: 1, Step: 1, CallID: "c1", Name: "echo", Arguments: "{", ArgumentsBlob: &Artifact{SHA256: "a", Bytes: 1, MediaType: "text/plain"}},
		ToolResult{Turn: 1, Step: 1, Message: m, Error: &CodedError{Name: "E", Code: "C"}, Meta: json.RawMessage(`{"a":1}`)},
		StepEnd{Turn: 1, Step: 1},
		EndSeed{},
		LLMRetry{RetryID: "r", Turn: 1, Step: 1, Provider: "p", Mode: "normal", Policy: "k", Failure: *failure(), DelayMS: 500, Retry: 1, Maximum: 5},
		LLMRetryStarted{RetryID: "r", Turn: 1, Step: 1, Retry: 1},
		CancelRequested{Cause: Cause{Kind: CauseHook, Reason: "why"}, KeepInbox: true, Via: "native", By: "someone", Text: "stop"},
		Feature{Kind: "todo/write", Data: json.RawMessage(`{"items":[]}`)},
		Feature{Kind: "compaction/start", Data: json.RawMessage(`{"turn":null}`)},
		Feature{Kind: "approval/decided", Data: json.RawMessage(`{}`)},
		Feature{Kind: "question/asked", Data: json.RawMessage(`{}`)},
		Feature{Kind: "session/title", Data: json.RawMessage(`{"title":"t"}`)},
		Unknown{Kind: "future/thing", Data: json.RawMessage(`{"x":1.50}`)},
	}
	for _, arg := range []string{"completed", "max-tokens", "blocked", "aborted user", "aborted parent", "aborted hook why",
		"aborted disposed", "aborted legacy", "error RATE_LIMIT", "interrupted"} {
		events = append(events, TurnEnd{Turn: 1, Reason: reason(arg)})
	}
	for _, c := range everyChunk() {
		events = append(events, AssistantChunk{Turn: 1, Step: 1, Chunk: c})
	}
	return events
}

func TestEveryEventBlockAndChunkGoesThroughJSONAndBack(t *testing.T) {
	t.Parallel()
	for i, e := range everyEvent() {
		r := NewRecord(1000, e)
		r.Seq, r.Ignorable = int64(i), true
		if r.Surface != nil {
			r.Surface, r.Sources = ReplaceOp(3, 1), []int64{0}
		}
		line, err := json.Marshal(r)
		require.NoError(t, err, e.Type())
		var back Record
		require.NoError(t, json.Unmarshal(line, &back), "%s", line)
		back.data = nil
		require.Equal(t, r, back)
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(line), string(again))
	}
}

func TestEveryEventTypeIsInTheSetOnce(t *testing.T) {
	t.Parallel()
	types := make(map[string]bool)
	for _, e := range everyEvent() {
		require.True(t, member(e), e.Type())
		types[e.Type()] = true
	}
	require.Len(t, types, 25)
}

// See spec §2.7.
func TestWrittenFormOfRecords(t *testing.T) {
	t.Parallel()
	replaced := NewRecord(5, UserMessage{user("a")}, 4, 9)
	replaced.Surface = ReplaceOp(4, 9)
	empty := NewRecord(5, AssistantMessage{Turn: 1, Step: 1, Message: Message{ID: "m", Role: RoleAssistant, Source: Source{Kind: SourceModel}}})
	empty.Sources = []int64{}
	for _, c := range []struct {
		rec  Record
		want string
	}{
		{NewRecord(1764500000000, TurnStart{Turn: 1}), `{"seq":0,"time":1764500000000,"type":"turn/start","data":{"turn":1}}`},
		{replaced, `{"seq":0,"time":5,"type":"user/message","data":{"id":"a","role":"user","content":[{"type":"text","text":"text of a"}],"source":{"kind":"user"}},"surfaceOp":{"op":"replace","start":4,"end":9},"sourceEventSeqs":[4,9]}`},
		{empty, `{"seq":0,"time":5,"type":"assistant/message","data":{"turn":1,"step":1,"message":{"id":"m","role":"assistant","content":[],"source":{"kind":"model"}}},"surfaceOp":"append","sourceEventSeqs":[]}`},
		{NewRecord(5, InboxSpliced{Target: NextStep, RemovedCount: 1}), `{"seq":0,"time":5,"type":"agent/inbox/spliced","data":{"target":"next-step","start":0,"removedCount":1,"inserted":[]}}`},
		{NewRecord(5, AssistantAttempt{Turn: 1, Step: 1}), `{"seq":0,"time":5,"type":"assistant/attempt","data":{"turn":1,"step":1,"chunkSeqs":[]}}`},
		{NewRecord(5, TurnEnd{Turn: 1, Reason: reason("aborted hook why")}), `{"seq":0,"time":5,"type":"turn/end","data":{"turn":1,"reason":{"kind":"aborted","reason":{"kind":"hook","reason":"why"}}}}`},
		{NewRecord(5, CancelRequested{Cause: Cause{Kind: CauseUser}, Via: "api"}), `{"seq":0,"time":5,"type":"cancel/requested","data":{"cause":{"kind":"user"},"via":"api"},"ignorable":true}`},
	} {
		line, err := json.Marshal(c.rec)
		require.NoError(t, err)
		require.Equal(t, c.want, string(line))
	}
}

// C-315
func TestAnUnknownTypeIsReadOnlyWhenIgnorable(t *testing.T) {
	t.Parallel()
	var r Record
	require.ErrorContains(t, json.Unmarshal([]byte(`{"seq":0,"time":1,"type":"future/thing","data":{}}`), &r), "needs a newer version")
	require.NoError(t, json.Unmarshal([]byte(`{"seq":0,"time":1,"type":"future/thing","data":{"a":1},"ignorable":true}`), &r))
	require.Equal(t, Unknown{Kind: "future/thing", Data: json.RawMessage(`{"a":1}`)}, r.Event)
	require.NoError(t, NewState().Apply(r))
}

// See spec §2.7.
func TestUnknownFieldsOfTheDataSurvive(t *testing.T) {
	t.Parallel()
	const line = `{"seq":0,"time":1,"type":"turn/start","data":{"turn":1,"mood":{"a":[1.50,"x"]}}}`
	var r Record
	require.NoError(t, json.Unmarshal([]byte(line), &r))
	require.Equal(t, TurnStart{Turn: 1}, r.Event)
	again, err := json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, line, string(again))
}

func TestBrokenRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"no seq":                  `{"time":1,"type":"turn/start","data":{"turn":1}}`,
		"a negative seq":          `{"seq":-1,"time":1,"type":"turn/start","data":{"turn":1}}`,
		"no type":                 `{"seq":0,"time":1,"data":{}}`,
		"no data":                 `{"seq":0,"time":1,"type":"turn/start"}`,
		"data that is a list":     `{"seq":0,"time":1,"type":"turn/start","data":[]}`,
		"data that is null":       `{"seq":0,"time":1,"type":"turn/start","data":null}`,
		"a broken field":          `{"seq":0,"time":1,"type":"turn/start","data":{"turn":"one"}}`,
		"a fractional turn":       `{"seq":0,"time":1,"type":"turn/start","data":{"turn":1.5}}`,
		"minus zero":              `{"seq":0,"time":1,"type":"turn/start","data":{"turn":1,"x":-0}}`,
		"infinity":                `{"seq":0,"time":1,"type":"turn/start","data":{"turn":1,"x":1e999}}`,
		"not a number":            `{"seq":0,"time":1,"type":"turn/start","data":{"turn":1,"x":NaN}}`,
		"a byte that is not text": "{\"seq\":0,\"time\":1,\"type\":\"turn/start\",\"data\":{\"turn\":1,\"x\":\"\xff\"}}",
		"an unknown block":        `{"seq":0,"time":1,"type":"user/message","data":{"id":"a","role":"user","content":[{"type":"hologram"}],"source":{"kind":"user"}},"surfaceOp":"append"}`,
		"a block without type":    `{"seq":0,"time":1,"type":"user/message","data":{"id":"a","role":"user","content":[{"text":"x"}],"source":{"kind":"user"}},"surfaceOp":"append"}`,
		"a result in a result":    `{"seq":0,"time":1,"type":"user/message","data":{"id":"a","role":"user","content":[{"type":"tool-result","toolCallId":"c","content":[{"type":"tool-result","toolCallId":"c","content":[]}]}]}}`,
		"an unknown chunk":        `{"seq":0,"time":1,"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"smell"}}}`,
		"an unknown surfaceOp":    `{"seq":0,"time":1,"type":"user/message","data":{"id":"a","role":"user","content":[]},"surfaceOp":"prepend"}`,
		"a replace without end":   `{"seq":0,"time":1,"type":"user/message","data":{"id":"a","role":"user","content":[]},"surfaceOp":{"op":"replace","start":1}}`,
	} {
		var r Record
		require.Error(t, json.Unmarshal([]byte(line), &r), name)
	}
}

func TestNilPartsAreNotWritten(t *testing.T) {
	t.Parallel()
	for _, e := range []Event{nil, AssistantChunk{}, AssistantChunk{Chunk: BlockEnd{}}, UserMessage{Message{Content: Content{nil}}}} {
		_, err := json.Marshal(Record{Event: e})
		require.Error(t, err)
	}
}
