package llm_test

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/openai"
	"github.com/everturn/everturn/session"
)

func ExampleRegistry() {
	deepseek, err := openai.New(openai.Config{Name: "deepseek"})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry, err := llm.NewRegistry(deepseek)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, provider := range []string{"deepseek", "mistral"} {
		_, err := registry.Prepare(context.Background(), session.CallConfig{Provider: provider, Model: "some-model"})
		fmt.Println(err)
	}
	// Output:
	// MISSING_CREDENTIAL: provider "deepseek" has no API key: set DEEPSEEK_API_KEY where the worker runs
	// NO_ADAPTER: no provider is named "mistral": this worker has deepseek (register it with the worker, or choose another provider)
}

func ExampleStream() {
	broken := &llm.Prepared{Stream: throws(llm.Errorf(llm.Server, "the model is overloaded", nil))}
	for chunk, err := range llm.Stream(context.Background(), broken, llm.Request{}) {
		if err != nil {
			return // only when our own context ended
		}
		if end, ok := chunk.(session.Finish); ok {
			fmt.Println(end.Reason.Kind, end.Reason.Failure.Code)
		}
	}
	// Output: error SERVER
}
