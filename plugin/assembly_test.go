package plugin

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

type nextAssembly = func(context.Context, View) (Assembled, error)

func TestAssemblyGatesReplaceWhatADefinitionSays(t *testing.T) { // §8.1
	t.Parallel()
	louder := func(ctx context.Context, v View, next nextAssembly) (Assembled, error) {
		out, err := next(ctx, v)
		out.System += "!"
		return out, err
	}
	bare := func(ctx context.Context, v View, next nextAssembly) (Assembled, error) {
		out, err := next(ctx, v)
		out.Tools = []session.ToolSchema{{Name: "other"}}
		out.Contexts = nil
		return out, err
	}
	instead := func(context.Context, View, nextAssembly) (Assembled, error) { return Assembled{System: "mine"}, nil }
	nothing := func(context.Context, View, nextAssembly) (Assembled, error) { return Assembled{}, nil }
	broken := func(context.Context, View, nextAssembly) (Assembled, error) { return Assembled{}, errors.New("no") }
	prompt := []Section{{Name: "a", Text: "hello"}}
	whole := []Section{{Name: "a", Text: "all", Complete: true}}
	for name, c := range map[string]struct {
		sections []Section
		gates    []AssemblyGate
		want     string
		tools    int
		err      string
	}{
		"none":                       {prompt, nil, "hello", 0, ""},
		"the outermost has the last": {prompt, []AssemblyGate{louder, bare, louder}, "hello!!", 1, ""},
		"it may answer itself":       {prompt, []AssemblyGate{louder, instead}, "mine!", 0, ""},
		"it fails":                   {prompt, []AssemblyGate{louder, broken}, "", 0, "assembly gate 2: no"},
		"a complete one stays":       {whole, []AssemblyGate{bare}, "all", 1, ""},
		"a complete one is replaced": {whole, []AssemblyGate{louder}, "", 0, `section "a" is complete`},
		"by nothing":                 {whole, []AssemblyGate{nothing}, "", 0, `section "a" is complete`},
		"by an answer of its own":    {whole, []AssemblyGate{instead}, "", 0, `section "a" is complete`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Definition{Name: "d", Sections: c.sections, Assembly: c.gates}
			out, err := d.Assemble(t.Context(), View{})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, out.System)
			require.Len(t, out.Tools, c.tools)
		})
	}
}
