package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Requests compares the body of each kind of request with a golden file in dir; update writes the files instead.
// Each request is made twice: the same request must give the same bytes.
func Requests(t *testing.T, h Harness, dir string, update bool) {
	for _, c := range requests() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			compare(t, filepath.Join(dir, c.name+".json"), h.body(t, c), update)
		})
	}
}

func compare(t *testing.T, path string, got []byte, update bool) {
	t.Helper()
	if update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	require.Equal(t, string(want), string(got))
}

// body is what the provider sends for a case.
func (h Harness) body(t *testing.T, c request) []byte {
	t.Helper()
	s := &Server{Wire: h.Wire, Frames: h.Wire.Frames(Answer{Blocks: []Piece{said("Hello")}, End: EndStop})}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	provider := h.New(t, web.URL, llm.NewSecret(Key))
	c.config.Provider, c.config.Model = provider.Name(), h.Model
	call, err := provider.Prepare(t.Context(), c.config)
	require.NoError(t, err)
	req := llm.Request{Session: "session-1", Config: call.Config, System: c.system, Tools: c.tools, Messages: c.messages(provider.Name(), h.Model)}
	for range 2 {
		got := collect(llm.Stream(t.Context(), call, req))
		require.NoError(t, got.Err)
		require.Nil(t, got.Finish.Reason.Failure)
	}
	bodies, _ := s.calls()
	require.Equal(t, bodies[0], bodies[1])
	require.NotContains(t, bodies[0], Key)
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, []byte(bodies[0]), "", "  "))
	return append(out.Bytes(), '\n')
}

// A request is a kind of request whose body is worth looking at.
type request struct {
	name     string
	config   session.CallConfig
	system   string
	tools    []session.ToolSchema
	messages func(provider, model string) []session.Message
}

func requests() []request {
	half := 0.5
	hello := func(string, string) []session.Message { return []session.Message{user("m1", "Hello")} }
	return []request{
		{name: "plain", messages: hello},
		{name: "settings", system: "Be brief.", messages: hello,
			config: session.CallConfig{Temperature: &half, MaxTokens: 2048, Stop: []string{"END", "\n\n"}}},
		{name: "effort-high", messages: hello, config: session.CallConfig{ReasoningEffort: "high"}},
		{name: "effort-off", messages: hello, config: session.CallConfig{ReasoningEffort: "off"}},
		{name: "tools", system: "Use the tools.", tools: schemas(), messages: hello},
		{name: "tool-loop", system: "Use the tools.", tools: schemas(), messages: toolLoop},
		{name: "foreign-reasoning", messages: func(string, string) []session.Message { return toolLoop("elsewhere", "other") }},
		{name: "interrupted", messages: interrupted},
		{name: "odd-content", messages: oddContent},
	}
}

func schemas() []session.ToolSchema {
	return []session.ToolSchema{
		{Name: "look", Description: "Looks at a <place>.", Parameters: json.RawMessage(
			`{"type":"object","required":["where"],"properties":{"where":{"type":"string","description":"a place"},"deep":{"type":"integer","maximum":9007199254740993}},"additionalProperties":false}`)},
		{Name: "now"},
	}
}

func assistant(id, provider, model string, replay []string, content ...session.Block) session.Message {
	m := session.Message{ID: id, Role: session.RoleAssistant, Content: content,
		Source: session.Source{Kind: session.SourceModel, Provider: provider, Model: model}}
	if replay != nil {
		m.Source.Replay = &session.ReplayState{}
		for _, r := range replay {
			m.Source.Replay.Blocks = append(m.Source.Replay.Blocks, json.RawMessage(r))
		}
	}
	return m
}

func result(id, call string, isError bool, content ...session.Block) session.Message {
	return session.Message{ID: id, Role: session.RoleUser, Source: session.Source{Kind: session.SourceTool, CallID: call},
		Content: session.Content{session.ToolResultBlock{ToolCallID: call, Content: content, IsError: isError}}}
}

// toolLoop is a turn with tools that was steered in the middle, and the turn after it.
func toolLoop(provider, model string) []session.Message {
	return []session.Message{
		user("m1", "What is the sky like?"),
		assistant("m2", provider, model, []string{`{"signature":"sig-1"}`, `null`, `null`, `null`},
			session.Reasoning{Text: "I must look."}, session.Text{Text: "Looking."},
			session.ToolCallBlock{ID: "c1", Name: "look", Arguments: `{"where": "up"}`},
			session.ToolCallBlock{ID: "c2", Name: "now", Arguments: ""}),
		result("m3", "c1", false, session.Text{Text: "It is blue."}),
		user("m4", "Hurry."),
		result("m5", "c2", true, session.Text{Text: "The clock is broken."}),
		assistant("m6", provider, model, []string{`{"redactedThinking":"opaque"}`, `null`},
			session.Reasoning{}, session.Text{Text: "Blue."}),
		user("m7", "Thanks."),
		assistant("m8", provider, model, []string{`{"signature":"sig-2"}`, `null`},
			session.Reasoning{Text: "Be polite."}, session.Text{Text: "Welcome."}),
		user("m9", "Bye."),
	}
}

// interrupted is an answer that was cut: its content no longer fits its replay state.
func interrupted(provider, model string) []session.Message {
	return []session.Message{
		user("m1", "Tell me."),
		assistant("m2", provider, model, []string{`{"signature":"sig-1"}`, `null`, `null`},
			session.Reasoning{Text: "Well."}, session.Text{Text: "Once up"}),
		user("m3", "Go on."),
	}
}

// oddContent is what a route must cope with.
func oddContent(provider, model string) []session.Message {
	picture := session.Image{Attachment: "0a1b", MediaType: "image/png", Bytes: 3}
	return []session.Message{
		{ID: "m1", Role: session.RoleUser, Content: session.Content{session.Text{Text: "See"}, picture, session.Text{Text: "this"}}},
		assistant("m2", provider, model, nil, session.ToolCallBlock{ID: "c1", Name: "look", Arguments: `{"where": up`}, session.ToolCallBlock{ID: "c2", Name: "look", Arguments: `["list"]`}),
		result("m3", "c1", false),
		result("m4", "c2", false, session.Text{Text: " "}, picture, session.Artifact{SHA256: "ff", Bytes: 70000, MediaType: "text/plain"}),
		{ID: "m5", Role: session.RoleSystem, Content: session.TextContent("You are now terse."), Source: session.Source{Kind: session.SourcePlugin}},
		user("m6", ""),
		assistant("m7", provider, model, nil, session.Text{Text: ""}),
		user("m8", "<b>&amp;</b> \u2028 “quoted”"),
	}
}
