package store_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
)

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for location, want := range map[string]string{
		"":                              "name a folder",
		file:                            "is a file, not a folder",
		filepath.Join(file, "below"):    "not a directory",
		"file://relative/path":          "three slashes",
		"file://":                       "three slashes",
		"file://" + dir + "?sink=none":  `unknown option "sink"`,
		"file://" + dir + "?sync=maybe": `sync is "maybe"`,
		"nosuch://bucket":               "no driver for nosuch://",
		"s3://bucket":                   "driver linked in",
		"mem://?x=1":                    "check the URL",
	} {
		_, err := store.Open(t.Context(), location, store.Options{})
		require.ErrorContains(t, err, want, location)
		require.ErrorContains(t, err, "open store", location)
	}
	_, err := store.Open(t.Context(), "nosuch://user:secret@host", store.Options{})
	require.NotContains(t, err.Error(), "secret")
}

func TestOpenNeedsAWritableFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("permissions do not bind this user")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	_, err := store.Open(t.Context(), dir, store.Options{})
	require.ErrorContains(t, err, "may write to")
}

func TestOpenAgainFindsTheSameStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder with space")
	one := open(t, dir, store.Options{})
	head, err := one.Append(t.Context(), "s", 0, store.Head{}, storetest.Conversation(1, 1))
	require.NoError(t, err)
	two := open(t, "file://"+strings.ReplaceAll(filepath.ToSlash(dir), " ", "%20"), store.Options{})
	require.Equal(t, one.ID(), two.ID())
	require.NoError(t, firstError(two.Records(t.Context(), "s", head, 0)))
	require.NotEqual(t, one.ID(), open(t, t.TempDir(), store.Options{}).ID())
	require.NotEqual(t, open(t, "mem://", store.Options{}).ID(), open(t, "mem://", store.Options{}).ID())
}

func TestOpenRefusesAnotherFormat(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"format":2,"id":"x"}`: "format is 2",
		`not json`:              "no store identity",
		``:                      "no store identity",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "store.json"), []byte(body), 0o600))
		_, err := store.Open(t.Context(), dir, store.Options{})
		require.ErrorContains(t, err, want)
	}
}

func TestOpenAtOnceAgreesOnOneIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := make(chan string, 8)
	for range cap(ids) {
		go func() {
			s, err := store.Open(context.Background(), dir, store.Options{})
			if err != nil {
				ids <- err.Error()
				return
			}
			ids <- s.ID()
		}()
	}
	first := <-ids
	for range cap(ids) - 1 {
		require.Equal(t, first, <-ids)
	}
}
