package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
)

// A birth from another session's log that is executed again finds what the first execution left. See spec §7.3.
func TestAForkThatIsExecutedAgainIsTheSame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.a.Setup(b.ctx, b.birth())
	require.NoError(t, err)
	b.turnOf("a")
	parent, err := b.a.Persist(b.ctx, work.PersistIn{Ident: b.ident(), Head: b.head, Tail: b.tail, Publish: true})
	require.NoError(t, err)

	in := work.SetupIn{Ident: work.Ident{Session: "fork", Definition: agent}, CreatedAt: 9, Fork: &work.ForkFrom{Session: sess, At: -1}}
	first, err := b.a.Setup(b.ctx, in)
	require.NoError(t, err)
	require.Equal(t, parent.Head.Count+1, first.Log.Head.Count, "the parent's events and a marker")
	b.a.Clock = func() time.Time { return time.UnixMilli(1764500009999) }
	again, err := b.a.Setup(b.ctx, in)
	require.NoError(t, err)
	require.Equal(t, first, again)
}
