package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/servertest"
)

func TestHistoryIsLinear(t *testing.T) {
	t.Parallel()
	if testing.Short() || servertest.Program() == "" {
		t.Skip("needs a Temporal server: set EVERTURN_DEVSERVER to the program")
	}
	var table bytes.Buffer
	file := filepath.Join(t.TempDir(), "results.json")
	missed, err := run(t.Context(), options{only: "history", server: servertest.Program(), scale: small, json: file}, &table)
	require.NoError(t, err)
	require.Zero(t, missed, table.String())
	require.Contains(t, table.String(), "turn of 11 model calls, 10 tool calls of 5120 bytes")
	results, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(results), `"what": "turn of 11 model calls, 10 tool calls of 5120 bytes"`)
}
