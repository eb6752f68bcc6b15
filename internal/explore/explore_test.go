package explore

import (
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/driver"
)

// limit bounds the states of a world: one that needs more has bounds that are too wide.
const limit = 250_000

// TestInterleavings explores every world to its end.
func TestInterleavings(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // states are many, small, and soon forgotten
	states, transitions, limit := 0, 0, limit
	if *soakFlag {
		limit = 0
	}
	for _, w := range Worlds {
		if *soakFlag && w.Twists > 0 {
			w.Twists++
		}
		t.Run(w.Name, func(t *testing.T) {
			if testing.Short() && !w.Short {
				t.Skip("not under -short")
			}
			t.Logf("bounds: %s", w)
			r, err := Search(&w, nil, limit)
			t.Log(r)
			require.NoError(t, err)
			states, transitions = states+r.States, transitions+r.Transitions
		})
	}
	t.Logf("%d distinct states, %d transitions", states, transitions)
}

// TestCopyState: a field that is added to the driver's state and can be shared must be copied, too.
func TestCopyState(t *testing.T) {
	var shared []string
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, name string) {
		for f := range fields(typ) {
			switch f.Type.Kind() {
			case reflect.Pointer, reflect.Slice, reflect.Map:
				shared = append(shared, name+f.Name)
			case reflect.Struct:
				walk(f.Type, name+f.Name+".")
			}
		}
	}
	walk(reflect.TypeFor[driver.State](), "")
	require.Equal(t, []string{
		"Abandoned", "Manifest.Tasks", "Manifest.Approvals", "Manifest.Tells", "Metadata", "Tells", "Refresh", "Change", "Configures", "Log.Tail", "Log.Waiting", "NextTurn", "NextStep", "Cancelled", "Disposers", "Batch", "Claimed", "ClaimedAt", "Dropped", "Calls",
		"Defect", "Retry", "LastError", "Usage", "Maintenance", "Policy", "Children", "Seen.IDs", "Ended", "Fates",
	}, shared, "see copyState")
}

func fields(typ reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range typ.NumField() {
			if !yield(typ.Field(i)) {
				return
			}
		}
	}
}
