package conformance_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/internal/conformance"
	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/servertest"
)

// The whole list on a Temporal server of its own, which EVERTURN_DEVSERVER names or which is built.
func TestServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Temporal server")
	}
	t.Parallel()
	all, err := conformance.Load(dir)
	require.NoError(t, err)
	c, err := client.Dial(client.Options{HostPort: servertest.Start(t, serverBinary(t)), Logger: log.Silent()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	target := conformance.Server(c, client.DefaultNamespace)
	for r := range conformance.Each(t.Context(), all, target, 0) {
		t.Run(r.ID, func(t *testing.T) {
			require.True(t, r.OK, "%s  %s\n%s", r.ID, r.Title, r.Error)
		})
	}
	requireReplay(t, c)
}

func serverBinary(t *testing.T) string {
	t.Helper()
	if path := servertest.Program(); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "devserver")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	cmd.Dir = filepath.Join("..", "devserver")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "build the development server: %s", out)
	return path
}
