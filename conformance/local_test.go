package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/conformance"
)

const dir = "testdata"

// The whole list on the local engine.
func TestLocal(t *testing.T) {
	t.Parallel()
	all, err := conformance.Load(dir)
	require.NoError(t, err)
	runAll(t, all, conformance.Local())
}

func runAll(t *testing.T, all []*conformance.Scenario, target conformance.Target) {
	t.Helper()
	for _, s := range all {
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			r := s.Run(t.Context(), target)
			require.True(t, r.OK, "%s  %s\n%s", r.ID, r.Title, r.Error)
		})
	}
}
