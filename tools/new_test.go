package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

type searchArgs struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Most  int      `json:"most,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Where struct {
		Folder string `json:"folder"`
	} `json:"where,omitzero"`
	Since time.Time `json:"since,omitzero"`
	Body  []byte    `json:"body,omitempty"`
}

func search(_ context.Context, in searchArgs) (string, error) { return "found " + in.Query, nil }

func newTool[In, Out any](t *testing.T, fn func(context.Context, In) (Out, error), opts ...tools.Option) *tools.Tool {
	t.Helper()
	tool, err := tools.New("probe", "A tool under test.", fn, opts...)
	require.NoError(t, err)
	return tool
}

func TestSchemaComesFromTheGoType(t *testing.T) {
	t.Parallel()
	tool := newTool(t, search)
	require.JSONEq(t, `{
		"type": "object",
		"required": ["query"],
		"additionalProperties": false,
		"properties": {
			"query": {"type": "string", "description": "what to look for"},
			"most": {"type": "integer"},
			"tags": {"type": ["null", "array"], "items": {"type": "string"}},
			"where": {"type": "object", "required": ["folder"], "additionalProperties": false, "properties": {"folder": {"type": "string"}}},
			"since": {"type": "string"},
			"body": {"type": "string", "contentEncoding": "base64"}
		}
	}`, string(tool.Parameters))
	require.Equal(t, session.ToolSchema{Name: "probe", Description: "A tool under test.", Parameters: tool.Parameters}, tool.Schema())
}

func TestSchemaOfNoArgumentsStillHasProperties(t *testing.T) {
	t.Parallel()
	tool := newTool(t, func(context.Context, struct{}) (string, error) { return "ok", nil })
	require.JSONEq(t, `{"type":"object","properties":{},"additionalProperties":false}`, string(tool.Parameters))
}

func TestSchemaIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	first := newTool(t, search)
	for range 20 {
		require.Equal(t, string(first.Parameters), string(newTool(t, search).Parameters))
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	text := func(context.Context, struct{}) (string, error) { return "", nil }
	build := func(name string, opts ...tools.Option) error {
		_, err := tools.New(name, "", text, opts...)
		return err
	}
	reconcile := func(context.Context, string) (tools.Result, bool, error) { return tools.Result{}, false, nil }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"a name with a blank", build("two words"), "1 to 64 letters"},
		{"an empty name", build(""), "1 to 64 letters"},
		{"a name of 65 letters", build("a1234567890123456789012345678901234567890123456789012345678901234"), "1 to 64 letters"},
		{"a name with a line break at the end", build("name\n"), "1 to 64 letters"},
		{"a negative timeout", build("t", tools.WithTimeout(-time.Second)), "negative"},
		{"an effect class nobody knows", build("t", tools.WithEffect("maybe")), `unknown effect class "maybe"`},
		{"reconcile without its function", build("t", tools.WithEffect(tools.Reconcile)), "needs WithReconcile"},
		{"a reconcile function of another class", build("t", tools.WithReconcile(reconcile), tools.WithEffect(tools.Pure)), "contradicts"},
		{"a schema that is not JSON", build("t", tools.WithParameters([]byte("{"))), "read the arguments schema"},
		{"a schema that is not an object", build("t", tools.WithParameters([]byte(`{"type":"string"}`))), "not an object"},
		{"a schema with a bad reference", build("t", tools.WithParameters([]byte(`{"type":"object","$ref":"#/$defs/none"}`))), "resolve the arguments schema"},
		{"no function", second(tools.New[struct{}, string]("t", "", nil)), "no function"},
		{"arguments that are text", second(tools.New("t", "", func(context.Context, string) (string, error) { return "", nil })), "not an object"},
		{"arguments with a channel", second(tools.New("t", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })), "no arguments schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, tt.err, tt.want)
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestOptionsSetTraits(t *testing.T) {
	t.Parallel()
	plain := newTool(t, search)
	require.Equal(t, tools.Once, plain.Effect)
	require.False(t, plain.ParallelWith(`{"query":"x"}`))

	reconcile := func(context.Context, string) (tools.Result, bool, error) {
		return tools.TextResult("was done"), true, nil
	}
	full := newTool(t, search, tools.ParallelSafe(), tools.WithTimeout(time.Minute), tools.WithQueue("gpu"), tools.WithReconcile(reconcile))
	require.Equal(t, tools.Reconcile, full.Effect)
	require.Equal(t, time.Minute, full.Timeout)
	require.Equal(t, "gpu", full.Queue)
	require.True(t, full.ParallelWith(`{"query":"x"}`))
	result, done, err := full.Reconcile(t.Context(), "key")
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, "was done", result.Content.Text())
}

func TestParallelIsYesOnlyWhenExactlyYes(t *testing.T) {
	t.Parallel()
	small := tools.ParallelIf(func(args json.RawMessage) bool {
		var in searchArgs
		if json.Unmarshal(args, &in) != nil || in.Query == "panic" {
			panic("cannot tell")
		}
		return in.Most < 10
	})
	tool := newTool(t, search, small)
	require.True(t, tool.ParallelWith(`{"query":"x"}`))
	require.False(t, tool.ParallelWith(`{"query":"x","most":10}`), "the classifier says no")
	require.False(t, tool.ParallelWith(`{"query":"panic"}`), "the classifier panics")
	require.False(t, tool.ParallelWith(`{}`), "the arguments do not fit")
	require.False(t, tool.ParallelWith(`not json`), "the arguments are no JSON")
}

func TestParseArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw, want string
		valid           bool
	}{
		{"nothing is an empty object", "", "{}", true},
		{"blanks are an empty object", " \n\t", "{}", true},
		{"JSON is itself", ` {"a":1} `, `{"a":1}`, true},
		{"a scalar is JSON as well", "null", "null", true},
		{"anything else is passed on", " not json", " not json", false},
		{"half of an object is passed on", `{"a":`, `{"a":`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args, valid := tools.ParseArguments(tt.raw)
			require.Equal(t, tt.want, string(args))
			require.Equal(t, tt.valid, valid)
		})
	}
}

func TestInvalidArgumentsNameTheField(t *testing.T) {
	t.Parallel()
	tool := newTool(t, search)
	tests := []struct{ name, raw, want string }{
		{"no JSON at all", "not json", "not valid JSON: not json"},
		{"not an object", "[1]", `want "object"`},
		{"null", "null", `want "object"`},
		{"a missing field", `{}`, `field "query": required, but missing`},
		{"a wrong type", `{"query":5}`, `field "query": type: 5 has type "integer", want "string"`},
		{"an unknown field", `{"query":"x","qurey":"y"}`, `field "qurey": unknown; the tool takes body, most, query, since, tags, where`},
		{"a field in the wrong case", `{"Query":"x"}`, `field "query": required`},
		{"an item of a list", `{"query":"x","tags":["a",2]}`, `field "tags[1]": type`},
		{"a field of a nested object", `{"query":"x","where":{"folder":true}}`, `field "where.folder": type`},
		{"a missing nested field", `{"query":"x","where":{}}`, `field "where.folder": required`},
		{"a number with a fraction", `{"query":"x","most":1.5}`, `field "most"`},
		{"a whole number in another notation", `{"query":"x","most":1e2}`, `field "most"`},
		{"a number too large for its type", `{"query":"x","most":99999999999999999999}`, `field "most"`},
		{"a number too large for any type", `{"query":"x","most":1e999}`, `not valid JSON`},
		{"text that is no time", `{"query":"x","since":"yesterday"}`, `field "since"`},
		{"text that is no base64", `{"query":"x","body":"%%"}`, `illegal base64`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tool.Invoke(t.Context(), tt.raw)
			requireCode(t, err, "InvalidArgsError", tools.InvalidArgs)
			require.ErrorContains(t, err, `invalid arguments for tool "probe":`)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestInvalidArgumentsOfAMapNameTheKey(t *testing.T) {
	t.Parallel()
	tool := newTool(t, func(_ context.Context, in map[string]int) (int, error) { return len(in), nil })
	_, err := tool.Invoke(t.Context(), `{"a":1,"b":"x"}`)
	require.ErrorContains(t, err, `field "b": type`)
	result, err := tool.Invoke(t.Context(), `{"a":1,"b":2}`)
	require.NoError(t, err)
	require.Equal(t, "2", result.Content.Text())
}

func TestInvalidArgumentsDoNotEchoEverything(t *testing.T) {
	t.Parallel()
	huge, err := json.Marshal(map[string]any{"query": make([]int, 100_000)})
	require.NoError(t, err)
	_, err = newTool(t, search).Invoke(t.Context(), string(huge))
	requireCode(t, err, "InvalidArgsError", tools.InvalidArgs)
	require.Less(t, len(err.Error()), 500)
}

func TestGivenSchemaReplacesTheDerivedOne(t *testing.T) {
	t.Parallel()
	given := json.RawMessage(`{"type":"object","properties":{"unit":{"$ref":"#/$defs/unit"}},"required":["unit"],"$defs":{"unit":{"enum":["C","F"]}}}`)
	tool := newTool(t, func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }, tools.WithParameters(given))
	given[2] = 'X' // the tool has a copy
	require.Contains(t, string(tool.Parameters), `{"type":"object"`)

	_, err := tool.Invoke(t.Context(), `{"unit":"K"}`)
	requireCode(t, err, "InvalidArgsError", tools.InvalidArgs)
	require.ErrorContains(t, err, "unit")
	result, err := tool.Invoke(t.Context(), `{"unit":"C"}`)
	require.NoError(t, err)
	require.Equal(t, `{"unit":"C"}`, result.Content.Text())
}

func TestOutputBecomesContent(t *testing.T) {
	t.Parallel()
	text := session.TextContent
	full := tools.Result{Content: text("x"), Meta: json.RawMessage(`{"a":1}`), ConcludesTurn: true}
	tests := []struct {
		name string
		out  any
		want tools.Result
	}{
		{"a string is text", "plain <b>", tools.Result{Content: text("plain <b>")}},
		{"a string that is not UTF-8 is mended", "a\xffb", tools.Result{Content: text("a\uFFFDb")}},
		{"a result is itself", full, full},
		{"a pointer to a result is the result", &full, full},
		{"content is itself", text("x"), tools.Result{Content: text("x")}},
		{"a struct is JSON text", struct{ A string }{"<&>"}, tools.Result{Content: text(`{"A":"<&>"}`)}},
		{"a number is JSON text", 42, tools.Result{Content: text("42")}},
		{"nothing is null", nil, tools.Result{Content: text("null")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := newTool(t, func(context.Context, struct{}) (any, error) { return tt.out, nil })
			result, err := tool.Invoke(t.Context(), "")
			require.NoError(t, err)
			require.Equal(t, tt.want, result)
		})
	}
}

func TestOutputThatCannotBeShown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		out  any
	}{
		{"a channel", make(chan int)},
		{"a number that JSON does not have", math.NaN()},
		{"no result at all", (*tools.Result)(nil)},
		{"a nil block", tools.Result{Content: session.Content{nil}}},
		{"a tool call inside a result", tools.Result{Content: session.Content{session.ToolCallBlock{ID: "c1"}}}},
		{"meta that is no JSON", tools.Result{Meta: json.RawMessage("{")}},
		{"raw JSON that is none", json.RawMessage("{")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := newTool(t, func(context.Context, struct{}) (any, error) { return tt.out, nil })
			result, err := tool.Invoke(t.Context(), "")
			requireCode(t, err, "InvalidToolOutputError", tools.InvalidOutput)
			require.Zero(t, result)
		})
	}
}

func TestPanicIsAFailureOfTheCall(t *testing.T) {
	t.Parallel()
	tool := newTool(t, func(context.Context, struct{}) (string, error) { panic("out of cheese") })
	for name, run := range map[string]func() (tools.Result, error){
		"invoked":      func() (tools.Result, error) { return tool.Invoke(t.Context(), "") },
		"run directly": func() (tools.Result, error) { return tool.Run(t.Context(), json.RawMessage("{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run()
			requireCode(t, err, "ToolPanicError", tools.Panicked)
			require.EqualError(t, err, `tool "probe" panicked: out of cheese`)
			var p *tools.Panic
			require.ErrorAs(t, err, &p)
			require.Equal(t, "out of cheese", p.Value)
			require.Contains(t, string(p.Stack), "TestPanicIsAFailureOfTheCall")
		})
	}
}

func TestErrorOf(t *testing.T) {
	t.Parallel()
	name, code, coded := tools.ErrorOf(errors.Join(tools.Coded("QuotaError", "QUOTA", "no more"), errors.New("also")))
	require.Equal(t, []any{"QuotaError", "QUOTA", true}, []any{name, code, coded})
	for _, plain := range []error{nil, errors.New("plain"), &tools.Error{Message: "no code"}} {
		_, _, coded = tools.ErrorOf(plain)
		require.False(t, coded)
	}
}

func TestToolErrorsPassThrough(t *testing.T) {
	t.Parallel()
	plain := errors.New("no such city")
	_, err := newTool(t, func(context.Context, struct{}) (string, error) { return "half", plain }).Invoke(t.Context(), "")
	require.Equal(t, plain, err)
}

func TestCallTravelsInTheContext(t *testing.T) {
	t.Parallel()
	_, ok := tools.CallFrom(t.Context())
	require.False(t, ok)
	call := tools.Call{Session: "s", Turn: 1, Step: 2, ID: "c1", Key: "s/0/1.2/c1", Try: 1}
	tool := newTool(t, func(ctx context.Context, _ struct{}) (string, error) {
		c, ok := tools.CallFrom(ctx)
		require.True(t, ok)
		return c.Key, nil
	})
	result, err := tool.Invoke(tools.WithCall(t.Context(), call), "{}")
	require.NoError(t, err)
	require.Equal(t, "s/0/1.2/c1", result.Content.Text())
}

func TestMustPanicsOnAnError(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { tools.Must(tools.New("bad name", "", search)) })
}

func requireCode(t *testing.T, err error, name, code string) {
	t.Helper()
	gotName, gotCode, coded := tools.ErrorOf(err)
	require.True(t, coded, "want a coded error, got %v", err)
	require.Equal(t, name, gotName)
	require.Equal(t, code, gotCode)
}

func FuzzInvokeNeverCrashes(f *testing.F) {
	for _, seed := range []string{"", "{}", "not json", `{"query":"x","tags":[null]}`, `{"query":"x","where":{"folder":1}}`, `[[[`} {
		f.Add(seed)
	}
	tool := tools.Must(tools.New("probe", "", search))
	f.Fuzz(func(t *testing.T, raw string) {
		result, err := tool.Invoke(t.Context(), raw)
		if err == nil {
			require.NotEmpty(t, result.Content)
			return
		}
		requireCode(t, err, "InvalidArgsError", tools.InvalidArgs)
		tool.ParallelWith(raw)
	})
}
