package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
)

// TestTheIndexIsSwept: a collection takes what ended and what waits in agents that do not run; an erasure takes all of a
// session.
func TestTheIndexIsSwept(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"lives", "ended"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, t.TempDir())
			require.NoError(t, y.ClaimEpoch(t.Context(), id, 1, "me"))
			ask := func(call string) {
				require.NoError(t, y.Asked(t.Context(), store.Waiting{Session: id, Epoch: 1, ID: call}))
			}
			y.named("waits", func() { ask("1.1.a") })
			ask("1.1.b")
			y.named("over", func() { require.NoError(t, y.WaitEnded(t.Context(), id, 1, "1.1.b")) })
			later := store.GarbageOptions{Now: func() time.Time { return time.Now().Add(time.Hour) },
				Memory: func(context.Context, string) (store.Memory, error) {
					return store.Memory{Known: true, Open: id == "lives"}, nil
				}}
			plan, err := y.PlanCollect(t.Context(), later)
			require.NoError(t, err)
			_, err = plan.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, id == "lives", y.left("waits"))
			require.False(t, y.left("over"))

			ask("1.1.c")
			plan, err = y.PlanErase(t.Context(), id, later)
			require.NoError(t, err)
			_, err = plan.Run(t.Context())
			require.NoError(t, err)
			for _, key := range y.all() {
				require.NotContains(t, key, "waiting/")
			}
		})
	}
}
