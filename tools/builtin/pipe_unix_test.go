//go:build unix

package builtin_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/tools/builtin"
)

func TestANamedPipeDoesNotHoldUpATool(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(r.dir, "pipe"), 0o644))
	_, err := r.read.Invoke(t.Context(), args("path", "pipe"))
	requireCode(t, err, builtin.WrongKind)
	_, err = r.list.Invoke(t.Context(), args("path", "pipe"))
	requireCode(t, err, builtin.WrongKind)
	_, err = r.write.Invoke(t.Context(), args("path", "pipe", "content", ""))
	requireCode(t, err, builtin.WrongKind)
}
