package tools_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/tools"
)

func named(names ...string) []*tools.Tool {
	var out []*tools.Tool
	for _, n := range names {
		out = append(out, tools.Must(tools.New(n, "", func(context.Context, struct{}) (string, error) { return n, nil })))
	}
	return out
}

func TestSchemasFollowTheConfiguredOrder(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(named("z", "a", "m", "B", "_")...)
	require.NoError(t, err)
	tests := []struct {
		name  string
		order []string
		want  []string
	}{
		{"without a configuration in code-unit order", nil, []string{"B", "_", "a", "m", "z"}},
		{"the rest at the marker", []string{"z", tools.Rest, "a"}, []string{"z", "B", "_", "m", "a"}},
		{"the marker first", []string{tools.Rest, "B"}, []string{"_", "a", "m", "z", "B"}},
		{"only the marker", []string{tools.Rest}, []string{"B", "_", "a", "m", "z"}},
		{"the rest last without a marker", []string{"m", "B"}, []string{"m", "B", "_", "a", "z"}},
		{"everything by name", []string{"m", "B", "_", "a", "z"}, []string{"m", "B", "_", "a", "z"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			schemas, err := set.Schemas(tt.order)
			require.NoError(t, err)
			var got []string
			for _, s := range schemas {
				got = append(got, s.Name)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestSchemasRefuseAnImpossibleOrder(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(named("a", "b")...)
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		order []string
		want  string
	}{
		"a name that exists nowhere": {[]string{"a", "c"}, `there is no tool "c"; known tools: a, b`},
		"a name twice":               {[]string{"a", "a"}, `"a" is given twice`},
		"two markers":                {[]string{tools.Rest, "a", tools.Rest}, `"*" is given twice`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := set.Schemas(tt.order)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestSetFindsTools(t *testing.T) {
	t.Parallel()
	given := named("b", "a", "c")
	set, err := tools.NewSet(given...)
	require.NoError(t, err)
	for _, want := range given {
		got, ok := set.Get(want.Name)
		require.True(t, ok)
		require.Same(t, want, got)
	}
	_, ok := set.Get("d")
	require.False(t, ok)
	require.Equal(t, []*tools.Tool{given[1], given[0], given[2]}, set.All())
	require.Equal(t, "b", given[0].Name, "the caller's slice keeps its order")
}

func TestNilSetIsEmpty(t *testing.T) {
	t.Parallel()
	var set *tools.Set
	_, ok := set.Get("a")
	require.False(t, ok)
	require.Empty(t, set.All())
	schemas, err := set.Schemas(nil)
	require.NoError(t, err)
	require.Nil(t, schemas)
	_, err = set.Schemas([]string{"a"})
	require.ErrorContains(t, err, "known tools: none")
}

func TestNewSetRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tools []*tools.Tool
		want  string
	}{
		"two tools of one name": {named("a", "b", "a"), `two tools are named "a"`},
		"a nil tool":            {[]*tools.Tool{nil}, "nil"},
		"a tool without a body": {[]*tools.Tool{{Name: "a"}}, "no Run function"},
		"a bad name":            {[]*tools.Tool{{Name: "a b"}}, "1 to 64 letters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tools.NewSet(tt.tools...)
			require.ErrorContains(t, err, tt.want)
		})
	}
}
