package anthropic_test

import (
	"context"
	"flag"
	"testing"

	"github.com/everturn/everturn/llm/anthropic"
	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/session"
)

var update = flag.Bool("update", false, "write the golden files")

func load(context.Context, session.Image) ([]byte, error) { return []byte("png"), nil }

func TestRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config anthropic.Config
		model  string
	}{
		"budget":   {anthropic.Config{Images: load}, "claude-sonnet-4-5"},
		"adaptive": {anthropic.Config{}, "claude-opus-5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			llmtest.Requests(t, harness(c.config, c.model), "testdata/requests/"+name, *update)
		})
	}
}
