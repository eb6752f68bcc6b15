package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/llm/openai"
)

func harness(config openai.Config, model string) llmtest.Harness {
	return llmtest.Harness{
		Wire:  llmtest.OpenAI{},
		Model: model,
		New: func(t *testing.T, server string, key llm.Secret) llm.Provider {
			c := config
			c.BaseURL, c.APIKey = server+"/v1", key
			p, err := openai.New(c)
			require.NoError(t, err)
			return p
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, harness(openai.Config{Dialect: openai.OpenAI}, "gpt-5.1"))
}

func TestConformanceOfDeepSeek(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, harness(openai.Config{Name: "deepseek"}, "deepseek-v4-pro"))
}
