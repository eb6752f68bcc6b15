package work

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

var update = flag.Bool("update", false, "rewrite testdata/wire")

// wire holds every input and answer. See architecture A5.
var wire = map[string]any{
	"SetupIn": &SetupIn{}, "SetupOut": &SetupOut{},
	"StepIn": &StepIn{}, "StepOut": &StepOut{},
	"ToolIn": &ToolIn{}, "ToolOut": &ToolOut{},
	"HookIn": &HookIn{}, "HookOut": &HookOut{},
	"MaintainIn": &MaintainIn{}, "MaintainOut": &MaintainOut{},
	"ConfigureIn": &ConfigureIn{}, "ConfigureOut": &ConfigureOut{},
	"PersistIn": &PersistIn{}, "PersistOut": &PersistOut{},
	"SpillIn": &SpillIn{}, "SpillOut": &SpillOut{},
	"ResetIn": &ResetIn{}, "ResetOut": &ResetOut{},
	"CancelReasonIn": &CancelReasonIn{}, "CancelReasonOut": &CancelReasonOut{},
	"LookIn": &LookIn{}, "LookOut": &LookOut{},
	"TellIn": &TellIn{}, "TellOut": &TellOut{},
}

// TestWire compares each value with all fields set to its golden JSON: a field that is renamed, retyped or lost shows in
// the diff. Fields are only added.
func TestWire(t *testing.T) {
	t.Parallel()
	for name, v := range wire {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fill(reflect.ValueOf(v).Elem(), name)
			raw, err := json.MarshalIndent(v, "", "  ")
			require.NoError(t, err)
			raw = append(raw, '\n')
			file := filepath.Join("testdata", "wire", name+".json")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, raw, 0o644))
			}
			golden, err := os.ReadFile(file)
			require.NoError(t, err, "write it with -update")
			require.Equal(t, string(golden), string(raw))

			back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			require.NoError(t, json.Unmarshal(golden, back))
			again, err := json.MarshalIndent(back, "", "  ")
			require.NoError(t, err)
			require.Equal(t, string(golden), string(again)+"\n", "nothing is lost on the way")
		})
	}
}

// TestWireIsAdditive: a reader ignores what it does not know, and does without what is not there.
func TestWireIsAdditive(t *testing.T) {
	t.Parallel()
	for name, v := range wire {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden, err := os.ReadFile(filepath.Join("testdata", "wire", name+".json"))
			require.NoError(t, err)
			newer := bytes.Replace(golden, []byte("{"), []byte(`{"addedLater": {"deep": [1, 2]},`), 1)
			old, new := zero(v), zero(v)
			require.NoError(t, json.Unmarshal(golden, old))
			require.NoError(t, json.Unmarshal(newer, new))
			require.Equal(t, old, new)
			require.NoError(t, json.Unmarshal([]byte("{}"), zero(v)))
		})
	}
}

// TestWireIsComplete: every In and Out of the source is in the table.
func TestWireIsComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && (strings.HasSuffix(spec.Name.Name, "In") || strings.HasSuffix(spec.Name.Name, "Out")) {
				require.Contains(t, wire, spec.Name.Name)
				found++
			}
			return true
		})
	}
	require.Len(t, wire, found)
}

func zero(v any) any { return reflect.New(reflect.TypeOf(v).Elem()).Interface() }

// fill sets every field to something that is not its zero value.
func fill(v reflect.Value, name string) {
	if known(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), v.Type().Field(i).Name)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.String:
		v.SetString("a " + name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(len(name)))
	case reflect.Float64:
		v.SetFloat(float64(len(name)) + 0.5)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), value)
	default:
		panic("fill: " + v.Type().String())
	}
}

// known fills the unions of the session and raw JSON.
func known(v reflect.Value) bool {
	switch p := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*p = json.RawMessage(`{"any":["JSON"]}`)
	case *session.Record:
		*p = session.NewRecord(1_764_500_000_000, session.TurnStart{Turn: 1})
	case *session.Content:
		*p = session.TextContent("a text")
	case *session.Role:
		*p = session.RoleUser
	case *session.Cause:
		*p = session.Cause{Kind: session.CauseHook, Reason: "a reason"}
	default:
		return false
	}
	return true
}

func TestEchoTellsLoansApart(t *testing.T) {
	t.Parallel()
	one := session.NewRecord(1, session.TurnStart{Turn: 1})
	two := session.NewRecord(1, session.TurnStart{Turn: 2})
	base := EchoOf(7, []session.Record{one, two})
	require.Equal(t, base, EchoOf(7, []session.Record{one, two}))
	for name, other := range map[string]Echo{
		"place":      EchoOf(8, []session.Record{one, two}),
		"order":      EchoOf(7, []session.Record{two, one}),
		"length":     EchoOf(7, []session.Record{one}),
		"nothing":    EchoOf(7, nil),
		"unreadable": EchoOf(7, []session.Record{one, {}}),
	} {
		require.NotEqual(t, base, other, name)
	}
	require.Equal(t, EchoOf(7, []session.Record{{}}), EchoOf(7, []session.Record{{}}), "both sides see the same error")

	raw, err := json.Marshal(one)
	require.NoError(t, err)
	var read session.Record
	require.NoError(t, json.Unmarshal(raw, &read))
	require.Equal(t, EchoOf(7, []session.Record{one}), EchoOf(7, []session.Record{read}), "the way through JSON changes nothing")
}
