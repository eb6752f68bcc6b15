package builtin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/tools/builtin"
)

var kinds = []builtin.Kind{{Definition: "reader", Description: "reads files"}, {Definition: "writer", Description: "writes texts"}}

func delegate(t *testing.T, o builtin.DelegateOptions) *tools.Tool {
	t.Helper()
	tool, err := builtin.Delegate(kinds, o)
	require.NoError(t, err)
	return tool
}

func TestDelegateHandsTheCallToAChild(t *testing.T) {
	t.Parallel()
	tool := delegate(t, builtin.DelegateOptions{Deadline: time.Minute, Keep: true})
	require.Equal(t, "delegate", tool.Name)
	require.Equal(t, tools.Pure, tool.Effect)
	require.True(t, tool.ParallelWith(`{"kind":"reader","prompt":"x"}`))
	result, err := tool.Invoke(t.Context(), `{"kind":"writer","prompt":"a poem","title":"Poem"}`)
	require.NoError(t, err)
	require.Equal(t, &tools.Child{Definition: "writer", Prompt: "a poem", Title: "Poem", Deadline: time.Minute, Keep: true}, result.Delegate)
	require.Equal(t, "ask", delegate(t, builtin.DelegateOptions{Name: "ask"}).Name)
}

func TestDelegateRefuses(t *testing.T) {
	t.Parallel()
	tool := delegate(t, builtin.DelegateOptions{})
	tests := []struct{ name, args, want string }{
		{"an unknown kind", `{"kind":"plumber","prompt":"x"}`, `field "kind"`},
		{"no kind", `{"prompt":"x"}`, `field "kind": required`},
		{"no prompt", `{"kind":"reader"}`, `field "prompt": required`},
		{"an empty prompt", `{"kind":"reader","prompt":""}`, `field "prompt"`},
		{"a prompt that is too long", `{"kind":"reader","prompt":"` + strings.Repeat("x", builtin.MaxPrompt+1) + `"}`, `field "prompt"`},
		{"a title that is too long", `{"kind":"reader","prompt":"x","title":"` + strings.Repeat("x", 81) + `"}`, `field "title"`},
		{"what it does not know", `{"kind":"reader","prompt":"x","model":"big"}`, `field "model"`},
		{"no object", `"reader"`, "invalid arguments"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			result, err := tool.Invoke(t.Context(), tt.args)
			require.ErrorContains(t, err, tt.want)
			requireCode(t, err, tools.InvalidArgs)
			require.Nil(t, result.Delegate)
			require.Less(t, len(err.Error()), 1000)
		})
	}
	_, err := tool.Invoke(t.Context(), `{"kind":"plumber","prompt":"x"}`)
	require.ErrorContains(t, err, "reader", "it says what there is")
}

func TestADelegateThatCannotBeMade(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		kinds []builtin.Kind
		o     builtin.DelegateOptions
		want  string
	}{
		{"no kinds", nil, builtin.DelegateOptions{}, "no kind of agent is offered"},
		{"a kind without a name", []builtin.Kind{{Description: "x"}}, builtin.DelegateOptions{}, `kind "" has no name`},
		{"a kind twice", append(kinds, kinds[0]), builtin.DelegateOptions{}, "is offered twice"},
		{"a negative deadline", kinds, builtin.DelegateOptions{Deadline: -1}, "use a positive one"},
		{"a name that is none", kinds, builtin.DelegateOptions{Name: "to do"}, "to do"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := builtin.Delegate(tt.kinds, tt.o)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// The model names a kind of agent and a task; the call waits for the child's answer.
func ExampleDelegate() {
	tool, err := builtin.Delegate([]builtin.Kind{{Definition: "reviewer", Description: "reads code and names its faults"}},
		builtin.DelegateOptions{Deadline: time.Hour})
	if err != nil {
		panic(err)
	}
	result, err := tool.Invoke(context.Background(), `{"kind":"reviewer","prompt":"review main.go"}`)
	fmt.Println(result.Delegate.Definition, result.Delegate.Prompt, err)
	_, err = tool.Invoke(context.Background(), `{"kind":"plumber","prompt":"mend the sink"}`)
	fmt.Println(err)
	// Output:
	// reviewer review main.go <nil>
	// invalid arguments for tool "delegate": field "kind": enum: plumber does not equal any of: [reviewer]
}
