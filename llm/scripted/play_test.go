package scripted_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
)

// open prepares a request of a model and returns its stream.
func open(t *testing.T, p llm.Provider, model string, req llm.Request) func(context.Context) iter.Seq2[session.Chunk, error] {
	t.Helper()
	req.Config = session.CallConfig{Provider: p.Name(), Model: model}
	call, err := p.Prepare(t.Context(), req.Config)
	require.NoError(t, err)
	return func(ctx context.Context) iter.Seq2[session.Chunk, error] { return call.Stream(ctx, req) }
}

// one is a provider whose model "m" plays a script.
func one(script string) *scripted.Provider {
	return scripted.New(scripted.Config{Models: map[string]scripted.Model{"m": {Script: scripted.MustParse(script)}}})
}

// trace writes a stream in short: one word per chunk, an error at the end.
func trace(stream iter.Seq2[session.Chunk, error]) string {
	var out []string
	for c, err := range stream {
		if err != nil {
			out = append(out, "!"+failureText(llm.FailureOf(err)))
			continue
		}
		out = append(out, chunkText(c))
	}
	return strings.Join(out, " | ")
}

func chunkText(c session.Chunk) string {
	switch c := c.(type) {
	case session.BlockStart:
		return fmt.Sprintf("start%d %s", c.Index, c.BlockType)
	case session.TextDelta:
		return fmt.Sprintf("text%d %q", c.Index, c.Text)
	case session.ReasoningDelta:
		return fmt.Sprintf("reasoning%d %q", c.Index, c.Text)
	case session.ToolCallDelta:
		return fmt.Sprintf("tool%d %s/%s %s", c.Index, c.ID, c.Name, c.ArgumentsDelta)
	case session.BlockEnd:
		return fmt.Sprintf("end%d %v", c.Index, c.Block)
	case session.UsageChunk:
		return fmt.Sprintf("usage %v", c.Usage)
	case session.Finish:
		return finishText(c)
	}
	return fmt.Sprintf("%T", c)
}

func finishText(f session.Finish) string {
	text := "finish " + string(f.Reason.Kind)
	if f.Reason.Failure != nil {
		text += " " + failureText(*f.Reason.Failure)
	}
	if f.Replay != nil {
		text += fmt.Sprintf(" replay %s", f.Replay.Blocks)
	}
	return text
}

func failureText(f session.Failure) string {
	text := f.Code + " " + f.Message
	if f.Status != 0 || f.ProviderRetryAfterMS != 0 || f.RequestID != "" {
		text += fmt.Sprintf(" (%d %dms %s)", f.Status, f.ProviderRetryAfterMS, f.RequestID)
	}
	return text
}

func TestALineIsAnAnswer(t *testing.T) {
	t.Parallel()
	const usage = "usage {10 5 0 0 0}"
	tests := []struct{ name, line, want string }{
		{"a text is four chunks", `text "ok"`,
			`text0 "ok" | end0 {ok} | ` + usage + ` | finish stop`},
		{"a tool call is four chunks", `tool c1 echo {"text": "hi"}`,
			`tool0 c1/echo {"text": "hi"} | end0 {c1 echo {"text": "hi"}} | ` + usage + ` | finish tool-calls`},
		{"a text in several deltas", `text "hello world" chunks=3`,
			`text0 "hel" | text0 "lo w" | text0 "orld" | end0 {hello world} | ` + usage + ` | finish stop`},
		{"deltas never cut a character", `text "你好吗" chunks=2`,
			`text0 "你" | text0 "好吗" | end0 {你好吗} | ` + usage + ` | finish stop`},
		{"an empty text", `text ""`,
			`text0 "" | end0 {} | ` + usage + ` | finish stop`},
		{"escapes in a string", `text "a\"b\n\u4f60"`,
			`text0 "a\"b\n你" | end0 {a"b` + "\n" + `你} | ` + usage + ` | finish stop`},
		{"reasoning before text", `reasoning "hm" text "ok"`,
			`reasoning0 "hm" | end0 {hm} | text1 "ok" | end1 {ok} | ` + usage + ` | finish stop`},
		{"text before two tool calls", `text "let me" tool c1 echo {} tool c2 now {}`,
			`text0 "let me" | end0 {let me} | tool1 c1/echo {} | end1 {c1 echo {}} | tool2 c2/now {} | end2 {c2 now {}} | ` + usage + ` | finish tool-calls`},
		{"a tool call in several deltas", `tool c1 echo {"a":1} chunks=2`,
			`tool0 c1/echo {"a | tool0 c1/ ":1} | end0 {c1 echo {"a":1}} | ` + usage + ` | finish tool-calls`},
		{"arguments that are no JSON", `tool c1 echo "not json"`,
			`tool0 c1/echo not json | end0 {c1 echo not json} | ` + usage + ` | finish tool-calls`},
		{"arguments that are empty", `tool c1 echo ""`,
			`tool0 c1/echo  | end0 {c1 echo } | ` + usage + ` | finish tool-calls`},
		{"a call without id and name", `tool - - {}`,
			`tool0 / {} | end0 {  {}} | ` + usage + ` | finish tool-calls`},
		{"a block that stays open", `text "half" open cut`,
			`text0 "half"`},
		{"a tool call that stays open", `tool c1 echo "{\"te" open max-tokens`,
			`tool0 c1/echo {"te | ` + usage + ` | finish max-tokens`},
		{"nothing visible", `whitespace`,
			`text0 " \n\t" | end0 { ` + "\n\t" + `} | ` + usage + ` | finish stop`},
		{"a text cut at the ceiling", `text "part" max-tokens`,
			`text0 "part" | end0 {part} | ` + usage + ` | finish max-tokens`},
		{"a finish of another kind", `text "x" tool-calls`,
			`text0 "x" | end0 {x} | ` + usage + ` | finish tool-calls`},
		{"a tool call that stops", `tool c1 echo {} stop`,
			`tool0 c1/echo {} | end0 {c1 echo {}} | ` + usage + ` | finish stop`},
		{"an error as a finish", `error RATE_LIMIT "slow down" retry-after=2s status=429 request-id=r-1`,
			`finish error RATE_LIMIT slow down (429 2000ms r-1)`},
		{"an error after a text", `text "par" error SERVER`,
			`text0 "par" | end0 {par} | finish error SERVER scripted failure SERVER`},
		{"an error of the stream", `text "par" throw SERVER "boom"`,
			`text0 "par" | end0 {par} | !SERVER boom`},
		{"an error before any chunk", `fail-start TRANSPORT`,
			`!TRANSPORT scripted failure TRANSPORT`},
		{"an abort of the provider", `abort`,
			`finish aborted ABORTED the provider aborted the answer`},
		{"an abort with its reason", `text "x" abort "drained"`,
			`text0 "x" | end0 {x} | finish aborted ABORTED drained`},
		{"only a finish", `empty`, `finish stop`},
		{"no chunk at all", `none`, ``},
		{"no finish", `text "x" cut`, `text0 "x" | end0 {x}`},
		{"usage where it stands", `reasoning "hm" usage 7 8 cache-read=1 cache-write=2 reasoning=3 text "x"`,
			`reasoning0 "hm" | end0 {hm} | usage {7 8 1 2 3} | text1 "x" | end1 {x} | finish stop`},
		{"usage of a failed answer", `usage 1 2 error SERVER "x"`,
			`usage {1 2 0 0 0} | finish error SERVER x`},
		{"no usage", `text "ok" no-usage`, `text0 "ok" | end0 {ok} | finish stop`},
		{"no usage, said last", `text "ok" stop no-usage`, `text0 "ok" | end0 {ok} | finish stop`},
		{"a replay state", `text "ok" no-usage replay {"blocks":[null,{"sig":1}]}`,
			`text0 "ok" | end0 {ok} | finish stop replay [null {"sig":1}]`},
		{"any chunk as it is", `chunk {"type":"block-start","index":3,"blockType":"text"} text "x" no-usage`,
			`start3 text | text4 "x" | end4 {x} | finish stop`},
		{"a finish chunk as it is", `chunk {"type":"finish","reason":{"kind":"error","failure":{"message":"m","code":"OTHER"}}}`,
			`finish error OTHER m`},
		{"a comment", `text "a # b" # not "this"`,
			`text0 "a # b" | end0 {a # b} | ` + usage + ` | finish stop`},
		{"only usage", `usage 1 2`, `usage {1 2 0 0 0} | finish stop`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, trace(open(t, one(tt.line), "m", llm.Request{})(t.Context())))
		})
	}
}

func TestEveryFinishAndFailureCanBeScripted(t *testing.T) {
	t.Parallel()
	for _, kind := range []session.FinishKind{session.FinishStop, session.FinishToolCalls, session.FinishMaxTokens} {
		require.Contains(t, trace(open(t, one(string(kind)), "m", llm.Request{})(t.Context())), "finish "+string(kind))
	}
	for _, code := range []llm.Code{
		llm.Auth, llm.Quota, llm.RateLimit, llm.ContextWindowExceeded, llm.InvalidRequest, llm.Server, llm.Transport,
		llm.Timeout, llm.Aborted, llm.StreamClosed, llm.MalformedResponse, llm.EmptyResponse, llm.MissingCredential,
		llm.UnsupportedContent, llm.NoAdapter, llm.Unknown,
	} {
		for _, word := range []string{"error", "throw", "fail-start"} {
			require.Contains(t, trace(open(t, one(word+" "+string(code)), "m", llm.Request{})(t.Context())), string(code))
		}
	}
}

func TestParseErrorsSayWhereAndWhat(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script, want string }{
		{"an unknown word", "text \"a\"\n\n  shout \"b\"", `script line 3, column 3: expected text, reasoning, tool, whitespace, usage, no-usage, chunk, replay, hold, delay, stop, tool-calls, max-tokens, error, abort, throw, fail-start, empty, cut or none, got "shout"`},
		{"a missing string", `text`, `script line 1, column 5: expected the text in double quotes, got the end of the line`},
		{"a word instead of a string", `text hello`, `column 6: expected the text in double quotes, got "hello"`},
		{"a string that does not end", `text "hello`, `column 12: expected the text: the JSON value does not end`},
		{"a bad escape", `text "你\q"`, `column 9: expected the text: not a JSON value, got "q\""`},
		{"no blank after a string", `text "a"chunks=1`, `column 9: expected a blank after the text`},
		{"no call id", `tool`, `column 5: expected the call id`},
		{"no tool name", `tool c1`, `column 8: expected the tool name`},
		{"no arguments", `tool c1 echo`, `column 13: expected the arguments (JSON such as {}, or raw text in double quotes)`},
		{"broken arguments", `tool c1 echo {"a":}`, `column 19: expected the arguments`},
		{"chunks without a number", `text "abc" chunks=x`, `column 19: expected chunks: a whole number, got "x"`},
		{"no chunks at all", `text "abc" chunks=0`, `column 19: expected chunks from 1 to 3, the characters of the block, got "0"`},
		{"more chunks than characters", `text "abc" chunks=4`, `expected chunks from 1 to 3`},
		{"an option nobody knows", `text "abc" pieces=2`, `column 12: expected text, reasoning`},
		{"usage without numbers", `usage 10`, `column 9: expected output tokens: a whole number`},
		{"negative usage", `usage -1 5`, `column 7: expected input tokens: a whole number, got "-1"`},
		{"an unknown failure code", `error OOPS`, `column 7: expected a failure code: one of [AUTH QUOTA`},
		{"no failure code", `throw`, `column 6: expected a failure code`},
		{"a bad wait", `error SERVER retry-after=soon`, `column 26: expected a time to wait such as 20ms, got "soon"`},
		{"a bad status", `error SERVER status=999999`, `column 21: expected an HTTP status`},
		{"a piece after the end", `max-tokens text "x"`, `column 12: expected nothing after the end of the answer, got "text"`},
		{"fail-start after a block", `text "x" fail-start SERVER`, `column 10: expected fail-start before any block`},
		{"empty after a block", `text "x" empty`, `column 10: expected empty before any block or usage`},
		{"none after usage", `usage 1 2 none`, `column 11: expected none before any block or usage`},
		{"a hold without a name", `hold`, `column 5: expected the name of the hold`},
		{"a hold with an empty name", `hold ""`, `column 6: expected the name of the hold`},
		{"a delay without a unit", `delay 20`, `column 7: expected a delay such as 20ms, got "20"`},
		{"a negative delay", `delay -1s`, `column 7: expected a delay such as 20ms`},
		{"a chunk of an unknown type", `chunk {"type":"x"}`, `column 7: expected a chunk as a JSON object (chunk: unknown type "x")`},
		{"a replay state that is none", `replay null`, `column 8: expected the replay state as a JSON object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Parse(tt.script)
			var syntax *scripted.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestParseAnswerWantsOneLine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing", "text \"a\"\ntext \"b\""} {
		_, err := scripted.ParseAnswer(text)
		require.ErrorContains(t, err, "one line")
	}
	answer, err := scripted.ParseAnswer("\n text \"a\" # one\n")
	require.NoError(t, err)
	require.Equal(t, scripted.Text("a"), answer)
	require.Panics(t, func() { scripted.MustParse("nonsense") })
}

func TestGoldenScriptIsFourChunksPerAnswer(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Default: scripted.Model{Script: scripted.Golden()}})
	require.Len(t, scripted.Golden(), 3)
	for range 3 {
		n := 0
		for _, err := range open(t, p, "any", llm.Request{Session: "sess-loop"})(t.Context()) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 4, n)
	}
}

func TestAReaderCannotChangeTheScript(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Default: scripted.Model{
		Script:   scripted.MustParse(`error SERVER "as written" replay {"blocks":[1]}`),
		Position: scripted.ByHistory,
	}})
	for range 2 {
		for c := range open(t, p, "m", llm.Request{})(t.Context()) {
			finish := c.(session.Finish)
			require.Equal(t, "as written", finish.Reason.Failure.Message)
			require.Equal(t, "1", string(finish.Replay.Blocks[0]))
			finish.Reason.Failure.Message = "changed"
			finish.Replay.Blocks[0][0] = '2'
		}
	}
}
