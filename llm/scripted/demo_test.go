package scripted_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
)

// quick is the demo model without pauses, in a process of its own.
func quick() *scripted.Provider {
	demo := scripted.Demo()
	demo.Pace = 0
	return scripted.New(scripted.Config{Default: demo})
}

func offering(names ...string) []session.ToolSchema {
	var out []session.ToolSchema
	for _, n := range names {
		out = append(out, session.ToolSchema{Name: n})
	}
	return out
}

var everything = offering("echo", "list_files", "now", "read_file", "write_file")

func TestTheDemoCallsTheToolThatFits(t *testing.T) {
	t.Parallel()
	tests := []struct{ asked, name, args string }{
		{"please echo 你好", "echo", `{"text":"你好"}`},
		{`Echo: "two words"`, "echo", `{"text":"two words"}`},
		{"What time is it?", "now", `{}`},
		{"tell me the time in Europe/Paris, please", "now", `{"zone":"Europe/Paris"}`},
		{"list files", "list_files", `{}`},
		{"Which files are there?", "list_files", `{}`},
		{"read README.md", "read_file", `{"path":"README.md"}`},
		{"please show me the file docs/notes.txt.", "read_file", `{"path":"docs/notes.txt"}`},
		{"write hello to the file a.txt", "write_file", `{"content":"hello\n","path":"a.txt"}`},
	}
	for _, tt := range tests {
		t.Run(tt.asked, func(t *testing.T) {
			t.Parallel()
			content := assemble(t, quick(), "m", llm.Request{Messages: []session.Message{user(tt.asked)}, Tools: everything})
			require.Equal(t, session.Content{session.ToolCallBlock{ID: "demo-1", Name: tt.name, Arguments: tt.args}}, content)
			require.Contains(t, said(t, quick(), "m", llm.Request{Messages: []session.Message{user(tt.asked)}}), "does not offer it")
		})
	}
}

func TestTheDemoReportsWhatAToolSaid(t *testing.T) {
	t.Parallel()
	tests := []struct{ tool, result, want string }{
		{"echo", "你好", "The echo tool says: 你好"},
		{"now", "2026-01-31T23:30:00Z", "It is 2026-01-31T23:30:00Z."},
		{"list_files", "a/\nb.txt 5 bytes\n", "The workspace holds:\na/\nb.txt 5 bytes"},
		{"read_file", "one\ntwo\n", "The file says:\none\ntwo"},
		{"weather", "sunny", "The weather tool says: sunny"},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			t.Parallel()
			history := []session.Message{user("go"), assistant(session.ToolCallBlock{ID: "c1", Name: tt.tool}), result("c1", tt.result)}
			require.Equal(t, tt.want, said(t, quick(), "m", llm.Request{Messages: history, Tools: everything}))
		})
	}
}

func TestTheDemoTellsOfAFailedTool(t *testing.T) {
	t.Parallel()
	failed := result("c1", "Error: no such zone")
	block := failed.Content[0].(session.ToolResultBlock)
	block.IsError = true
	failed.Content[0] = block
	history := []session.Message{user("go"), assistant(session.ToolCallBlock{ID: "c1", Name: "now"}), failed}
	require.Equal(t, "The now tool failed: Error: no such zone", said(t, quick(), "m", llm.Request{Messages: history}))
}

func TestTheDemoHearsWhatWasSteeredDuringATool(t *testing.T) {
	t.Parallel()
	history := []session.Message{
		user("echo one"), assistant(session.ToolCallBlock{ID: "c1", Name: "echo"}), result("c1", "one"), user("echo two"),
	}
	content := assemble(t, quick(), "m", llm.Request{Messages: history, Tools: everything})
	require.Equal(t, "The echo tool says: one", content.Text())
	require.Equal(t, []session.ToolCallBlock{{ID: "demo-4", Name: "echo", Arguments: `{"text":"two"}`}}, content.ToolCalls())
}

func TestTheDemoIsNotMisledBySnapshots(t *testing.T) {
	t.Parallel()
	snapshot := user("echo this is context, not a wish")
	snapshot.Source = session.Source{Kind: session.SourcePlugin, Plugin: "prompt", Form: "snapshot"}
	text := said(t, quick(), "m", llm.Request{Messages: []session.Message{user("hello"), snapshot}, Tools: everything})
	require.Contains(t, text, "scripted demo model")
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"} {
		require.Contains(t, text, key)
	}
}

func TestTheDemoIsAFunctionOfTheRequest(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"echo x", "hello", "count to 3", ""} {
		req := llm.Request{Messages: []session.Message{user(asked)}, Tools: everything}
		first := trace(open(t, quick(), "m", req)(t.Context()))
		p := quick()
		for range 2 {
			require.Equal(t, first, trace(open(t, p, "m", req)(t.Context())))
		}
	}
}

func TestTheDemoStreamsWordByWord(t *testing.T) {
	t.Parallel()
	text := trace(open(t, quick(), "m", llm.Request{Messages: []session.Message{
		user("go"), assistant(session.ToolCallBlock{ID: "c1", Name: "echo"}), result("c1", "hi"),
	}})(t.Context()))
	require.Contains(t, text, `text0 "The " | text0 "echo " | text0 "tool " | text0 "says: " | text0 "hi" | end0 {The echo tool says: hi}`)
}

func TestTheDemoKeepsLongAnswersShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 10_000)
	stream := open(t, quick(), "m", llm.Request{Messages: []session.Message{
		user("go"), assistant(session.ToolCallBlock{ID: "c1", Name: "read_file"}), result("c1", long),
	}})
	text := trace(stream(t.Context()))
	require.LessOrEqual(t, strings.Count(text, " | "), 125)
	require.Contains(t, text, "more characters")
}

func TestTheDemoCountsSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted.New(scripted.Config{})
		start := time.Now()
		require.Equal(t, "1 2 3 Done.", said(t, p, "m", llm.Request{Messages: []session.Message{user("Count to 3")}}))
		require.Equal(t, 3*15*20*time.Millisecond, time.Since(start), "a person can interrupt it")
	})
	require.Contains(t, said(t, quick(), "m", llm.Request{Messages: []session.Message{user("count to 99999999999999999999")}}), "1000 at most")
	require.Equal(t, "Done.", said(t, quick(), "m", llm.Request{Messages: []session.Message{user("count to 0")}}))
}

func TestTheDemoGoesThroughAWholeConversation(t *testing.T) {
	t.Parallel()
	history := []session.Message{user("please echo 你好")}
	call := assemble(t, quick(), "m", llm.Request{Messages: history, Tools: everything})
	history = append(history, assistant(call...), result(call.ToolCalls()[0].ID, "你好"))
	answer := assemble(t, quick(), "m", llm.Request{Messages: history, Tools: everything})
	require.Equal(t, "The echo tool says: 你好", answer.Text())
	history = append(history, assistant(answer...), user("thanks"))
	require.Contains(t, said(t, quick(), "m", llm.Request{Messages: history, Tools: everything}), "demo model")
	require.Equal(t, "demo-1", call.ToolCalls()[0].ID, fmt.Sprint(call))
}
