package plugin

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

func text(s string) func(context.Context, View) (string, error) {
	return func(context.Context, View) (string, error) { return s, nil }
}

func TestThePromptIsMadeOfSections(t *testing.T) { // §8.1
	t.Parallel()
	for name, c := range map[string]struct {
		sections []Section
		want     string
		err      string
	}{
		"none":            {nil, "", ""},
		"ordered":         {[]Section{{Name: "b", Order: 100, Text: "tools"}, {Name: "a", Order: -100, Text: "who"}, {Name: "c", Text: "persona"}}, "who\n\npersona\n\ntools", ""},
		"ties as given":   {[]Section{{Name: "b", Text: "1"}, {Name: "a", Text: "2"}}, "1\n\n2", ""},
		"empty vanish":    {[]Section{{Name: "a", Text: " \n"}, {Name: "b", Text: "\nx\n"}, {Name: "c"}}, "x", ""},
		"computed":        {[]Section{{Name: "a", Text: "not used", Render: text("now")}}, "now", ""},
		"variables":       {[]Section{{Name: "a", Text: "{{model}} of {{provider}} in {{cwd}}, {{extra}}{{extra}}"}}, "m of p in /w, {{model}}{{model}}", ""},
		"lone opening":    {[]Section{{Name: "a", Text: "a {{ b"}}, "a {{ b", ""},
		"lone closing":    {[]Section{{Name: "a", Text: "a }} b {{model}} }}"}}, "a }} b m }}", ""},
		"complete":        {[]Section{{Name: "a", Text: "{{nosuch}}"}, {Name: "b", Text: "all of it, {{model}}", Complete: true}}, "all of it, m", ""},
		"two complete":    {[]Section{{Name: "a", Complete: true}, {Name: "b", Complete: true}}, "", `sections "a" and "b" are both complete`},
		"unknown name":    {[]Section{{Name: "a", Text: "{{nosuch}}"}}, "", `prompt section "a": unknown variable "nosuch"`},
		"malformed group": {[]Section{{Name: "a", Text: "{{no such}}"}}, "", `prompt section "a": malformed reference {{no such}}`},
		"empty group":     {[]Section{{Name: "a", Text: "{{}}"}}, "", `malformed reference`},
		"variable fails":  {[]Section{{Name: "a", Text: "{{broken}}"}}, "", `prompt section "a": variable "broken": offline`},
		"variable panics": {[]Section{{Name: "a", Text: "{{wild}}"}}, "", `prompt section "a": variable "wild": panic: oh`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Definition{Name: "d", Sections: c.sections, Variables: map[string]Variable{
				"extra":  Variable(text("{{model}}")),
				"broken": func(context.Context, View) (string, error) { return "", errors.New("offline") },
				"wild":   func(context.Context, View) (string, error) { panic("oh") },
			}}
			require.NoError(t, d.Validate())
			out, err := d.Assemble(t.Context(), View{Provider: "p", Model: "m", CWD: "/w"})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, out.System)
		})
	}
	d := Definition{Name: "d", Sections: []Section{{Name: "a", Text: "{{cwd}}"}}}
	_, err := d.Assemble(t.Context(), View{})
	require.ErrorContains(t, err, `variable "cwd" has no value`)
}

func TestContextsAndToolsAreAssembledInOrder(t *testing.T) { // §8.2, §8.6
	t.Parallel()
	d := Definition{
		Name: "d",
		Contexts: []RuntimeContext{
			{Name: "late", Order: 2, Render: text("2")}, {Name: "silent", Render: text(" ")}, {Name: "unset"}, {Name: "early", Order: 1, Render: text("1\n")},
		},
		Tools:     []*tools.Tool{named(t, "b"), named(t, "a")},
		ToolOrder: []string{"b", "*"},
	}
	out, err := d.Assemble(t.Context(), View{})
	require.NoError(t, err)
	require.Equal(t, []ContextText{{"early", "1"}, {"late", "2"}}, out.Contexts)
	require.Equal(t, "b", out.Tools[0].Name)
	require.Equal(t, "a", out.Tools[1].Name)

	d.ToolOrder = []string{"c"}
	_, err = d.Assemble(t.Context(), View{})
	require.ErrorContains(t, err, `no tool "c"`)
	d.ToolOrder, d.Contexts[0].Render = nil, func(context.Context, View) (string, error) { return "", errors.New("offline") }
	_, err = d.Assemble(t.Context(), View{})
	require.ErrorContains(t, err, `runtime context "late": offline`)
}

func named(t *testing.T, name string) *tools.Tool {
	t.Helper()
	tool, err := tools.New(name, "", func(context.Context, struct{}) (string, error) { return "", nil })
	require.NoError(t, err)
	return tool
}

func TestValidateNamesTheField(t *testing.T) {
	t.Parallel()
	for says, d := range map[string]Definition{
		"Name is empty":          {},
		"MaxParallelTools is -1": {Name: "d", MaxParallelTools: -1},
		"MaxTokens is -1":        {Name: "d", MaxTokens: -1},
		`two tools are named`:    {Name: "d", Tools: []*tools.Tool{named(t, "a"), named(t, "a")}},
		`"s" is there twice`:     {Name: "d", Sections: []Section{{Name: "s"}, {Name: "s"}}},
		`section "s": Order is`:  {Name: "d", Sections: []Section{{Name: "s", Order: math.NaN()}}},
		`context "c": Order is`:  {Name: "d", Contexts: []RuntimeContext{{Name: "c", Order: math.Inf(1)}}},
		`variable "a b"`:         {Name: "d", Variables: map[string]Variable{"a b": nil}},
	} {
		require.ErrorContains(t, d.Validate(), says)
	}
}

func FuzzSubstitute(f *testing.F) {
	f.Add("a {{model}} b {{")
	f.Add("{{}}}}{{x")
	f.Fuzz(func(t *testing.T, s string) {
		same := func(name string) (string, error) { return "{{" + name + "}}", nil }
		out, err := substitute(s, same)
		if err == nil && out != s {
			t.Fatalf("%q became %q", s, out)
		}
	})
}

func TestTheAgentTravelsInTheContext(t *testing.T) {
	t.Parallel()
	require.Nil(t, AgentFrom(t.Context()))
	a := silent{}
	require.Equal(t, a, AgentFrom(WithAgent(t.Context(), a)))
}

type silent struct{}

func (silent) Followup(session.Message)           {}
func (silent) Steer(session.Message)              {}
func (silent) Inject(session.Message)             {}
func (silent) Send(session.Message, string, bool) {}
func (silent) Cancel(session.Cause, bool)         {}
func (silent) Plan(bool)                          {}
func (silent) Spawn(tools.Child) string           { return "" }
