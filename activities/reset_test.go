package activities

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/tools"
)

// setBack is what a run asks for that was reset to where the bench is.
func (b *bench) setBack(run string) work.ResetIn {
	return work.ResetIn{Ident: b.ident(), RunID: run, Head: b.head, Turn: b.turn, Step: b.step}
}

func TestAResetClaimsTheNextEpochOnce(t *testing.T) { // A3.12
	t.Parallel()
	b := newBench(t)
	b.say("a")
	b.next()
	in := b.setBack("r2")
	for range 2 { // an execution that nobody heard is repeated
		out, err := b.a.Reset(t.Context(), in)
		require.NoError(t, err)
		require.Equal(t, in.Ident.Epoch+1, out.Epoch)
		require.Nil(t, out.Context)
	}
	epoch, head, err := b.store.LatestHead(t.Context(), in.Ident.Session)
	require.NoError(t, err)
	require.Equal(t, in.Ident.Epoch+1, epoch)
	require.Equal(t, store.Head(in.Head), head, "the log ends at the point")
	_, err = b.a.Persist(t.Context(), work.PersistIn{Ident: in.Ident, Head: in.Head})
	require.ErrorIs(t, err, store.ErrFenced)

	again, err := b.a.Reset(t.Context(), b.setBack("r3")) // another reset to the same point
	require.NoError(t, err)
	require.Equal(t, in.Ident.Epoch+2, again.Epoch)
}

func TestARunThatIsOverClaimsNothing(t *testing.T) { // A3.12: it was reset in its turn
	t.Parallel()
	b := newBench(t)
	b.say("a")
	b.next()
	ctx, cancel := context.WithCancel(t.Context())
	b.a.Heartbeat = func(context.Context) { cancel() } // the server does not know the activity any more
	_, err := b.a.Reset(ctx, b.setBack("r2"))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, b.store.CheckEpoch(t.Context(), b.ident().Session, b.ident().Epoch))
}

func TestAResetKnowsWhatWasStarted(t *testing.T) { // A3.12
	t.Parallel()
	runs := 0
	b := called(t, effects(&runs, tools.Once, false, nil))
	before := b.setBack("r2")
	before.Step-- // the model had not asked yet
	call := b.call("t", `{"text":"1"}`)
	require.Equal(t, "ran", b.tool(call).Content.Text())
	lost := b.toolIn(work.Call{ID: "c2", Name: "t", Arguments: "{}"})
	_, err := b.store.StartedAs(t.Context(), lost.Key, []byte("t {}"))
	require.NoError(t, err)

	out, err := b.a.Reset(t.Context(), before)
	require.NoError(t, err)
	text := out.Context.Content.Text()
	require.Contains(t, text, "- t {\"text\":\"1\"}, turn 1 step 1: it ended with: ran\n")
	require.Contains(t, text, "- t {}, turn 1 step 1: it is not known whether it took effect")
	at, err := b.a.Reset(t.Context(), b.setBack("r3"))
	require.NoError(t, err)
	require.Nil(t, at.Context, "calls that the run knows are asked for by their keys")

	t.Run("the very same call is answered from the ledger", func(t *testing.T) {
		again := call
		again.Ident.Epoch, again.Key, again.Before = at.Epoch, "new-1", []string{call.Key}
		require.Equal(t, "ran", b.tool(again).Content.Text())
		require.Equal(t, 1, runs)
		again.Mode, again.Lost = work.ToolSettle, "exhausted"
		require.Equal(t, "ran", b.tool(again).Content.Text())
	})
	t.Run("one with other arguments runs", func(t *testing.T) {
		other := call
		other.Ident.Epoch, other.Key, other.Before, other.Call.Arguments = at.Epoch, "new-2", []string{call.Key}, `{"text":"2"}`
		require.Equal(t, "ran", b.tool(other).Content.Text())
		require.Equal(t, 2, runs)
	})
}
