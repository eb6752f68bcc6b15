//go:build unix

package filelock

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASecondHolderIsToldWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	first, err := Acquire(path)
	require.NoError(t, err)

	_, err = Acquire(path) // flock belongs to the open file, so this process can play the other one
	var held *HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, os.Getpid(), held.PID)
	require.ErrorContains(t, err, path)

	require.NoError(t, first.Release())
	again, err := Acquire(path)
	require.NoError(t, err)
	require.NoError(t, again.Release())
}

func TestALockFileLeftBehindDoesNotLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	require.NoError(t, os.WriteFile(path, []byte("999999\n"), 0o600))
	l, err := Acquire(path)
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

func TestAMissingFolderIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Acquire(filepath.Join(t.TempDir(), "no", "x.lock"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
