package scripted_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
)

func user(text string) session.Message {
	return session.Message{Role: session.RoleUser, Content: session.TextContent(text), Source: session.Source{Kind: session.SourceUser}}
}

func assistant(content ...session.Block) session.Message {
	return session.Message{Role: session.RoleAssistant, Content: content, Source: session.Source{Kind: session.SourceModel}}
}

func result(callID, text string) session.Message {
	block := session.ToolResultBlock{ToolCallID: callID, Content: session.TextContent(text)}
	return session.Message{Role: session.RoleUser, Content: session.Content{block}, Source: session.Source{Kind: session.SourceTool, CallID: callID}}
}

// said is the text of a whole answer.
func said(t *testing.T, p llm.Provider, model string, req llm.Request) string {
	t.Helper()
	return assemble(t, p, model, req).Text()
}

func assemble(t *testing.T, p llm.Provider, model string, req llm.Request) session.Content {
	t.Helper()
	var a session.Assembler
	for c, err := range open(t, p, model, req)(t.Context()) {
		require.NoError(t, err)
		a.Add(c)
	}
	content, _ := a.Message()
	return content
}

func TestPrepareFillsInTheDefaultsOfTheRoute(t *testing.T) {
	t.Parallel()
	retry := llm.RetryPolicy{Mode: llm.Always}
	p := scripted.New(scripted.Config{Models: map[string]scripted.Model{
		"plain": {},
		"rich": {
			ContextWindow: 500, SystemPromptUpdate: true, Images: true, Retry: retry, Idle: time.Second,
			MaxTokens: 8192, ReasoningEffort: "high",
		},
		"silent": {ContextWindow: -1},
	}})
	prepare := func(c session.CallConfig) *llm.Prepared {
		c.Provider = "scripted"
		call, err := p.Prepare(t.Context(), c)
		require.NoError(t, err)
		call.Stream = nil // not comparable
		return call
	}
	require.Equal(t, &llm.Prepared{
		Config:        session.CallConfig{Provider: "scripted", Model: "plain"},
		ContextWindow: scripted.DefaultContextWindow,
	}, prepare(session.CallConfig{Model: "plain"}))
	require.Equal(t, &llm.Prepared{
		Config:             session.CallConfig{Provider: "scripted", Model: "rich", MaxTokens: 8192, ReasoningEffort: "high"},
		Defaults:           &session.AdapterDefaults{MaxTokens: true, ReasoningEffort: true},
		ContextWindow:      500,
		SystemPromptUpdate: true,
		Images:             true,
		Retry:              retry,
		Idle:               time.Second,
	}, prepare(session.CallConfig{Model: "rich"}))
	require.Equal(t, &session.AdapterDefaults{ReasoningEffort: true}, prepare(session.CallConfig{Model: "rich", MaxTokens: 1}).Defaults)
	require.Nil(t, prepare(session.CallConfig{Model: "rich", MaxTokens: 1, ReasoningEffort: "low"}).Defaults)
	require.Zero(t, prepare(session.CallConfig{Model: "silent"}).ContextWindow)
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Name: "other", Models: map[string]scripted.Model{
		"known":  {},
		"broken": {PrepareFailure: &session.Failure{Code: "MISSING_CREDENTIAL", Message: "no key"}},
	}})
	require.Equal(t, "other", p.Name())
	tests := []struct {
		name            string
		provider, model string
		want            llm.Code
	}{
		{"a model it does not have", "other", "unknown", llm.NoAdapter},
		{"a route of another provider", "scripted", "known", llm.NoAdapter},
		{"a model that cannot be prepared", "other", "broken", llm.MissingCredential},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := p.Prepare(t.Context(), session.CallConfig{Provider: tt.provider, Model: tt.model})
			require.Equal(t, string(tt.want), llm.FailureOf(err).Code)
		})
	}
}

func TestTheZeroConfigServesTheDemo(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Sleep: func(context.Context, time.Duration) error { return nil }})
	require.Contains(t, said(t, p, "anything", llm.Request{Messages: []session.Message{user("hello")}}), "scripted demo model")
}

func TestTheNthRequestGetsTheNthLine(t *testing.T) {
	t.Parallel()
	script := scripted.MustParse("text \"one\"\ntext \"two\"")
	p := scripted.New(scripted.Config{Models: map[string]scripted.Model{"a": {Script: script}, "b": {Script: script}}})
	require.Equal(t, "one", said(t, p, "a", llm.Request{Session: "s"}))
	require.Equal(t, "one", said(t, p, "a", llm.Request{Session: "t"}), "sessions count on their own")
	require.Equal(t, "one", said(t, p, "b", llm.Request{Session: "s"}), "models count on their own")
	require.Equal(t, "two", said(t, p, "a", llm.Request{Session: "s"}))
	require.Equal(t, "!INVALID_REQUEST the script has no answer for request 3", trace(open(t, p, "a", llm.Request{Session: "s"})(t.Context())))
}

func TestByHistoryANewProcessGoesOn(t *testing.T) {
	t.Parallel()
	config := scripted.Config{Default: scripted.Model{Script: scripted.MustParse("text \"one\"\ntext \"two\""), Position: scripted.ByHistory}}
	history := []session.Message{user("a")}
	require.Equal(t, "one", said(t, scripted.New(config), "m", llm.Request{Messages: history}))
	require.Equal(t, "one", said(t, scripted.New(config), "m", llm.Request{Messages: history}), "a retry repeats its line")
	history = append(history, assistant(session.Text{Text: "one"}), user("b"))
	require.Equal(t, "two", said(t, scripted.New(config), "m", llm.Request{Messages: history}))
	history = append(history, assistant(session.Text{Text: "two"}), user("c"))
	require.Equal(t, "!INVALID_REQUEST the script has no answer for request 3",
		trace(open(t, scripted.New(config), "m", llm.Request{Messages: history})(t.Context())))
}

func TestPreparingIsNotARequest(t *testing.T) {
	t.Parallel()
	p := one("text \"one\"")
	for range 3 {
		open(t, p, "m", llm.Request{})
	}
	require.Equal(t, "one", said(t, p, "m", llm.Request{}))
}

func TestDelaysTakeTheirTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.Equal(t, "ab", said(t, one(`text "a" delay 20ms text "b" delay 1s`), "m", llm.Request{}))
		require.Equal(t, 1020*time.Millisecond, time.Since(start))
	})
}

func TestThePaceIsBetweenDeltas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := scripted.New(scripted.Config{Default: scripted.Model{Pace: time.Second, Script: scripted.MustParse(`text "abcd" chunks=4`)}})
		require.Equal(t, "abcd", said(t, p, "m", llm.Request{}))
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestADelayEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		require.Equal(t, `text0 "a" | end0 {a} | !TIMEOUT the call ran out of time: context deadline exceeded`,
			trace(open(t, one(`text "a" delay 1h text "b"`), "m", llm.Request{})(ctx)))
		require.Equal(t, time.Second, time.Since(start))
	})
}

func TestNothingIsSentAfterTheContextEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for c, err := range open(t, one(`text "abc" chunks=3`), "m", llm.Request{})(ctx) {
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		got = append(got, chunkText(c))
		cancel()
	}
	require.Equal(t, []string{`text0 "a"`}, got)
}

func TestALoopCanBeLeft(t *testing.T) {
	t.Parallel()
	p := one("text \"abc\" chunks=3 hold never\ntext \"next\"")
	for range open(t, p, "m", llm.Request{})(t.Context()) {
		break
	}
	require.Zero(t, p.Probes().Held("never"))
	require.Equal(t, "next", said(t, p, "m", llm.Request{}))
}

func TestTheGuardedStreamOfTheAgentPlaysAScript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := one(`text "a" hold h text "b"`)
		call, err := p.Prepare(t.Context(), session.CallConfig{Provider: "scripted", Model: "m"})
		require.NoError(t, err)
		call.Idle = time.Minute
		require.Equal(t, `text0 "a" | end0 {a} | finish error TIMEOUT the model sent nothing for 1m0s`,
			trace(llm.Stream(t.Context(), call, llm.Request{})))
		require.Zero(t, p.Probes().Held("h"), "the watchdog let it go")
	})
}
