package anthropic_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/anthropic"
	"github.com/everturn/everturn/session"
)

func provider(t *testing.T, config anthropic.Config) *anthropic.Provider {
	t.Helper()
	if config.APIKey.IsZero() {
		config.APIKey = llm.NewSecret("k")
	}
	p, err := anthropic.New(config)
	require.NoError(t, err)
	return p
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"an address that is none":   "http://\x00",
		"an address without a host": "localhost",
		"a password in the address": "http://me:s3cret@host",
		"a key in the address":      "http://host?key=s3cret",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := anthropic.New(anthropic.Config{BaseURL: url})
			require.ErrorContains(t, err, "BaseURL")
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestAMissingKey(t *testing.T) {
	t.Parallel()
	p, err := anthropic.New(anthropic.Config{})
	require.NoError(t, err)
	_, err = p.Prepare(t.Context(), session.CallConfig{Model: "claude-opus-5"})
	require.Equal(t, string(llm.MissingCredential), llm.FailureOf(err).Code)
	require.ErrorContains(t, err, "set ANTHROPIC_API_KEY ")

	own, err := anthropic.New(anthropic.Config{BaseURL: "http://localhost:8080"})
	require.NoError(t, err)
	_, err = own.Prepare(t.Context(), session.CallConfig{Model: "m"})
	require.NoError(t, err)
}

func TestPrepareFillsInTheOutput(t *testing.T) {
	t.Parallel()
	mine := map[string]anthropic.Model{"mine": {ContextWindow: 10_000, MaxOutput: 1_000, Thinking: anthropic.Budget}}
	for model, c := range map[string]struct {
		asked, want, window int
		defaults            *session.AdapterDefaults
	}{
		"claude-opus-5":             {0, 32_000, 1_000_000, &session.AdapterDefaults{MaxTokens: true}},
		"claude-haiku-4-5-20251001": {0, 32_000, 200_000, &session.AdapterDefaults{MaxTokens: true}},
		"claude-sonnet-4-5":         {500, 500, 200_000, nil},
		"claude-of-the-future":      {0, 32_000, 0, &session.AdapterDefaults{MaxTokens: true}},
		"something-else-altogether": {0, 8_192, 0, &session.AdapterDefaults{MaxTokens: true}},
		"mine":                      {0, 1_000, 10_000, &session.AdapterDefaults{MaxTokens: true}},
		"claude-opus-4-5-20251101":  {64_000, 64_000, 200_000, nil},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			got, err := provider(t, anthropic.Config{Models: mine}).Prepare(t.Context(), session.CallConfig{Model: model, MaxTokens: c.asked})
			require.NoError(t, err)
			require.Equal(t, c.want, got.Config.MaxTokens)
			require.Equal(t, c.window, got.ContextWindow)
			require.Equal(t, c.defaults, got.Defaults)
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config session.CallConfig
		want   string
	}{
		"an effort nobody knows":            {session.CallConfig{Model: "claude-opus-5", ReasoningEffort: "huge"}, "off, low, medium, high, xhigh, max"},
		"more output than the model writes": {session.CallConfig{Model: "claude-opus-4-5", MaxTokens: 70_000}, "at most 64000 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := provider(t, anthropic.Config{}).Prepare(t.Context(), c.config)
			require.Equal(t, string(llm.InvalidRequest), llm.FailureOf(err).Code)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheKeyDoesNotPrint(t *testing.T) {
	t.Parallel()
	config := anthropic.Config{APIKey: llm.NewSecret("sk-s3cret")}
	p := provider(t, config)
	call, err := p.Prepare(t.Context(), session.CallConfig{Model: "m"})
	require.NoError(t, err)
	for _, v := range []any{config, &config, p, *p, call} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", v, v, v), "s3cret")
	}
}
