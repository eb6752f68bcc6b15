package anthropic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/anthropic"
	"github.com/everturn/everturn/llm/llmtest"
)

func harness(config anthropic.Config, model string) llmtest.Harness {
	return llmtest.Harness{
		Wire:  llmtest.Anthropic{},
		Model: model,
		New: func(t *testing.T, server string, key llm.Secret) llm.Provider {
			c := config
			c.BaseURL, c.APIKey = server, key
			p, err := anthropic.New(c)
			require.NoError(t, err)
			return p
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, harness(anthropic.Config{}, "claude-sonnet-4-5"))
}
