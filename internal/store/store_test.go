package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
)

// locations are the kinds of stores that are proven.
var locations = map[string]func(t *testing.T) string{
	"memory":           func(*testing.T) string { return "mem://" },
	"folder":           func(t *testing.T) string { return t.TempDir() },
	"folder unflushed": func(t *testing.T) string { return "file://" + t.TempDir() + "?sync=none" },
}

func open(t testing.TB, location string, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), location, o)
	require.NoError(t, err)
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, location := range locations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) *store.Store { return open(t, location(t), store.Options{}) })
		})
	}
}

func TestObjectsConformance(t *testing.T) {
	t.Parallel()
	for name, location := range locations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.RunObjects(t, func(t *testing.T) store.Objects {
				o := driver(t, location(t))
				require.NoError(t, o.Delete(t.Context(), "store.json"))
				return o
			})
		})
	}
}

// driver returns the driver a store at location uses.
func driver(t testing.TB, location string) store.Objects {
	var objects store.Objects
	open(t, location, store.Options{Wrap: func(o store.Objects) store.Objects {
		objects = o
		return o
	}})
	return objects
}
