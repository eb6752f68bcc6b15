package openai_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/openai"
	"github.com/everturn/everturn/session"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config openai.Config
		want   string
	}{
		"a name nobody knows without an address": {openai.Config{Name: "lab"}, "BaseURL is empty"},
		"an address that is none":                {openai.Config{BaseURL: "http://\x00"}, "not a URL"},
		"an address without a host":              {openai.Config{BaseURL: "localhost:8000"}, "not an http or https address"},
		"a password in the address":              {openai.Config{BaseURL: "http://me:s3cret@host/v1"}, "put the credential into APIKey"},
		"a key in the address":                   {openai.Config{BaseURL: "http://host/v1?key=s3cret"}, "put the credential into APIKey"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openai.New(c.config)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestAMissingKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config openai.Config
		env    string // "" means that none is missed
	}{
		"of OpenAI":                {openai.Config{}, "OPENAI_API_KEY"},
		"of DeepSeek":              {openai.Config{Name: "deepseek"}, "DEEPSEEK_API_KEY"},
		"of a named variable":      {openai.Config{KeyEnv: "MY_KEY"}, "MY_KEY"},
		"of a vendor by address":   {openai.Config{Name: "my-router", BaseURL: "https://openrouter.ai/api/v1"}, "MY_ROUTER_API_KEY"},
		"of a local server":        {openai.Config{Name: "ollama"}, ""},
		"of a server of one's own": {openai.Config{Name: "openai", BaseURL: "http://10.0.0.7:8000/v1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := openai.New(c.config)
			require.NoError(t, err)
			_, err = p.Prepare(t.Context(), session.CallConfig{Provider: p.Name(), Model: "m"})
			if c.env == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, string(llm.MissingCredential), llm.FailureOf(err).Code)
			require.ErrorContains(t, err, "set "+c.env+" ")
		})
	}
}

func TestPrepareKnowsTheRoute(t *testing.T) {
	t.Parallel()
	key := llm.NewSecret("k")
	mine := map[string]openai.Model{"gpt-5.1": {ContextWindow: 7}, "mine": {ContextWindow: 9, Images: true}}
	for name, c := range map[string]struct {
		config openai.Config
		model  string
		want   llm.Prepared
	}{
		"a known model":      {openai.Config{APIKey: key}, "gpt-5.1", llm.Prepared{ContextWindow: 400_000, SystemPromptUpdate: true}},
		"a frozen version":   {openai.Config{APIKey: key}, "gpt-4.1-2025-04-14", llm.Prepared{ContextWindow: 1_047_576, SystemPromptUpdate: true}},
		"an unknown model":   {openai.Config{APIKey: key}, "gpt-99", llm.Prepared{SystemPromptUpdate: true}},
		"a model told about": {openai.Config{APIKey: key, Models: mine, Images: load}, "mine", llm.Prepared{ContextWindow: 9, Images: true, SystemPromptUpdate: true}},
		"a model told about otherwise": {openai.Config{APIKey: key, Models: mine}, "gpt-5.1",
			llm.Prepared{ContextWindow: 7, SystemPromptUpdate: true}},
		"a local server that keeps the name": {openai.Config{BaseURL: "http://localhost:11434/v1"}, "gpt-5.1", llm.Prepared{}},
		"a proxy in front of OpenAI": {openai.Config{BaseURL: "http://proxy/v1", Dialect: openai.OpenAI}, "gpt-5.1",
			llm.Prepared{ContextWindow: 400_000, SystemPromptUpdate: true}},
		"a server of one's own": {openai.Config{Name: "lab", BaseURL: "http://lab/v1", Idle: time.Minute, Retry: llm.RetryPolicy{Retries: 2}}, "gpt-5.1",
			llm.Prepared{Idle: time.Minute, Retry: llm.RetryPolicy{Retries: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := openai.New(c.config)
			require.NoError(t, err)
			got, err := p.Prepare(t.Context(), session.CallConfig{Provider: p.Name(), Model: c.model})
			require.NoError(t, err)
			c.want.Config = session.CallConfig{Provider: p.Name(), Model: c.model}
			got.Stream = nil
			require.Equal(t, c.want, *got)
		})
	}
}

func TestPrepareFillsInTheEffortOfTheRoute(t *testing.T) {
	t.Parallel()
	p, err := openai.New(openai.Config{Name: "deepseek", APIKey: llm.NewSecret("k")})
	require.NoError(t, err)
	got, err := p.Prepare(t.Context(), session.CallConfig{Provider: "deepseek", Model: "deepseek-v4-pro"})
	require.NoError(t, err)
	require.Equal(t, "high", got.Config.ReasoningEffort)
	require.Equal(t, &session.AdapterDefaults{ReasoningEffort: true}, got.Defaults)

	got, err = p.Prepare(t.Context(), session.CallConfig{Provider: "deepseek", Model: "deepseek-v4-pro", ReasoningEffort: "low"})
	require.NoError(t, err)
	require.Equal(t, "low", got.Config.ReasoningEffort)
	require.Nil(t, got.Defaults)
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config session.CallConfig
		want   string
	}{
		"an effort the model does not know": {session.CallConfig{Model: "gpt-5", ReasoningEffort: "max"}, "off, minimal, low, medium, high"},
		"an effort of a model without one":  {session.CallConfig{Model: "gpt-4.1", ReasoningEffort: "low"}, "use one of: off"},
		"more output than the model writes": {session.CallConfig{Model: "gpt-4.1", MaxTokens: 40_000}, "at most 32768 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := openai.New(openai.Config{APIKey: llm.NewSecret("k")})
			require.NoError(t, err)
			_, err = p.Prepare(t.Context(), c.config)
			require.Equal(t, string(llm.InvalidRequest), llm.FailureOf(err).Code)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheKeyDoesNotPrint(t *testing.T) {
	t.Parallel()
	config := openai.Config{APIKey: llm.NewSecret("sk-s3cret")}
	p, err := openai.New(config)
	require.NoError(t, err)
	call, err := p.Prepare(t.Context(), session.CallConfig{Model: "m"})
	require.NoError(t, err)
	for _, v := range []any{config, &config, p, *p, call} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", v, v, v), "s3cret")
	}
}
