package conformance_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/conformance"
)

const dir = "testdata"

var update = flag.Bool("update", false, "write what the local engine shows into the scenario files; review the diff against the spec")

// The whole list on the local engine.
func TestLocal(t *testing.T) {
	all, err := conformance.Load(dir)
	require.NoError(t, err)
	if *update {
		require.NoError(t, conformance.Update(t.Context(), all, conformance.Local()))
		return
	}
	t.Parallel()
	for _, s := range all {
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			r := s.Run(t.Context(), conformance.Local())
			require.True(t, r.OK, "%s  %s\n%s", r.ID, r.Title, r.Error)
		})
	}
}
