package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/plugin"
)

// See spec C-012.
func TestAListenerThatPanicsAffectsNothing(t *testing.T) {
	t.Parallel()
	var heard []string
	hears := func(name string) plugin.Listener {
		return func(n plugin.Notice) { heard = append(heard, name+" "+n.Name) }
	}
	breaks := func(plugin.Notice) { panic("it broke") }
	all := []*plugin.Definition{{Listeners: []plugin.Listener{hears("a"), breaks, hears("b")}}, {Listeners: []plugin.Listener{hears("c")}}}
	var failed []any
	plugin.Tell(all, plugin.Notice{Name: "agent/status"}, func(_ plugin.Notice, reason any) { failed = append(failed, reason) })
	require.Equal(t, []string{"a agent/status", "b agent/status", "c agent/status"}, heard)
	require.Equal(t, []any{"it broke"}, failed)
	require.NotPanics(t, func() { plugin.Tell(all, plugin.Notice{}, nil) })
}
