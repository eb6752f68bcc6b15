package openai_test

import (
	"context"
	"flag"
	"testing"

	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/llm/openai"
	"github.com/everturn/everturn/session"
)

var update = flag.Bool("update", false, "write the golden files")

func load(context.Context, session.Image) ([]byte, error) { return []byte("png"), nil }

func TestRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config openai.Config
		model  string
	}{
		"openai":     {openai.Config{Dialect: openai.OpenAI, Images: load}, "gpt-5.1"},
		"deepseek":   {openai.Config{Name: "deepseek"}, "deepseek-v4-pro"},
		"compatible": {openai.Config{Name: "lab"}, "llama"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			llmtest.Requests(t, harness(c.config, c.model), "testdata/requests/"+name, *update)
		})
	}
}
